/** `Sum`, `p99`: what a period of a metric is, undefined where it has no data. */
export type Statistic = (values: readonly number[]) => number | undefined;

const NAMED: Readonly<Record<string, (values: readonly number[]) => number>> = {
  Sum: sum,
  Average: (values) => sum(values) / values.length,
  Minimum: (values) => values.reduce((a, b) => Math.min(a, b)),
  Maximum: (values) => values.reduce((a, b) => Math.max(a, b)),
  SampleCount: ({ length }) => length,
};

/** @throws Error for one that is not known here */
export function statisticOf(name: string): Statistic {
  const named = Object.hasOwn(NAMED, name) ? NAMED[name] : percentile(name);
  return (values) => (values.length === 0 ? undefined : named?.(values));
}

function percentile(name: string): (values: readonly number[]) => number {
  const [, digits] = /^p(\d{1,2}(?:\.\d{1,10})?|100)$/.exec(name) ?? [];
  if (digits === undefined) throw new Error(`statistic ${name} is not understood`);
  const share = Number(digits) / 100;
  return (values) => {
    const sorted = values.toSorted((a, b) => a - b);
    return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
