import type { Dimensions, MetricStore, Series } from './metric-store.ts';
import { type Statistic, statisticOf } from './statistics.ts';

/** What CloudWatch looks at for an alarm. Source: Amazon CloudWatch User Guide, "Limits that apply to alarms based on Metrics Insights queries". */
const WINDOW_MS = 3 * 60 * 60_000;
/** Above them the answer is partial. */
const MAX_SERIES = 500;

/** A Metrics Insights query, as far as alarms of ours use it. */
export interface InsightsQuery {
  readonly function: InsightsFunction;
  readonly metric: string;
  readonly namespace: string;
  /** With SCHEMA: only series that have exactly these dimensions; empty: only such without. Absent: every series. */
  readonly schema?: readonly string[];
  readonly where: Dimensions;
  /** Empty: one series of all. */
  readonly groupBy: readonly string[];
  readonly order?: 'ASC' | 'DESC';
  readonly limit?: number;
}

/** One series of the answer. */
export interface Contributor {
  /** Of GROUP BY; empty without. */
  readonly attributes: Dimensions;
  /** One value a period, the oldest first; undefined is a missing one. */
  readonly points: readonly (number | undefined)[];
}

export interface InsightsAnswer {
  readonly contributors: readonly Contributor[];
  /** There were more series than CloudWatch returns, and the last ones in order are lost. */
  readonly partial: boolean;
}

const FUNCTIONS = { AVG: 'Average', COUNT: 'SampleCount', MAX: 'Maximum', MIN: 'Minimum', SUM: 'Sum' } as const;
type InsightsFunction = keyof typeof FUNCTIONS;

/**
 * Source of the syntax: Amazon CloudWatch User Guide, "Query components and syntax in CloudWatch Metrics Insights".
 *
 * @throws Error that says what was expected where
 */
export function parseInsights(text: string): InsightsQuery {
  const tokens = tokensOf(text);
  const query = parse(tokens);
  if (query.groupBy.length > 0 !== (query.order !== undefined))
    throw new Error('Metrics Insights: an alarm needs ORDER BY with GROUP BY, and no ORDER BY without');
  return query;
}

/**
 * The answer at a moment: series that have data in the last three hours.
 *
 * @param at the end of the last period; milliseconds since the epoch, as `periodMs`
 * @param range how many periods
 */
export function askInsights(
  query: InsightsQuery,
  store: MetricStore,
  { at, periodMs, range }: { readonly at: number; readonly periodMs: number; readonly range: number },
): InsightsAnswer {
  const matching = store.seriesOf(query.namespace, query.metric).filter((series) => matches(query, series, at));
  const groups = Map.groupBy(matching, ({ dimensions }) =>
    JSON.stringify(query.groupBy.map((name) => dimensions[name])),
  );
  const statistic = statisticOf(FUNCTIONS[query.function]);
  const most = Math.min(MAX_SERIES, query.limit ?? MAX_SERIES);
  const kept =
    groups.size > most ? inOrder([...groups.values()], query, statistic, at).slice(0, most) : [...groups.values()];
  return {
    contributors: kept.map((group) => ({
      attributes: Object.fromEntries(query.groupBy.map((name) => [name, group[0]?.dimensions[name] ?? ''])),
      points: Array.from({ length: range }, (_, index) => {
        const until = at - (range - 1 - index) * periodMs;
        return until - periodMs < at - WINDOW_MS ? undefined : valueOf(group, statistic, until - periodMs, until);
      }),
    })),
    partial: groups.size > MAX_SERIES,
  };
}

function inOrder(
  groups: readonly (readonly Series[])[],
  { order }: InsightsQuery,
  statistic: Statistic,
  at: number,
): (readonly Series[])[] {
  const sign = order === 'ASC' ? 1 : -1;
  return groups
    .map((group) => ({ group, value: valueOf(group, statistic, at - WINDOW_MS, at) ?? 0 }))
    .toSorted((a, b) => sign * (a.value - b.value))
    .map(({ group }) => group);
}

function matches({ schema, where, groupBy }: InsightsQuery, series: Series, at: number): boolean {
  const { dimensions } = series;
  const names = Object.keys(dimensions);
  return (
    (schema === undefined ||
      (names.length === schema.length && schema.every((name) => Object.hasOwn(dimensions, name)))) &&
    groupBy.every((name) => Object.hasOwn(dimensions, name)) &&
    Object.entries(where).every(([name, value]) => dimensions[name] === value) &&
    series.hasDataBetween(at - WINDOW_MS, at)
  );
}

function valueOf(group: readonly Series[], statistic: Statistic, from: number, until: number): number | undefined {
  return statistic(group.flatMap((series) => series.between(from, until)));
}

type Token = { readonly kind: 'word' | 'quoted' | 'literal' | 'symbol'; readonly text: string };

function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  const pattern = /\s+|(?<word>\w+)|"(?<quoted>[^"]+)"|'(?<literal>[^']*)'|(?<symbol>[(),=])/gy;
  while (pattern.lastIndex < text.length) {
    const { lastIndex } = pattern;
    const match = pattern.exec(text);
    if (match === null) throw new Error(`Metrics Insights: ${JSON.stringify(text.slice(lastIndex))} is not understood`);
    for (const kind of ['word', 'quoted', 'literal', 'symbol'] as const) {
      const found = match.groups?.[kind];
      if (found !== undefined) tokens.push({ kind, text: found });
    }
  }
  return tokens;
}

function parse(tokens: readonly Token[]): InsightsQuery {
  let position = 0;
  const next = () => tokens[position];
  const fail = (expected: string): never => {
    throw new Error(`Metrics Insights: expected ${expected}, not ${next()?.text ?? 'the end'}`);
  };
  const isWord = (word: string) => next()?.kind === 'word' && next()?.text.toUpperCase() === word;
  const take = (word: string): boolean => {
    const found = isWord(word) || (next()?.kind === 'symbol' && next()?.text === word);
    if (found) position += 1;
    return found;
  };
  const expectAll = (...words: readonly string[]) => {
    for (const word of words) if (!take(word)) fail(word);
  };
  const text = (expected: string, ...kinds: readonly Token['kind'][]): string => {
    const token = next();
    if (token === undefined || !kinds.includes(token.kind)) return fail(expected);
    position += 1;
    return token.text;
  };
  const name = (expected: string) => text(expected, 'word', 'quoted');
  const functionName = (): InsightsFunction => {
    const found = Object.keys(FUNCTIONS).find(isWord);
    position += 1;
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it is one of these keys
    return found === undefined ? fail('a function') : (found as InsightsFunction);
  };
  const commaSeparated = (expected: string): string[] => {
    const names = [name(expected)];
    while (take(',')) names.push(name(expected));
    return names;
  };

  expectAll('SELECT');
  const selected = functionName();
  expectAll('(');
  const metric = name('a metric');
  expectAll(')', 'FROM');
  const hasSchema = take('SCHEMA');
  if (hasSchema) expectAll('(');
  const [namespace = '', ...schema] = hasSchema ? commaSeparated('a namespace or dimension') : [name('a namespace')];
  if (hasSchema) expectAll(')');
  const where: Record<string, string> = {};
  if (take('WHERE'))
    do {
      const label = name('a dimension');
      expectAll('=');
      where[label] = text("a value in '…'", 'literal');
    } while (take('AND'));
  const groupBy = take('GROUP') ? (expectAll('BY'), commaSeparated('a dimension')) : [];
  let order: 'ASC' | 'DESC' | undefined;
  if (take('ORDER')) {
    expectAll('BY');
    if (functionName() !== selected) throw new Error('Metrics Insights: ORDER BY another function than SELECT');
    expectAll('(', ')');
    order = take('DESC') ? 'DESC' : 'ASC';
    if (order === 'ASC') take('ASC');
  }
  const limit = take('LIMIT') ? Number(text('a number', 'word')) : undefined;
  if (limit !== undefined && !(Number.isInteger(limit) && limit >= 1 && limit <= MAX_SERIES))
    fail(`a limit from 1 to ${MAX_SERIES}`);
  if (next() !== undefined) fail('the end');
  return {
    function: selected,
    metric,
    namespace,
    schema: hasSchema ? schema : undefined,
    where,
    groupBy,
    order,
    limit,
  };
}
