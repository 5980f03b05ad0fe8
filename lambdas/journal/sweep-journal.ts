import type { ApprovalPolicy } from '../approval/policy.ts';
import { AwsError } from '../aws/errors.ts';
import { canonicalJson } from '../canonical-json.ts';
import type { Problem } from '../contracts/problem.ts';
import { printable } from '../printable.ts';
import { sha256 } from './chain.ts';
import type { CollectedDecisions } from './decisions.ts';
import type { Journal, JournalEntry } from './journal.ts';

/** Entries of one cluster that wait; the log has every one. */
const MAX_WAITING = 1_000;
const MAX_CLUSTERS = 100;

/** What a sweep writes its decisions with. */
export interface SweepJournal {
  readonly journal: Journal;
  /** Version of certmarshal. */
  readonly program: string;
}

/** What became of the decisions of one sweep, where it had any. */
export interface Journaled {
  /** Lines that were new. */
  readonly lines: number;
  /** Entries that may not be in the journal: the log has to keep them. */
  readonly unwritten: readonly JournalEntry[];
  /** Requests that were left and are over the limit of a sweep. */
  readonly leftOut: number;
  /** Why entries were not written. */
  readonly problem?: Problem;
}

/** Appends what a sweep decided. Undefined where there was nothing to append. Never rejects: the decisions stand, whatever becomes of their record. */
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

/** What became of the decisions of one sweep that were appended in two parts. Pure. */
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
 * A journal that tries again what it could not keep, with the next append of the same cluster, also an empty one, for as long as this process lives. Until then the append
 * fails, so that somebody is told.
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
