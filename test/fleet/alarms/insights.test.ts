import { describe, expect, it } from 'vitest';
import { askInsights, parseInsights } from './insights.ts';
import { createMetricStore, MINUTE_MS } from './metric-store.ts';

const NOW = 1_000_000 * MINUTE_MS;
const QUERY =
  'SELECT MAX("UnreadableFor") FROM SCHEMA("certmarshal", "service", "Cluster") GROUP BY "Cluster" ORDER BY MAX() DESC';

function store(
  ...samples: readonly (readonly [minutesAgo: number, value: number, dimensions: Record<string, string>])[]
) {
  const metrics = createMetricStore();
  for (const [ago, value, dimensions] of samples)
    metrics.add({ namespace: 'certmarshal', name: 'UnreadableFor', dimensions, at: NOW - ago * MINUTE_MS, value });
  return metrics;
}
const ask = (metrics: ReturnType<typeof store>) =>
  askInsights(parseInsights(QUERY), metrics, { at: NOW, periodMs: MINUTE_MS, range: 2 });
const of = (Cluster: string) => ({ service: 'report', Cluster });

describe('a Metrics Insights query', () => {
  it('is read', () => {
    expect(parseInsights(QUERY.replaceAll('"Cluster"', '"Cluster", "Class"'))).toEqual({
      metric: 'UnreadableFor',
      namespace: 'certmarshal',
      schema: ['service', 'Cluster', 'Class'],
      groupBy: ['Cluster', 'Class'],
    });
  });

  it.each([
    ['no SELECT', QUERY.replace('SELECT ', '')],
    ['another function', QUERY.replaceAll('MAX', 'SUM')],
    ['another order than SELECT', QUERY.replace('MAX()', 'MIN()')],
    ['the smallest first', QUERY.replace('DESC', 'ASC')],
    ['names without quotation marks', QUERY.replaceAll('"', '')],
    ['no SCHEMA', QUERY.replace(/SCHEMA\(.*?\)/, '"certmarshal"')],
    ['an open bracket', QUERY.replace('"Cluster")', '"Cluster"')],
    ['WHERE', QUERY.replace('GROUP', `WHERE "Cluster" = 'berlin' GROUP`)],
    ['no GROUP BY', QUERY.replace('GROUP BY "Cluster" ', '')],
    ['no ORDER BY', QUERY.replace(/ ORDER.*/, '')],
    ['more', `${QUERY} LIMIT 10`],
  ])('is refused with %s', (_what, query) => {
    expect(() => parseInsights(query)).toThrow('is not understood');
  });

  it('takes only series with exactly the dimensions of SCHEMA', () => {
    const metrics = store(
      [1, 1, of('berlin')],
      [1, 2, { ...of('berlin'), Class: 'etcd' }],
      [1, 3, { service: 'report' }],
      [1, 4, { service: 'report', Class: 'etcd' }],
      [1, 5, {}],
    );
    expect(ask(metrics)).toEqual([{ attributes: { Cluster: 'berlin' }, points: [undefined, 1] }]);
    expect(ask(createMetricStore())).toEqual([]);
  });

  it('makes the maximum of several series of a group', () => {
    const metrics = store([1, 1, of('berlin')], [1, 3, { service: 'sweep', Cluster: 'berlin' }]);
    expect(ask(metrics)).toEqual([{ attributes: { Cluster: 'berlin' }, points: [undefined, 3] }]);
  });

  it('returns no series without a value in the periods that are asked for', () => {
    expect(ask(store([2, 1, of('berlin')]))).toHaveLength(1);
    expect(ask(store([3, 1, of('berlin')]))).toHaveLength(0);
  });

  it('is refused for more than three hours', () => {
    const over = (range: number) => () =>
      askInsights(parseInsights(QUERY), store(), { at: NOW, periodMs: MINUTE_MS, range });
    expect(over(180)()).toEqual([]);
    expect(over(181)).toThrow('three hours');
  });

  it('does not look ahead', () => {
    expect(ask(store([0, 1, of('berlin')]))).toEqual([]);
  });

  it('returns 500 series at most, the largest first', () => {
    const many = ask(store(...Array.from({ length: 501 }, (_, i) => [1, i, of(`c${i}`)] as const)));
    const expected = Array.from({ length: 500 }, (_, i) => `c${500 - i}`);
    expect(many.map(({ attributes }) => attributes['Cluster'])).toEqual(expected);
  });
});
