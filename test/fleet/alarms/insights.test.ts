import { describe, expect, it } from 'vitest';

import { askInsights, parseInsights } from './insights.ts';
import { createMetricStore, MINUTE_MS } from './metric-store.ts';

const NOW = 1_000_000 * MINUTE_MS;
const QUERY =
  'SELECT MAX(UnreadableFor) FROM SCHEMA(certmarshal, service, Cluster) GROUP BY Cluster ORDER BY MAX() DESC';

function store(
  ...samples: readonly (readonly [minutesAgo: number, value: number, dimensions: Record<string, string>])[]
) {
  const metrics = createMetricStore();
  for (const [minutesAgo, value, dimensions] of samples)
    metrics.add({
      namespace: 'certmarshal',
      name: 'UnreadableFor',
      dimensions,
      at: NOW - minutesAgo * MINUTE_MS,
      value,
    });
  return metrics;
}
const ask = (query: string, metrics: ReturnType<typeof store>, range = 2) =>
  askInsights(parseInsights(query), metrics, { at: NOW, periodMs: MINUTE_MS, range });
const of = (Cluster: string) => ({ service: 'report', Cluster });

describe('a Metrics Insights query', () => {
  it('is read', () => {
    expect(parseInsights(QUERY)).toEqual({
      function: 'MAX',
      metric: 'UnreadableFor',
      namespace: 'certmarshal',
      schema: ['service', 'Cluster'],
      where: {},
      groupBy: ['Cluster'],
      order: 'DESC',
    });
    expect(
      parseInsights(
        `select sum("A b") from "AWS/Lambda" where FunctionName = 'x' and "Resource" = 'y' group by a, "b c" order by sum() limit 10`,
      ),
    ).toEqual({
      function: 'SUM',
      metric: 'A b',
      namespace: 'AWS/Lambda',
      where: { FunctionName: 'x', Resource: 'y' },
      groupBy: ['a', 'b c'],
      order: 'ASC',
      limit: 10,
    });
  });

  it.each([
    ['MAX(a) FROM b', 'SELECT'],
    ['SELECT MEDIAN(a) FROM b', 'a function'],
    ['SELECT MAX(a) FROM', 'a namespace'],
    ['SELECT MAX(a FROM b', 'expected )'],
    ['SELECT MAX(a) FROM SCHEMA(b GROUP BY c ORDER BY MAX()', 'expected )'],
    ['SELECT MAX(a) FROM b WHERE c = d', "a value in '…'"],
    ["SELECT MAX(a) FROM b WHERE c != 'd'", 'not understood'],
    ['SELECT MAX(a) FROM b GROUP BY c', 'ORDER BY with GROUP BY'],
    ['SELECT MAX(a) FROM b ORDER BY MAX()', 'no ORDER BY without'],
    ['SELECT MAX(a) FROM b GROUP BY c ORDER BY MIN()', 'another function'],
    ['SELECT MAX(a) FROM b GROUP BY c ORDER BY MAX() LIMIT 501', 'a limit'],
    ['SELECT MAX(a) FROM b GROUP BY c ORDER BY MAX() HAVING', 'the end'],
  ])('is refused: %s', (query, message) => {
    expect(() => parseInsights(query)).toThrow(message);
  });

  it('takes only series with exactly the dimensions of SCHEMA, and all of them without', () => {
    const metrics = store(
      [1, 1, of('berlin')],
      [1, 2, { ...of('berlin'), Class: 'etcd' }],
      [1, 3, { service: 'report' }],
      [1, 4, {}],
    );
    expect(ask(QUERY, metrics).contributors).toEqual([{ attributes: { Cluster: 'berlin' }, points: [undefined, 1] }]);
    expect(ask('SELECT SUM(UnreadableFor) FROM certmarshal', metrics).contributors[0]?.points[1]).toBe(10);
    expect(ask('SELECT SUM(UnreadableFor) FROM SCHEMA(certmarshal)', metrics).contributors[0]?.points[1]).toBe(4);
    expect(ask('SELECT SUM(Unreadable) FROM certmarshal', metrics).contributors).toEqual([]);
  });

  it.each([
    ['AVG', 2],
    ['SUM', 4],
    ['MIN', 1],
    ['MAX', 3],
    ['COUNT', 2],
  ])('makes %s of several series of a group', (name, value) => {
    const metrics = store([1, 1, of('berlin')], [1, 3, { service: 'sweep', Cluster: 'berlin' }]);
    const query = QUERY.replaceAll('MAX', name);
    expect(ask(query, metrics).contributors).toEqual([
      { attributes: { Cluster: 'berlin' }, points: [undefined, value] },
    ]);
    const where = query.replace('GROUP', "WHERE service = 'sweep' GROUP");
    expect(ask(where, metrics).contributors[0]?.points[1]).toBe(name === 'COUNT' ? 1 : 3);
  });

  it('forgets a series three hours after its last value', () => {
    expect(ask(QUERY, store([180, 1, of('berlin')])).contributors).toHaveLength(1);
    expect(ask(QUERY, store([181, 1, of('berlin')])).contributors).toHaveLength(0);
  });

  it('does not look ahead', () => {
    expect(ask(QUERY, store([0, 1, of('berlin')])).contributors).toEqual([]);
  });

  it('returns 500 series at most and says so, those first that come first', () => {
    const many = store(...Array.from({ length: 501 }, (_, i) => [1, i, of(`c${i}`)] as const));
    const answer = ask(QUERY, many);
    expect(answer.partial).toBe(true);
    expect(answer.contributors).toHaveLength(500);
    expect(answer.contributors.map(({ attributes }) => attributes['Cluster'])).not.toContain('c0');
    const least = ask(`${QUERY.replace('DESC', 'ASC')} LIMIT 2`, many);
    expect(least.contributors.map(({ attributes }) => attributes['Cluster'])).toEqual(['c0', 'c1']);
  });
});
