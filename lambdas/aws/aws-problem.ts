import { bugOf, type Problem, problemOf } from '../contracts/problem.ts';
import { AwsError } from './errors.ts';

/** Describes a failure for people: an AWS failure with its remedy, anything else as a bug. */
export function awsProblem(object: string, error: unknown): Problem {
  return error instanceof AwsError ? problemOf(error) : bugOf(object, error);
}
