import type { Dimensions, MetricStore, Series } from './metric-store.ts';
import { statisticOf } from './statistics.ts';

/** What CloudWatch looks at for an alarm. Source: Amazon CloudWatch User Guide, "Limits that apply to alarms based on Metrics Insights queries". */
const WINDOW_MS = 3 * 60 * 60_000;
/** Those after them are lost. */
const MAX_SERIES = 500;

/** A Metrics Insights query, as far as alarms of ours use it: the maximum of each group, the largest first. */
export interface InsightsQuery {
  readonly metric: string;
  readonly namespace: string;
  /** Only series that have exactly these dimensions. */
  readonly schema: readonly string[];
  readonly groupBy: readonly string[];
}

/** One series of the answer. */
export interface Contributor {
  /** Of GROUP BY. */
  readonly attributes: Dimensions;
  /** One value a period, the oldest first; undefined is a missing one. */
  readonly points: readonly (number | undefined)[];
}

const NAMES = '"\\w+"(?:, "\\w+")*';
const QUERY = new RegExp(
  `^SELECT MAX\\("(?<metric>\\w+)"\\) FROM SCHEMA\\((?<schema>${NAMES})\\) GROUP BY (?<groupBy>${NAMES}) ORDER BY MAX\\(\\) DESC$`,
);
const maximum = statisticOf('Maximum');

/**
 * Source of the syntax: Amazon CloudWatch User Guide, "Query components and syntax in CloudWatch Metrics Insights".
 *
 * @throws Error for every query of another form
 */
export function parseInsights(text: string): InsightsQuery {
  const { metric, schema = '', groupBy = '' } = QUERY.exec(text)?.groups ?? {};
  if (metric === undefined) throw new Error(`Metrics Insights: ${text} is not understood`);
  const namesIn = (list: string) => list.slice(1, -1).split('", "');
  const [namespace = '', ...dimensions] = namesIn(schema);
  return { metric, namespace, schema: dimensions, groupBy: namesIn(groupBy) };
}

/**
 * The answer at a moment: series that have data in the last three hours.
 *
 * @param at the end of the last period; milliseconds since the epoch, as `periodMs`
 * @param range how many periods
 */
export function askInsights(
  { namespace, metric, schema, groupBy }: InsightsQuery,
  store: MetricStore,
  { at, periodMs, range }: { readonly at: number; readonly periodMs: number; readonly range: number },
): readonly Contributor[] {
  const matching = store
    .seriesOf(namespace, metric)
    .filter(
      (series) =>
        Object.keys(series.dimensions).length === schema.length &&
        schema.every((name) => Object.hasOwn(series.dimensions, name)) &&
        series.hasDataBetween(at - WINDOW_MS, at),
    );
  const groups = [
    ...Map.groupBy(matching, ({ dimensions }) => JSON.stringify(groupBy.map((name) => dimensions[name]))).values(),
  ];
  return (groups.length > MAX_SERIES ? largest(groups, at) : groups).map((group) => ({
    attributes: Object.fromEntries(groupBy.map((name) => [name, group[0]?.dimensions[name] ?? ''])),
    points: Array.from({ length: range }, (_, index) => {
      const until = at - (range - 1 - index) * periodMs;
      return until - periodMs < at - WINDOW_MS ? undefined : maximumOf(group, until - periodMs, until);
    }),
  }));
}

function largest(groups: readonly (readonly Series[])[], at: number): readonly (readonly Series[])[] {
  return groups
    .map((group) => ({ group, value: maximumOf(group, at - WINDOW_MS, at) ?? 0 }))
    .toSorted((a, b) => b.value - a.value)
    .slice(0, MAX_SERIES)
    .map(({ group }) => group);
}

function maximumOf(group: readonly Series[], from: number, until: number): number | undefined {
  return maximum(group.flatMap((series) => series.between(from, until)));
}
