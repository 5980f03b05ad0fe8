/**
 * The most likely candidate for a misspelled word, or undefined. Ignores case, `-` and `_`; beyond that the word may be
 * an abbreviation, or differ by a third.
 */
export function didYouMean(word: string, candidates: readonly string[]): string | undefined {
  if (word.length > 100) return undefined;
  const folded = fold(word);
  // An abbreviation would match a shorter word better than its own.
  const abbreviated = candidates.filter((candidate) => folded.length > 2 && fold(candidate).startsWith(folded));
  if (abbreviated.length === 1) return abbreviated[0];
  let best: string | undefined;
  let least = Math.max(1, Math.floor(folded.length / 3)) + 1;
  for (const candidate of candidates) {
    const distance = editDistance(folded, fold(candidate));
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

function fold(word: string): string {
  return word.toLowerCase().replaceAll(/[-_]/g, '');
}

/** Damerau-Levenshtein distance (optimal string alignment): swapping two letters counts as one. */
function editDistance(from: string, to: string): number {
  let higher: readonly number[] = [];
  let above = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const substitution = (above[column - 1] ?? 0) + (from[row - 1] === to[column - 1] ? 0 : 1);
      const isSwap = column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      const swap = isSwap ? (higher[column - 2] ?? 0) + 1 : substitution;
      current.push(Math.min(substitution, swap, (above[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    higher = above;
    above = current;
  }
  return above[to.length] ?? 0;
}
