/** The middle one of several runs. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? (sorted[middle] ?? Number.NaN)
    : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
}

/** One measured figure with the goal it is held against. */
export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly median: number;
  readonly min: number;
  readonly max: number;
  readonly runs: number;
  readonly goal?: string;
  readonly met?: boolean;
  /** Lines below the table. */
  readonly details?: readonly string[];
}

export function figure(
  name: string,
  unit: string,
  values: readonly number[],
  goal?: { readonly text: string; readonly met: (median: number) => boolean },
): Figure {
  const middle = median(values);
  return {
    name,
    unit,
    median: middle,
    min: Math.min(...values),
    max: Math.max(...values),
    runs: values.length,
    ...(goal === undefined ? {} : { goal: goal.text, met: goal.met(middle) }),
  };
}
