import { createHash } from 'node:crypto';
import type { ApprovalPolicy } from '../approval/policy.ts';
import { awsProblem } from '../aws/aws-problem.ts';
import type { Problem } from '../contracts/problem.ts';
import { canonicalJson } from '../same-json.ts';
import type { Journal, JournalEntry } from './journal.ts';

/** How a sweep writes its decisions. */
export interface SweepJournal {
  readonly journal: Journal;
  readonly program: string;
}

export interface Journaled {
  readonly entries: readonly JournalEntry[];
  /** Why they may not be in the journal: the log has to keep them. */
  readonly problem?: Problem;
}

/** Appends the decisions of a sweep. Never rejects: decisions stand even if their record fails. */
export async function appendDecisions(
  { journal }: SweepJournal,
  cluster: string,
  entries: readonly JournalEntry[],
  signal: AbortSignal,
): Promise<Journaled> {
  try {
    await journal.append(cluster, entries, signal);
    return { entries };
  } catch (error) {
    return { entries, problem: unwrittenProblem(error, cluster) };
  }
}

function unwrittenProblem(error: unknown, cluster: string): Problem {
  const object = `journal of cluster ${cluster}`;
  const { message, remedy, ...problem } = awsProblem(object, error);
  return {
    kind: 'journal',
    object,
    message: problem.object === object ? message : `${problem.object}: ${message}`,
    remedy: `${remedy} Approvals continue; the log has the lines.`,
  };
}

/** SHA-256 of the policies as canonical JSON, in hexadecimal digits. */
export function policyHash(policies: readonly ApprovalPolicy[]): string {
  return createHash('sha256').update(canonicalJson(policies)).digest('hex');
}
