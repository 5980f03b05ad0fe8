import { existsSync } from 'node:fs';
import { Template } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { DEFAULT_FLEET, DEFAULT_MONITORING, type Fleet } from '../../../../lambdas/config/fleet.ts';
import {
  ALARMS,
  type AlarmId,
  type AlarmSettings,
  alarmRunbook,
  runbookPlace,
} from '../../../../lambdas/tables/alarms.ts';
import { ALWAYS_ON } from '../../../../lambdas/telemetry/metric-names.ts';
import { fleetOf, resource, stacksOf } from '../stacks.ts';

const ids = Object.keys(ALARMS) as AlarmId[];
const lanes = (count: number): Fleet['lanes'] =>
  Array.from({ length: count }, (_, index) => ({
    name: `a-lane-with-a-name-of-32-chars-${String.fromCodePoint(97 + index)}`,
    vpcId: 'vpc-0a1b2c3d',
    subnetIds: ['subnet-0a1b2c3d'],
    securityGroupIds: ['sg-0a1b2c3d'],
  }));

function templateOf(alarms: AlarmSettings = {}, changed: Partial<Fleet> = {}): Template {
  return Template.fromStack(stacksOf(fleetOf({ monitoring: { ...DEFAULT_MONITORING, alarms }, ...changed }), {}).hub);
}

const plain = templateOf();
const large = templateOf({}, { lanes: lanes(20), hub: { ...DEFAULT_FLEET.hub, webhook: true } });

type Alarm = Readonly<Record<string, unknown>> & { readonly AlarmName: string };

function alarmsOf(template: Template, type = 'AWS::CloudWatch::Alarm'): readonly Alarm[] {
  return Object.values(template.findResources(type)).map(({ Properties }) => Properties);
}

const COMPOSITE = 'AWS::CloudWatch::CompositeAlarm';
const namesOf = (alarms: readonly Alarm[]) => alarms.map(({ AlarmName }) => AlarmName);

function compositesOf(template: Template): ReadonlyMap<string, string> {
  return new Map(alarmsOf(template, COMPOSITE).map(({ AlarmName, AlarmRule }) => [AlarmName, String(AlarmRule)]));
}

const kebab = (id: AlarmId) => alarmRunbook(id).replace(/^.*\/|\.md$/g, '');
const of = (template: Template, id: AlarmId) =>
  alarmsOf(template).filter(({ AlarmName }) =>
    new RegExp(`^certmarshal-${kebab(id)}(?:-(?:default|notify|webhook|failed|pager).*)?$`).test(AlarmName),
  );
const childrenOf = (rule: string) => [...rule.matchAll(/ALARM\("([^"]+)"\)/g)].map(([, name = '']) => name);

describe('the alarms of the hub', () => {
  it.each(ids)('says of %s what it means, what to do first, and where to read on', (id) => {
    for (const { AlarmDescription } of of(plain, id)) {
      const text = typeof AlarmDescription === 'string' ? AlarmDescription : JSON.stringify(AlarmDescription);
      expect(text).toContain(ALARMS[id].meaning);
      expect(text).toMatch(/First: (?:certmarshal|aws) \w/);
      expect(text).toContain(`Runbook: ${runbookPlace(id, undefined)}`);
      expect(text.length).toBeLessThan(900);
    }
  });

  it('has a runbook for each', () => {
    expect(ids.map(alarmRunbook).filter((page) => !existsSync(page))).toEqual([]);
  });

  it('asks for every cluster in one query, in which every name has its quotation marks', () => {
    const asking = alarmsOf(plain).filter(({ Metrics }) => Array.isArray(Metrics) && Metrics.length === 1);
    const expressionOf = (metrics: unknown) => JSON.parse(JSON.stringify(metrics))[0].Expression;
    const queries = asking.map(({ AlarmName, Metrics }) => [AlarmName, expressionOf(Metrics)]);
    expect(queries).toHaveLength(ids.filter((id) => 'signal' in ALARMS[id].watches).length);
    expect(Object.fromEntries(queries)).toMatchObject({
      'certmarshal-cluster-unreadable':
        'SELECT MAX("UnreadableFor") FROM SCHEMA("certmarshal", "service", "Cluster") GROUP BY "Cluster" ORDER BY MAX() DESC',
      'certmarshal-certificate-critical':
        'SELECT MAX("CertificatesCritical") FROM SCHEMA("certmarshal", "service", "Cluster", "Class") GROUP BY "Cluster", "Class" ORDER BY MAX() DESC',
    });
    for (const alarm of asking)
      expect(alarm).toMatchObject({
        TreatMissingData: 'notBreaching',
        ComparisonOperator: 'GreaterThanOrEqualToThreshold',
        Metrics: [{ Period: 60, ReturnData: true }],
      });
  });

  it('names the URL of each runbook where fleet.yaml says where they are', () => {
    const runbooks = `https://git.example.com/${'x'.repeat(176)}`;
    const { hub } = stacksOf(fleetOf({ monitoring: { ...DEFAULT_MONITORING, runbooks } }));
    const template = Template.fromStack(hub);
    for (const id of ids) expect(JSON.stringify(of(template, id))).toContain(`Runbook: ${runbookPlace(id, runbooks)}`);
    expect(JSON.stringify(template.findResources('AWS::CloudWatch::CompositeAlarm'))).toContain(
      `Runbook: ${runbooks}/alarms/README.md`,
    );
  });

  it('counts each class of a cluster by itself, whatever the threshold', () => {
    const [alarm] = of(templateOf({ CertificateWarning: { threshold: 3, severity: 'warning' } }), 'CertificateWarning');
    expect(alarm).toMatchObject({ Threshold: 3 });
    expect(JSON.stringify(alarm)).toContain('Class');
  });

  it('watches whether EventBridge reaches notify', () => {
    const RuleName = { Ref: resource(plain, 'AWS::Events::Rule', 'NotifyAlarmEvents').id };
    expect(of(plain, 'AlarmUndelivered')).toMatchObject([
      { Namespace: 'AWS/Events', MetricName: 'FailedInvocations', Dimensions: [{ Name: 'RuleName', Value: RuleName }] },
    ]);
  });

  it('ends where a metric is absent because it is 0', () => {
    const ours = alarmsOf(large).filter(({ Namespace }) => Namespace === 'certmarshal');
    const absent = ours.filter(({ MetricName }) => !ALWAYS_ON.has(String(MetricName)));
    expect(absent.map(({ MetricName }) => MetricName)).toEqual([
      'DiscoveryProblems',
      'SnapshotsUnwritten',
      'JournalUnwritten',
    ]);
    for (const alarm of absent)
      expect(alarm).toMatchObject({
        TreatMissingData: 'notBreaching',
        ComparisonOperator: 'GreaterThanOrEqualToThreshold',
        Threshold: 1,
      });
  });

  it('tells people of those on notify itself and on its rule; EventBridge has the others', () => {
    const topic = [{ Ref: resource(plain, 'AWS::SNS::Topic', 'TopicsCritical').id }];
    for (const { AlarmName, AlarmActions, OKActions } of alarmsOf(plain)) {
      const expected = /-(?:notify|undelivered)$/.test(AlarmName) ? topic : undefined;
      expect([AlarmName, AlarmActions, OKActions]).toEqual([AlarmName, expected, expected]);
    }
  });

  it('has one for each topic, which rings for one message that a subscriber did not get', () => {
    const names = ['critical', 'warning', 'pager', 'chat', 'fallback'];
    const failed = alarmsOf(plain).filter(({ Namespace }) => Namespace === 'AWS/SNS');
    expect(namesOf(failed)).toEqual(names.map((name) => `certmarshal-notifications-failed-${name}`));
    for (const alarm of failed)
      expect(alarm).toMatchObject({
        MetricName: 'NumberOfNotificationsFailed',
        Dimensions: [{ Name: 'TopicName' }],
        Statistic: 'Sum',
        Threshold: 1,
        DatapointsToAlarm: 1,
        TreatMissingData: 'notBreaching',
      });
  });

  it('has its own alarm for each lane, and for each function that no tick starts', () => {
    const names = namesOf(alarmsOf(large));
    for (const { name } of lanes(20)) expect(names).toContain(`certmarshal-sweep-timeout-${name}`);
    expect(names.filter((name) => name.includes('function-errors'))).toEqual([
      'certmarshal-function-errors-notify',
      'certmarshal-function-errors-webhook',
    ]);
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name.length).toBeLessThanOrEqual(255);
  });

  it('watches how each execution ends', () => {
    const StateMachineArn = { Ref: resource(plain, 'AWS::StepFunctions::StateMachine', 'TickMachine').id };
    for (const [part, MetricName] of [
      ['failed', 'ExecutionsFailed'],
      ['timed-out', 'ExecutionsTimedOut'],
      ['throttled', 'ExecutionThrottled'],
    ])
      expect(alarmsOf(plain)).toContainEqual(
        expect.objectContaining({
          AlarmName: `certmarshal-executions-${part}`,
          Namespace: 'AWS/States',
          MetricName,
          Dimensions: [{ Name: 'StateMachineArn', Value: StateMachineArn }],
          Statistic: 'Sum',
          TreatMissingData: 'notBreaching',
        }),
      );
  });

  it('allows two minutes without a beat', () => {
    for (const id of ['PlanHeartbeat', 'ReportHeartbeat'] as const)
      expect(of(plain, id)).toMatchObject([
        { EvaluationPeriods: 5, DatapointsToAlarm: 3, Period: 60, TreatMissingData: 'breaching' },
      ]);
  });

  it('does not make what is off, and takes threshold and severity from fleet.yaml', () => {
    const template = templateOf({
      ClusterUnreadable: { threshold: 1_200, severity: 'warning' },
      KubeletOverdue: { threshold: 1, severity: 'off' },
      PlanHeartbeat: { threshold: 1, severity: 'off' },
      SweepTimeout: { threshold: 0.5, severity: 'critical' },
    });
    expect(of(template, 'KubeletOverdue')).toEqual([]);
    expect(of(template, 'PlanHeartbeat')).toEqual([]);
    expect(of(template, 'ClusterUnreadable')).toMatchObject([{ Threshold: 1_200 }]);
    expect(of(template, 'SweepTimeout')).toContainEqual(expect.objectContaining({ Threshold: 27_500 }));
    const rules = compositesOf(template);
    expect(rules.get('certmarshal-warning')).toContain('"certmarshal-cluster-unreadable"');
    expect(rules.get('certmarshal-critical')).toContain('"certmarshal-sweep-timeout-default"');
    expect([...rules.values()].join('')).not.toContain('kubelet-overdue');
  });
});

describe('the alarms that page', () => {
  it('are one for each level, over every alarm of it, and tell the fallback topic without notify', () => {
    const rules = compositesOf(plain);
    expect([...rules.keys()].toSorted()).toEqual(['certmarshal-critical', 'certmarshal-warning']);
    const children = [...rules.values()].flatMap(childrenOf);
    expect(children.toSorted()).toEqual(namesOf(alarmsOf(plain)).toSorted());
    const fallback = { Ref: resource(plain, 'AWS::SNS::Topic', 'TopicsPager').id };
    plain.allResourcesProperties('AWS::CloudWatch::CompositeAlarm', {
      AlarmActions: [fallback],
      OKActions: [fallback],
    });
  });

  it('stay within what CloudWatch takes, however many lanes there are', () => {
    const rules = compositesOf(large);
    for (const rule of rules.values()) {
      expect(childrenOf(rule).length).toBeLessThanOrEqual(100);
      expect(rule.length).toBeLessThanOrEqual(10_240);
    }
    const reached = (name: string): readonly string[] => {
      const rule = rules.get(name);
      return rule === undefined ? [name] : childrenOf(rule).flatMap(reached);
    };
    const all = ['certmarshal-critical', 'certmarshal-warning'].flatMap(reached);
    expect(all.toSorted()).toEqual(namesOf(alarmsOf(large)).toSorted());
    // Only the level itself opens an incident.
    const telling = alarmsOf(large, COMPOSITE).filter(({ AlarmActions }) => AlarmActions !== undefined);
    expect(namesOf(telling).toSorted()).toEqual(['certmarshal-critical', 'certmarshal-warning']);
  });

  it('are made after the alarms that they ask for', () => {
    for (const { DependsOn = [], Properties } of Object.values(plain.findResources('AWS::CloudWatch::CompositeAlarm')))
      expect(DependsOn).toHaveLength(childrenOf(Properties.AlarmRule).length);
  });

  it('leave a level out that has no alarm', () => {
    const critical = ids.filter((id) => ALARMS[id].severity === 'critical');
    const off = Object.fromEntries(critical.map((id) => [id, { threshold: 1, severity: 'off' }] as const));
    expect([...compositesOf(templateOf(off)).keys()]).toEqual(['certmarshal-warning']);
  });
});
