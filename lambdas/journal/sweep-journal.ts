import { createHash } from 'node:crypto';
import type { ApprovalPolicy } from '../approval/policy.ts';
import { AwsError } from '../aws/errors.ts';
import type { Problem } from '../contracts/problem.ts';
import { printable } from '../printable.ts';
import { canonicalJson } from '../same-json.ts';
import type { CollectedDecisions } from './decisions.ts';
import type { Journal, JournalEntry } from './journal.ts';

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
  /** Refusals beyond the limit of a sweep. */
  readonly leftOut: number;
  /** Why entries were not written. */
  readonly problem?: Problem;
}

/** Appends the decisions of a sweep. Never rejects: decisions stand even if their record fails. */
export async function appendDecisions(
  { journal }: SweepJournal,
  cluster: string,
  { entries, leftOut }: CollectedDecisions<JournalEntry>,
  signal: AbortSignal,
): Promise<Journaled> {
  try {
    await journal.append(cluster, entries, signal);
    return { lines: entries.length, unwritten: [], leftOut };
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
  return createHash('sha256').update(canonicalJson(policies)).digest('hex');
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
