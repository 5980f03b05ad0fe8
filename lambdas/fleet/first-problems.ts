import type { Problem } from '../contracts/problem.ts';

/** At most this many problems; the last one says how many there are. */
export function firstProblems(problems: readonly Problem[], most: number): readonly Problem[] {
  if (problems.length <= most) return problems;
  const shown = problems.slice(0, most - 1);
  const more = {
    kind: 'more',
    object: `${problems.length - shown.length} more problems`,
    message: `${problems.length} problems in all; only the first ${shown.length} are listed`,
    remedy: 'Look for what they have in common, and fix that first.',
  };
  return [...shown, more];
}
