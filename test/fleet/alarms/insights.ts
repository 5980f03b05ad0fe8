import type { Dimensions, MetricStore, Series } from './metric-store.ts';
import { statisticOf } from './statistics.ts';

/** The most that CloudWatch looks at for an alarm. Source: Amazon CloudWatch User Guide, "Limits that apply to alarms based on Metrics Insights queries". */
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
 * The answer at a moment: series that have data in these periods, the largest first. How much further back CloudWatch looks is not documented; here a series that
 * ends is gone as soon as it can be, which an alarm notices most.
 *
 * @param at the end of the last period; milliseconds since the epoch, as `periodMs`
 * @param range how many periods
 */
export function askInsights(
  { namespace, metric, schema, groupBy }: InsightsQuery,
  store: MetricStore,
  { at, periodMs, range }: { readonly at: number; readonly periodMs: number; readonly range: number },
): readonly Contributor[] {
  const since = at - range * periodMs;
  if (since < at - WINDOW_MS) throw new Error('an alarm on a query looks at three hours at most');
  const matching = store
    .seriesOf(namespace, metric)
    .filter(
      (series) =>
        Object.keys(series.dimensions).length === schema.length &&
        schema.every((name) => Object.hasOwn(series.dimensions, name)) &&
        series.hasDataBetween(since, at),
    );
  const groups = [
    ...Map.groupBy(matching, ({ dimensions }) => JSON.stringify(groupBy.map((name) => dimensions[name]))).values(),
  ];
  const largest = groups
    .map((group) => ({ group, value: maximumOf(group, since, at) ?? 0 }))
    .toSorted((a, b) => b.value - a.value)
    .slice(0, MAX_SERIES);
  return largest.map(({ group }) => ({
    attributes: Object.fromEntries(groupBy.map((name) => [name, group[0]?.dimensions[name] ?? ''])),
    points: Array.from({ length: range }, (_, index) => {
      const until = at - (range - 1 - index) * periodMs;
      return maximumOf(group, until - periodMs, until);
    }),
  }));
}

function maximumOf(group: readonly Series[], from: number, until: number): number | undefined {
  return maximum(group.flatMap((series) => series.between(from, until)));
}
