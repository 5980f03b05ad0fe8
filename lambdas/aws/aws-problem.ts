import { bugOf, type Problem, problemOf } from '../contracts/problem.ts';
import { AwsError } from './errors.ts';

/** What a failure is to a person: that of AWS with its remedy, anything else a bug. */
export function awsProblem(object: string, error: unknown): Problem {
  return error instanceof AwsError ? problemOf(error) : bugOf(object, error);
}
