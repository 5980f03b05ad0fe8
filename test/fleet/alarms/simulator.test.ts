import { Template } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { fleetOf, stacksOf } from '../../unit/lib/stacks.ts';
import { alarmsOf } from './alarm-definitions.ts';
import { parseInsights } from './insights.ts';
import { createMetricStore, MINUTE_MS } from './metric-store.ts';
import { alarmState, MISSING_DATA_TREATMENTS } from './missing-data.ts';
import { createSimulator, type SimulatorOptions, type Transition } from './simulator.ts';

const START = 1_000_000 * MINUTE_MS;
const QUERY = 'SELECT MAX("M") FROM SCHEMA("n", "service", "Cluster") GROUP BY "Cluster" ORDER BY MAX() DESC';

function alarm(properties: object = {}): object {
  return {
    Type: 'AWS::CloudWatch::Alarm',
    Properties: {
      Namespace: 'n',
      MetricName: 'M',
      Dimensions: [{ Name: 'FunctionName', Value: { Ref: 'Sweep' } }],
      Statistic: 'Maximum',
      Period: 60,
      EvaluationPeriods: 3,
      DatapointsToAlarm: 2,
      Threshold: 10,
      ComparisonOperator: 'GreaterThanOrEqualToThreshold',
      TreatMissingData: 'notBreaching',
      ...properties,
    },
  };
}
const byCluster = (properties: object = {}) =>
  alarm({
    ...Object.fromEntries(
      ['Namespace', 'MetricName', 'Dimensions', 'Statistic', 'Period'].map((name) => [name, undefined]),
    ),
    Metrics: [{ Id: 'q', Expression: QUERY, Period: 60, ReturnData: true }],
    ...properties,
  });
const composite = (AlarmRule: string) => ({
  Type: 'AWS::CloudWatch::CompositeAlarm',
  Properties: { AlarmName: 'Critical', AlarmRule, AlarmActions: [{ Ref: 'Pager' }], OKActions: [{ Ref: 'Pager' }] },
});
const template = (Resources: Record<string, object>) => JSON.parse(JSON.stringify({ Resources }));

/** One value a minute, `-` for none; by cluster where the names are given. */
function metrics(values: Readonly<Record<string, string>>) {
  const store = createMetricStore();
  for (const [name, text] of Object.entries(values))
    for (const [minute, value] of text.split(' ').entries())
      if (value !== '-')
        store.add({
          namespace: 'n',
          name: 'M',
          dimensions: name === '' ? { FunctionName: 'Sweep' } : { service: 'report', Cluster: name },
          at: START + minute * MINUTE_MS + 30_000,
          value: Number(value),
        });
  return store;
}

function run(
  resources: Record<string, object>,
  values: Readonly<Record<string, string>>,
  minutes: number,
  options?: SimulatorOptions,
): string[] {
  const simulator = createSimulator(alarmsOf(template(resources)), metrics(values), options);
  const ends = Array.from({ length: minutes }, (_, index) => START + (index + 1) * MINUTE_MS);
  return ends.flatMap((at) => simulator.evaluate(at)).map(inWords);
}

function inWords({ at, alarm: { name }, contributor, from, to, actions }: Transition): string {
  const who = contributor === undefined ? name : `${name}/${Object.values(contributor).join()}`;
  return `${(at - START) / MINUTE_MS} ${who} ${from}→${to} ${actions.join()}`.trim();
}

describe('the alarms of a template', () => {
  it('are those of the stack, all understood', () => {
    const alarms = alarmsOf(Template.fromStack(stacksOf(fleetOf()).hub).toJSON());
    expect(alarms.length).toBeGreaterThan(30);
    expect(alarms.filter(({ kind }) => kind === 'composite')).toHaveLength(2);
  });

  it.each([
    ['a property that is new', alarm({ EvaluationWindow: {} }), 'EvaluationWindow'],
    ['another operator', alarm({ ComparisonOperator: 'GreaterThanThreshold' }), 'GreaterThanThreshold'],
    ['another statistic', alarm({ Statistic: 'Average' }), 'Average'],
    ['more than all periods', alarm({ DatapointsToAlarm: 4 }), '4 of 3'],
    ['another expression', byCluster({ Metrics: [{ Id: 'a', Expression: 'm1 / m2', Period: 60 }] }), 'not understood'],
    ['missing data that is not treated', alarm({ TreatMissingData: undefined }), 'missing'],
    ['an alarm that is not there', composite('ALARM("x")'), 'no alarm'],
    ['another rule', composite('NOT ALARM("a")'), 'alarm rule'],
  ])('are refused with %s', (_what, resource, message) => {
    expect(() => alarmsOf(template({ A: resource }))).toThrow(message);
  });

  it.each([
    QUERY.replaceAll('MAX', 'SUM'),
    QUERY.replace('DESC', 'ASC'),
    QUERY.replaceAll('"', ''),
    QUERY.replace('GROUP', `WHERE "Cluster" = 'berlin' GROUP`),
    `${QUERY} LIMIT 10`,
  ])('are refused with the query %s', (query) => {
    expect(() => parseInsights(query)).toThrow('is not understood');
  });
});

/** Columns: points, M of 3, breaching, notBreaching. Source: the tables of the User Guide, and its text on premature transitions. */
const ROWS: readonly (readonly [points: string, m: number, ...states: string[]])[] = [
  ['0 - X - X', 3, 'OK', 'OK'],
  ['0 - - - -', 3, 'OK', 'OK'],
  ['- - - - -', 3, 'ALARM', 'OK'],
  ['0 X X - X', 3, 'ALARM', 'ALARM'],
  ['- - X - -', 3, 'ALARM', 'OK'],
  ['0 - X - X', 2, 'ALARM', 'ALARM'],
  ['0 0 X 0 X', 2, 'ALARM', 'ALARM'],
  ['0 - X - -', 2, 'ALARM', 'OK'],
  ['- - - - 0', 2, 'ALARM', 'OK'],
  ['- - - X 0', 3, 'OK', 'OK'],
  ['X X 0 0 0', 2, 'OK', 'OK'],
  ['- - - - X', 1, 'ALARM', 'ALARM'],
];

it.each(
  ROWS.flatMap(([points, m, ...states]) =>
    MISSING_DATA_TREATMENTS.map((treatment, column) => [points, m, treatment, states[column]] as const),
  ),
)('the points %s, %i of 3, %s: %s', (text, datapointsToAlarm, treatMissingData, expected) => {
  const points = text.split(' ').map((point) => (point === '-' ? undefined : point === 'X'));
  expect(alarmState(points, { evaluationPeriods: 3, datapointsToAlarm, treatMissingData })).toBe(expected);
});

describe('a metric alarm', () => {
  it('fires at M of N, says when it is well again, and looks only at its own series', () => {
    expect(run({ A: alarm() }, { '': '0 0 10 0 11 0 0 0 0', berlin: '99 99 99 99' }, 9)).toEqual([
      '1 A INSUFFICIENT_DATA→OK',
      '5 A OK→ALARM',
      '6 A ALARM→OK',
    ]);
  });

  it('fires at silence, where silence breaches: after the older points are gone', () => {
    const silent = { ComparisonOperator: 'LessThanThreshold', Threshold: 1, Statistic: 'SampleCount' };
    const resources = { A: alarm({ ...silent, TreatMissingData: 'breaching' }) };
    expect(run(resources, { '': '1 1 1 1 1 1 - - - - - -' }, 12).slice(1)).toEqual(['2 A ALARM→OK', '10 A OK→ALARM']);
  });
});

describe('an alarm with GROUP BY', () => {
  it('fires for each cluster by itself, also for one that is new, and once for the alarm', () => {
    const values = { berlin: '- 10 10 10 0 0 0', oslo: '- - - 99 99 99 99', well: '1 1 1 1 1 1 1' };
    expect(run({ A: byCluster() }, values, 7)).toEqual([
      '1 A INSUFFICIENT_DATA→OK',
      '3 A/berlin OK→ALARM',
      '3 A OK→ALARM',
      '5 A/oslo OK→ALARM',
      '6 A/berlin ALARM→OK',
    ]);
  });

  it.each([
    ['OK', ['6 A/berlin ALARM→OK']],
    ['nothing', []],
  ] as const)('says %s of a series that ends, and has no data itself then', (vanishing, said) => {
    const resources = { A: byCluster({ EvaluationPeriods: 1, DatapointsToAlarm: 1 }) };
    expect(run(resources, { berlin: '- 0 10 - - - - -' }, 8, { vanishing })).toEqual([
      '2 A INSUFFICIENT_DATA→OK',
      '3 A/berlin OK→ALARM',
      '3 A OK→ALARM',
      ...said,
      '6 A ALARM→INSUFFICIENT_DATA',
    ]);
  });

  it('has 100 contributors in ALARM at most', () => {
    const many = Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`c${n}`, `${10 + n} ${10 + n}`]));
    const fired = run({ A: byCluster() }, many, 2).filter((text) => text.startsWith('2 A/'));
    expect(fired).toHaveLength(100);
    expect(fired.join()).not.toContain('A/c0 ');
  });
});

it('a composite alarm opens with the first alarm and closes with the last, and has actions', () => {
  const resources = {
    Z: composite('ALARM("hub") OR ALARM("B")'),
    A: alarm({ AlarmName: 'hub' }),
    B: byCluster({ AlarmName: 'B' }),
  };
  const values = { '': '0 10 10 0 0 0 0 0 0', berlin: '0 0 0 10 10 10 0 0 0' };
  expect(run(resources, values, 9).filter((text) => text.includes('Critical'))).toEqual([
    '1 Critical INSUFFICIENT_DATA→OK Pager',
    '3 Critical OK→ALARM Pager',
    '8 Critical ALARM→OK Pager',
  ]);
});
