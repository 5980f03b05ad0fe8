import type { ApprovalPolicy } from '../approval/policy.ts';
import { AwsError } from '../aws/errors.ts';
import { canonicalJson } from '../canonical-json.ts';
import type { Problem } from '../contracts/problem.ts';
import { printable } from '../printable.ts';
import { sha256 } from './chain.ts';
import type { CollectedDecisions } from './decisions.ts';
import type { Journal, JournalEntry } from './journal.ts';

/** Most waiting entries of one cluster; the log has every entry. */
const MAX_WAITING = 1_000;
const MAX_CLUSTERS = 100;

/** How a sweep writes its decisions. */
export interface SweepJournal {
  readonly journal: Journal;
  /** Version of certmarshal. */
  readonly program: string;
}

/** The journal's result for one sweep. */
export interface Journaled {
  /** New lines. */
  readonly lines: number;
  /** Entries that may not be in the journal: the log has to keep them. */
  readonly unwritten: readonly JournalEntry[];
  /** Requests not approved beyond the limit of a sweep. */
  readonly leftOut: number;
  /** Why entries were not written. */
  readonly problem?: Problem;
}

/**
 * Appends the decisions of a sweep. Undefined if there were none. Never rejects: decisions stand even if their record
 * fails.
 */
export async function appendDecisions(
  { journal }: SweepJournal,
  cluster: string,
  { entries, leftOut }: CollectedDecisions<JournalEntry>,
  signal: AbortSignal,
): Promise<Journaled | undefined> {
  try {
    const lines = await journal.append(cluster, entries, signal);
    return lines === 0 && entries.length === 0 ? undefined : { lines, unwritten: [], leftOut };
  } catch (error) {
    return { lines: 0, unwritten: entries, leftOut, problem: unwrittenProblem(error, cluster) };
  }
}

/** Merges the results of two appends of one sweep. Pure. */
export function joinJournaled(first: Journaled, second: Journaled): Journaled {
  const problem = first.problem ?? second.problem;
  return {
    lines: first.lines + second.lines,
    unwritten: [...first.unwritten, ...second.unwritten],
    leftOut: first.leftOut + second.leftOut,
    problem,
  };
}

function unwrittenProblem(error: unknown, cluster: string): Problem {
  const object = `journal of cluster ${cluster}`;
  if (!(error instanceof AwsError)) {
    const message = `certmarshal itself failed (${error instanceof Error ? printable(`${error.name}: ${error.message}`) : typeof error})`;
    return {
      kind: 'journal',
      object,
      message,
      remedy: 'Report it as a bug, with the lines "journal line not written" of the log. Approvals continue.',
    };
  }
  const message = `${error.object}: ${error.problem}`;
  return { kind: 'journal', object, message, remedy: `${error.remedy} Approvals continue; the log has the lines.` };
}

/** SHA-256 of the policies as canonical JSON, in hexadecimal digits. */
export function policyHash(policies: readonly ApprovalPolicy[]): string {
  return sha256(canonicalJson(policies));
}

/** Hashes policies once. */
export function createPolicyHash(): (policies: readonly ApprovalPolicy[]) => string {
  const known = new Map<readonly ApprovalPolicy[], string>();
  return (policies) => {
    const hash = known.get(policies) ?? policyHash(policies);
    known.set(policies, hash);
    return hash;
  };
}

/**
 * A journal that retries failed entries with the next append of the same cluster, even an empty one, as long as this
 * process lives. Until then appends fail, so that an alarm fires.
 */
export function withRetryBuffer(journal: Journal): Journal {
  const waiting = new Map<string, readonly JournalEntry[]>();
  return {
    async append(cluster, entries, signal) {
      const all = [...(waiting.get(cluster) ?? []), ...entries];
      if (all.length === 0) return 0;
      try {
        const added = await journal.append(cluster, all, signal);
        waiting.delete(cluster);
        return added;
      } catch (error) {
        if (waiting.has(cluster) || waiting.size < MAX_CLUSTERS) waiting.set(cluster, all.slice(0, MAX_WAITING));
        throw error;
      }
    },
  };
}
