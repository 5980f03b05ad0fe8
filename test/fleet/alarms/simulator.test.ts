import { Template } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { fleetOf, stacksOf } from '../../unit/lib/stacks.ts';
import { alarmsOf } from './alarm-definitions.ts';
import { createMetricStore, MINUTE_MS } from './metric-store.ts';
import { createSimulator, type Transition } from './simulator.ts';

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
      AlarmActions: [{ Ref: 'Topic' }],
      OKActions: [{ Ref: 'Topic' }],
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
const composite = (AlarmRule: unknown) => ({
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

function run(resources: Record<string, object>, values: Readonly<Record<string, string>>, minutes: number): string[] {
  const simulator = createSimulator(alarmsOf(template(resources)), metrics(values));
  const ends = Array.from({ length: minutes }, (_, index) => START + (index + 1) * MINUTE_MS);
  return ends.flatMap((at) => simulator.evaluate(at)).map(told);
}

function told({ at, alarm: name, contributor, from, to, actions }: Transition): string {
  const who = contributor === undefined ? name : `${name}/${Object.values(contributor).join()}`;
  return `${(at - START) / MINUTE_MS} ${who} ${from}→${to} ${actions.join()}`.trim();
}

describe('the alarms of a template', () => {
  it('are those of the stack, all understood', () => {
    const alarms = alarmsOf(Template.fromStack(stacksOf(fleetOf()).hub).toJSON());
    expect(alarms.length).toBeGreaterThan(30);
    expect(alarms.filter(({ kind }) => kind === 'composite')).toHaveLength(2);
    for (const { name, alarmActions } of alarms) expect(`${name} ${alarmActions.length > 0}`).toBe(`${name} true`);
  });

  it.each([
    ['a property that is new', alarm({ EvaluationWindow: {} }), 'EvaluationWindow'],
    ['low samples', alarm({ EvaluateLowSampleCountPercentile: 'ignore' }), 'EvaluateLowSampleCountPercentile'],
    ['another operator', alarm({ ComparisonOperator: 'GreaterThanThreshold' }), 'GreaterThanThreshold'],
    ['another statistic', alarm({ Statistic: 'Average' }), 'Average'],
    ['a percentile', alarm({ ExtendedStatistic: 'p99' }), 'ExtendedStatistic'],
    ['actions without data', alarm({ InsufficientDataActions: [] }), 'InsufficientDataActions'],
    ['a metric under Metrics', byCluster({ Metrics: [{ Id: 'a', MetricStat: {} }] }), 'MetricStat'],
    ['more than all periods', alarm({ DatapointsToAlarm: 4 }), '4 of 3'],
    ['seconds', alarm({ Period: 10 }), 'a period'],
    ['metric math', byCluster({ Metrics: [{ Id: 'a' }, { Id: 'b' }] }), 'metric math'],
    ['an expression', byCluster({ Metrics: [{ Id: 'a', Expression: 'm1 / m2', Period: 60 }] }), 'not understood'],
    [
      'a metric of another account',
      byCluster({ Metrics: [{ Id: 'a', AccountId: '1', Expression: QUERY, Period: 60 }] }),
      'AccountId',
    ],
    ['actions that are off', alarm({ ActionsEnabled: false }), 'not enabled'],
    ['missing data', alarm({ TreatMissingData: 'ignore' }), 'ignore'],
    ['missing data that nobody treats', alarm({ TreatMissingData: undefined }), 'missing'],
    ['an import', alarm({ AlarmActions: [{ 'Fn::ImportValue': 'x' }] }), 'Fn::ImportValue'],
    ['an alarm that is not there', composite('ALARM("x")'), 'no alarm'],
    [
      'a suppressor',
      { ...composite(''), Properties: { AlarmRule: 'ALARM("x")', ActionsSuppressor: 'x' } },
      'ActionsSuppressor',
    ],
  ])('are refused with %s', (_what, resource, message) => {
    expect(() => alarmsOf(template({ A: resource }))).toThrow(message);
  });

  it.each(['', 'ALARM("a"', 'ALARM()', 'ALARM("a") AND ALARM("b")', 'NOT ALARM("a")', 'OK("a")', 'ALARM("a") OR'])(
    'are refused with the rule %o',
    (rule) => {
      expect(() => alarmsOf(template({ A: composite(rule) }))).toThrow('alarm rule');
    },
  );

  it('are refused where two have one name', () => {
    expect(() => alarmsOf(template({ A: alarm({ AlarmName: 'x' }), B: alarm({ AlarmName: 'x' }) }))).toThrow(
      'one name',
    );
  });

  it('resolve what they refer to', () => {
    const [first] = alarmsOf(
      template({
        A: alarm({
          AlarmName: { 'Fn::Join': ['-', ['certmarshal', { Ref: 'AWS::Region' }]] },
          AlarmDescription: {
            'Fn::Join': [
              ' ',
              [
                { Ref: 'AWS::StackName' },
                { Ref: 'Sweep' },
                { 'Fn::GetAtt': ['Queue', 'QueueName'] },
                { 'Fn::GetAtt': ['Queue', 'Arn'] },
              ],
            ],
          },
          Dimensions: [{ Name: 'QueueName', Value: { 'Fn::GetAtt': ['Queue', 'QueueName'] } }],
        }),
      }),
    );
    expect(first).toMatchObject({
      name: 'certmarshal-eu-central-1',
      description: 'certmarshal Sweep Queue Queue.Arn',
      watches: { dimensions: { QueueName: 'Queue' } },
    });
  });
});

describe('a metric alarm', () => {
  it('rings at M of N and says when it is well again', () => {
    expect(run({ A: alarm() }, { '': '0 0 10 0 11 0 0 0 0' }, 9)).toEqual([
      '1 A INSUFFICIENT_DATA→OK Topic',
      '5 A OK→ALARM Topic',
      '6 A ALARM→OK Topic',
    ]);
  });

  it.each([
    ['GreaterThanOrEqualToThreshold', '9', 'OK'],
    ['GreaterThanOrEqualToThreshold', '10', 'ALARM'],
    ['LessThanThreshold', '10', 'OK'],
    ['LessThanThreshold', '9', 'ALARM'],
  ])('%s with %s: %s', (ComparisonOperator, value, state) => {
    const simulator = createSimulator(
      alarmsOf(template({ A: alarm({ ComparisonOperator, EvaluationPeriods: 1, DatapointsToAlarm: 1 }) })),
      metrics({ '': value }),
    );
    simulator.evaluate(START + MINUTE_MS);
    expect(simulator.stateOf('A')).toBe(state);
  });

  it.each([
    ['Sum', 10],
    ['Maximum', 4],
    ['SampleCount', 4],
  ])('looks at %s', (Statistic, value) => {
    const once = { Period: 240, EvaluationPeriods: 1, DatapointsToAlarm: 1 };
    const stateAt = (Threshold: number) => {
      const resources = { A: alarm({ Statistic, ...once, Threshold }) };
      const simulator = createSimulator(alarmsOf(template(resources)), metrics({ '': '3 1 4 2' }));
      simulator.evaluate(START + 4 * MINUTE_MS);
      return simulator.stateOf('A');
    };
    expect([stateAt(value), stateAt(value + 0.1)]).toEqual(['ALARM', 'OK']);
  });

  it('rings at silence, where silence breaches: after the older points are gone', () => {
    const silent = alarm({
      ComparisonOperator: 'LessThanThreshold',
      Threshold: 1,
      Statistic: 'SampleCount',
      TreatMissingData: 'breaching',
    });
    expect(run({ A: silent }, { '': '1 1 1 1 1 1 - - - - - -' }, 12)).toEqual([
      '1 A INSUFFICIENT_DATA→ALARM Topic',
      '2 A ALARM→OK Topic',
      '10 A OK→ALARM Topic',
    ]);
  });

  it('looks only at its own series', () => {
    expect(run({ A: alarm() }, { berlin: '99 99 99 99' }, 4)).toEqual(['1 A INSUFFICIENT_DATA→OK Topic']);
  });
});

describe('an alarm with GROUP BY', () => {
  it('rings for each cluster by itself, also for one that is new, and once for the alarm', () => {
    expect(
      run({ A: byCluster() }, { berlin: '- 10 10 10 0 0 0', oslo: '- - - 99 99 99 99', well: '1 1 1 1 1 1 1' }, 7),
    ).toEqual([
      '1 A INSUFFICIENT_DATA→OK Topic',
      '3 A/berlin OK→ALARM Topic',
      '3 A OK→ALARM Topic',
      '5 A/oslo OK→ALARM Topic',
      '6 A/berlin ALARM→OK Topic',
    ]);
  });

  it('lets a series that is published no more be well again, and has no data itself then', () => {
    const one = { EvaluationPeriods: 1, DatapointsToAlarm: 1 };
    expect(run({ A: byCluster(one) }, { berlin: '- 0 10 - - - - -' }, 8)).toEqual([
      '2 A INSUFFICIENT_DATA→OK Topic',
      '3 A/berlin OK→ALARM Topic',
      '3 A OK→ALARM Topic',
      '6 A/berlin ALARM→OK Topic',
      '6 A ALARM→INSUFFICIENT_DATA',
    ]);
  });

  it.each(['breaching', 'notBreaching'])(
    'without any series has no data, where missing data is %s',
    (TreatMissingData) => {
      expect(run({ A: byCluster({ TreatMissingData }) }, {}, 3)).toEqual([]);
    },
  );

  it('has 100 contributors in ALARM at most', () => {
    const many = Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`c${n}`, `${10 + n} ${10 + n}`]));
    const rang = run({ A: byCluster() }, many, 2).filter((text) => text.startsWith('2 A/'));
    expect(rang).toHaveLength(100);
    expect(rang.join()).not.toContain('A/c0 ');
  });
});

describe('a composite alarm', () => {
  const CRITICAL = composite('ALARM("hub") OR ALARM("B")');
  const HUB = alarm({ AlarmName: 'hub' });

  it('opens with the first alarm and closes with the last', () => {
    const resources = { Z: CRITICAL, A: HUB, B: byCluster() };
    expect(
      run(resources, { '': '0 10 10 0 0 0 0 0 0', berlin: '0 0 0 10 10 10 0 0 0' }, 9).filter((text) =>
        text.includes('Critical'),
      ),
    ).toEqual(['1 Critical INSUFFICIENT_DATA→OK Pager', '3 Critical OK→ALARM Pager', '8 Critical ALARM→OK Pager']);
  });

  it('follows another composite alarm in the same minute', () => {
    const outer = {
      ...composite('ALARM("Critical")'),
      Properties: { AlarmName: 'Outer', AlarmRule: 'ALARM("Critical")' },
    };
    const resources = { O: outer, Z: CRITICAL, A: HUB, B: byCluster() };
    expect(run(resources, { '': '10 10 10' }, 3).filter((text) => text.includes('→ALARM'))).toEqual([
      '2 hub OK→ALARM Topic',
      '2 Critical OK→ALARM Pager',
      '2 Outer OK→ALARM',
    ]);
  });

  it('is evaluated in whole minutes only, and knows no other alarm', () => {
    const simulator = createSimulator([], createMetricStore());
    expect(() => simulator.evaluate(START + 1)).toThrow('whole minute');
    expect(() => simulator.stateOf('x')).toThrow('no alarm x');
  });
});
