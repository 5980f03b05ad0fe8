/** What a period of a metric is, undefined where it has no data. */
export type Statistic = (values: readonly number[]) => number | undefined;

const NAMED: Readonly<Record<string, (values: readonly number[]) => number>> = {
  Sum: (values) => values.reduce((total, value) => total + value, 0),
  Maximum: (values) => values.reduce((a, b) => Math.max(a, b)),
  SampleCount: ({ length }) => length,
};

/** @throws Error for one that no alarm of ours uses */
export function statisticOf(name: string): Statistic {
  const named = Object.hasOwn(NAMED, name) ? NAMED[name] : undefined;
  if (named === undefined) throw new Error(`statistic ${name} is not understood`);
  return (values) => (values.length === 0 ? undefined : named(values));
}
