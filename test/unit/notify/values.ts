import type { FleetIndex } from '../../../lambdas/contracts/fleet-index.ts';
import { type ClusterHealth, type FleetHealth, storedHealth } from '../../../lambdas/health/fleet-health.ts';
import { publishedSeries, seriesOf } from '../../../lambdas/health/series.ts';
import { alarmChange } from '../../../lambdas/notify/alarm-change.ts';
import { alarmName } from '../../../lambdas/notify/alarm-name.ts';
import { incidentOf, type Scene } from '../../../lambdas/notify/incident.ts';
import type { Message } from '../../../lambdas/notify/message.ts';
import { ALARMS, type AlarmId, watchedSignal } from '../../../lambdas/tables/alarms.ts';
import { SIGNALS, type Signal, type SignalId } from '../../../lambdas/tables/signals.ts';
import { at, auditSummary, index, indexed, NOW } from '../fleet/values.ts';

export function cluster(
  id: string,
  signals: readonly Signal[] = [],
  changed: Partial<ClusterHealth> = {},
): ClusterHealth {
  return {
    id,
    name: id.slice(id.lastIndexOf('/') + 1),
    provider: 'eks-anywhere',
    source: 'fleet.yaml',
    state: signals.length === 0 ? 'well' : 'critical',
    signals,
    sweptAt: at(),
    readableAt: at(),
    readable: true,
    complete: true,
    findings: [],
    audit: auditSummary({ findings: [], findingCount: 0, sources: { read: [], unread: [], off: [] }, ends: [] }),
    verdicts: [],
    ...changed,
  };
}

export function fleet(...clusters: readonly ClusterHealth[]): FleetHealth {
  const count = (state: ClusterHealth['state']) => clusters.filter((one) => one.state === state).length;
  return {
    at: at(),
    clusters,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it has every key
    totals: Object.fromEntries(Object.keys(SIGNALS).map((id) => [id, 0])) as Record<SignalId, number>,
    counts: {
      critical: count('critical'),
      warning: count('warning'),
      noted: count('noted'),
      new: count('new'),
      maintenance: count('maintenance'),
      well: count('well'),
      gone: count('gone'),
    },
    problems: [],
  };
}

/** A signal with which a cluster makes an alarm fire. */
export function firing(alarm: AlarmId, changed: Partial<Signal> = {}): Signal {
  const id = watchedSignal(alarm);
  if (id === undefined) throw new Error(`${alarm} looks at no cluster`);
  return {
    id,
    value: ALARMS[alarm].threshold,
    story: 'something is wrong',
    command: 'unused',
    since: at(),
    ...changed,
  };
}

/** The index as report wrote it. */
export function indexOf(...clusters: readonly ClusterHealth[]): FleetIndex {
  const health = fleet(...clusters);
  return {
    ...index(...clusters.map(({ id, audit, verdicts }) => indexed(id, { audit, verdicts }))),
    health: storedHealth(health),
    series: publishedSeries(seriesOf(health, {}, []), []),
  };
}

export type State = 'ALARM' | 'OK' | 'INSUFFICIENT_DATA';
export interface Labels {
  readonly Cluster?: string;
  readonly Class?: string;
}

function envelope(type: string, alarmNamed: string, time: string) {
  return {
    version: '0',
    id: '6d226bbc-07f0-9a31-3359-1736968f8ded',
    'detail-type': type,
    source: 'aws.cloudwatch',
    account: '123456789012',
    time,
    region: 'us-east-1',
    resources: [`arn:aws:cloudwatch:us-east-1:123456789012:alarm:${alarmNamed}`],
  };
}

/** Source: Amazon CloudWatch User Guide, "Alarm events and EventBridge", Multi Time Series Alarm, Alarm Contributor Example. */
export function contributorEvent(
  alarm: AlarmId | { readonly name: string },
  value: State,
  attributes: Labels,
  time = at(),
) {
  const alarmNamed = typeof alarm === 'string' ? alarmName(alarm) : alarm.name;
  return {
    ...envelope('CloudWatch Alarm Contributor State Change', alarmNamed, time),
    detail: {
      alarmName: alarmNamed,
      alarmContributor: { id: '6d442278dba546f6', attributes },
      state: {
        value,
        reason:
          'Threshold Crossed: 1 datapoint was less than the threshold (1.0). The most recent datapoint which crossed the threshold: [0.0 (01/12/25 13:34:00)].',
        timestamp: time.replace('Z', '+0000'),
      },
      configuration: {
        metrics: [{ id: 'm1', expression: 'SELECT MAX("x") FROM y', returnData: true, period: 60 }],
        description: 'What it means.\nFirst: certmarshal audit --cluster CLUSTER\nRunbook: certmarshal runbook x',
      },
    },
  };
}

export interface AlarmChanged {
  readonly part?: string;
  readonly from?: State;
  readonly time?: string;
}

/** Source: the same page, Single Metric Alarm, and Alarm Example. */
export function alarmEvent(
  alarm: AlarmId | { readonly name: string },
  value: State,
  { part, from = value === 'ALARM' ? 'OK' : 'ALARM', time = at() }: AlarmChanged = {},
) {
  const alarmNamed = typeof alarm === 'string' ? alarmName(alarm, part) : alarm.name;
  const state = (one: State, reason: string) => ({ value: one, reason, timestamp: time.replace('Z', '+0000') });
  return {
    ...envelope('CloudWatch Alarm State Change', alarmNamed, time),
    detail: {
      alarmName: alarmNamed,
      configuration: {
        description:
          'What it means.\nFirst: aws logs tail /aws/vendedlogs/states/CertMarshal-tick --since 15m\nRunbook: certmarshal runbook x',
        metrics: [],
      },
      previousState: state(from, 'Threshold Crossed: no datapoints were received for 1 period'),
      state: state(
        value,
        'Threshold Crossed: 1 datapoint [3.0 (21/11/26 09:59:00)] was greater than or equal to the threshold (1.0).',
      ),
    },
  };
}

/** What people get of an event; undefined for nothing. */
export function messageOf(
  event: ReturnType<typeof contributorEvent> | ReturnType<typeof alarmEvent>,
  fleetIndex: FleetIndex | undefined,
  changed: Partial<Scene> = {},
): Message | undefined {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- its reader has tests of its own
  const change = alarmChange(event as never);
  return change && incidentOf(change, { index: fleetIndex, settings: {}, now: NOW, ...changed });
}
