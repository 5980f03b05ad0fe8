import { AwsError } from '../aws/errors.ts';
import { printable } from '../printable.ts';
import type { Problem } from '../problem.ts';

/** What a failure is to a person: that of AWS with its remedy, anything else a bug. */
export function problemOf(object: string, error: unknown): Problem {
  if (error instanceof AwsError)
    return { kind: error.kind, object: printable(error.object, 500), message: error.problem, remedy: error.remedy };
  const message = printable(error instanceof Error ? `${error.name}: ${error.message}` : String(error), 500);
  return { kind: 'bug', object, message, remedy: 'Report this as a bug of certmarshal.' };
}
