import * as z from 'zod/mini';
import { printable } from '../printable.ts';
import { type Contract, printed } from './contract.ts';
import { Flag } from './values.ts';

/** Characters of each part. */
const LIMITS = { kind: 40, object: 300, message: 600, remedy: 1_000 } as const;

/** A problem outside of certmarshal, and its remedy. */
export const Problem = z.object({
  /** In one word: the kind of an error (`forbidden`), or `missing`, `lane`, `credentials`. */
  kind: printed(LIMITS.kind),
  /** Its object: a request, or a call to a server. */
  object: printed(LIMITS.object),
  message: printed(LIMITS.message),
  remedy: printed(LIMITS.remedy),
  /** Of a recovery, which has a signal of its own. */
  ofRecovery: Flag,
});
export type Problem = Contract<typeof Problem>;

export function boundedProblem({ kind, object, message, remedy, ofRecovery }: Problem): Problem {
  return {
    kind: printable(kind, LIMITS.kind),
    object: printable(object, LIMITS.object),
    message: printable(message, LIMITS.message),
    remedy: printable(remedy, LIMITS.remedy),
    ...(ofRecovery && { ofRecovery }),
  };
}

/** Common to every typed error: `KubernetesError`, `AwsError`. */
export interface Failure {
  readonly kind: string;
  /** The call: `eks:ListClusters in 111122223333/eu-central-1`, `list nodes on https://…`. */
  readonly object: string;
  readonly problem: string;
  /** One sentence: what to do about it. */
  readonly remedy: string;
}

export function problemOf({ kind, object, problem, remedy }: Failure): Problem {
  return boundedProblem({ kind, object, message: problem, remedy });
}

export function bugOf(object: string, error: unknown): Problem {
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return boundedProblem({ kind: 'bug', object, message, remedy: 'Report this as a bug of certmarshal.' });
}
