import { printable } from '../printable.ts';
import type { Problem } from '../problem.ts';
import { fields, present, type Read, text } from './shape.ts';

/** Characters of each part. What is longer than this was not written by certmarshal. */
const LIMITS = { kind: 40, object: 300, message: 600, remedy: 1_000 } as const;

/** A problem whose texts are cut and harmless, so that {@link readProblem} takes it. */
export function boundedProblem({ kind, object, message, remedy }: Problem): Problem {
  return {
    kind: printable(kind, LIMITS.kind),
    object: printable(object, LIMITS.object),
    message: printable(message, LIMITS.message),
    remedy: printable(remedy, LIMITS.remedy),
  };
}

/** @throws ShapeError */
export const readProblem: Read<Problem> = (value, path) => {
  const problem = fields(value, path);
  const part = (name: keyof Problem) => text(2 * LIMITS[name] + 1)(problem[name], `${path}.${name}`);
  return present({ kind: part('kind'), object: part('object'), message: part('message'), remedy: part('remedy') });
};
