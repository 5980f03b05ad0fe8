import { printable } from '../printable.ts';
import type { Problem } from '../problem.ts';

/** A KubernetesError or AwsError. */
interface Failure {
  readonly kind: string;
  readonly object: string;
  readonly problem: string;
  readonly remedy: string;
}

/** What an error says, for people. */
export function problemOf({ kind, object, problem, remedy }: Failure): Problem {
  return { kind, object: printable(object), message: printable(problem, 600), remedy };
}
