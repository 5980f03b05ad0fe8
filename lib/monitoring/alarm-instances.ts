import { ComparisonOperator, type IMetric, Metric, Stats, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import type { ILogGroup } from 'aws-cdk-lib/aws-logs';
import { Duration } from 'aws-cdk-lib/core';
import { HUB_SIZES } from '../../lambdas/hub-sizes.ts';
import { ALARMS, type AlarmId, firstCommand, isOnSignal } from '../../lambdas/tables/alarms.ts';
import { CLASS_SIGNALS } from '../../lambdas/tables/signals.ts';
import { METRIC } from '../../lambdas/telemetry/metric-names.ts';
import { type BurnOptions, burnRate, executionMetrics, fleetMetric, MINUTE, signalQuery } from './metrics.ts';
import type { NamedFunction, WatchedHub } from './watched.ts';

/** One alarm of CloudWatch, of which an entry of the table may have several: one for each function, one for each topic. */
export interface AlarmInstance {
  readonly disambiguator?: string;
  readonly metric: IMetric;
  /** In the unit of the metric. */
  readonly threshold: number;
  readonly comparison: ComparisonOperator;
  readonly missing: TreatMissingData;
  readonly first: string;
}

/**
 * Fires at or above the threshold. Healthy clusters have no data, because a series with data costs money. A query
 * without data is INSUFFICIENT_DATA, whatever is configured here.
 */
const REACHED = {
  comparison: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
  missing: TreatMissingData.NOT_BREACHING,
} as const;

/**
 * One late CSR of three in an hour is 333 times the burn that 99.9 % allows, and no reason to page: the kubelet asks
 * again every 15 minutes. Three are three nodes, or one that waits for most of an hour.
 */
const FAST_BURN_FLOOR = 3;

/** @param threshold from `fleet.yaml` */
export function alarmInstances(id: AlarmId, threshold: number, hub: WatchedHub): readonly AlarmInstance[] {
  if (!isOnSignal(id)) return ofHub(id, threshold, hub);
  const { signal } = ALARMS[id].watches;
  const byClass = CLASS_SIGNALS.has(signal);
  return [{ ...REACHED, metric: signalQuery({ signal, byClass }), threshold, first: firstCommand(id) }];
}

type HubAlarmId = {
  [Id in AlarmId]: (typeof ALARMS)[Id]['watches'] extends { readonly hub: string } ? Id : never;
}[AlarmId];

function ofHub(id: HubAlarmId, threshold: number, hub: WatchedHub): readonly AlarmInstance[] {
  const { plan, report, notify, alarmEvents, webhook, sweeps, tick, topics, objective } = hub;
  const ofSweeps = (metricName: string): AlarmInstance => ({
    ...REACHED,
    metric: fleetMetric('sweep', metricName, Stats.SUM),
    threshold,
    first: tail(sweeps[0]?.fn),
  });
  const burning = (window: Pick<BurnOptions, 'period' | 'atLeast'>): AlarmInstance => ({
    ...REACHED,
    metric: burnRate({ objective, ...window }),
    threshold,
    // It names the clusters.
    first: tail(report),
  });
  switch (id) {
    case 'PlanHeartbeat':
      return [beat('plan', METRIC.dispatched, threshold, plan)];
    case 'ReportHeartbeat':
      return [beat('report', METRIC.outcomesFolded, threshold, report)];
    case 'OldestSweep':
      return [
        {
          ...REACHED,
          metric: fleetMetric('report', METRIC.oldestSweep, Stats.MAXIMUM),
          threshold,
          missing: TreatMissingData.BREACHING,
          first: tail(report),
        },
      ];
    case 'Executions':
      return executionMetrics(tick).map(([disambiguator, metric]) => ({
        ...REACHED,
        disambiguator,
        metric,
        threshold,
        first: tail(tick),
      }));
    case 'SweepTimeout':
      return sweeps.map(({ name, fn }) => ({
        ...REACHED,
        disambiguator: name,
        metric: fn.metricDuration({ period: MINUTE, statistic: Stats.MAXIMUM }),
        threshold: Math.round(threshold * HUB_SIZES.sweep.timeoutSeconds * 1_000),
        first: tail(fn),
      }));
    case 'FunctionErrors':
      return ofPeople({ notify, webhook }).map(({ name, fn }) => ({
        ...REACHED,
        disambiguator: name,
        metric: fn.metricErrors({ period: MINUTE, statistic: Stats.SUM }),
        threshold,
        first: tail(fn),
      }));
    case 'NotificationsFailed':
      return Object.entries(topics).map(([name, topic]) => ({
        ...REACHED,
        disambiguator: name,
        metric: topic.metricNumberOfNotificationsFailed({ period: MINUTE, statistic: Stats.SUM }),
        threshold,
        first: `aws sns list-subscriptions-by-topic --topic-arn ${topic.topicArn}`,
      }));
    case 'AlarmUndelivered':
      return [
        {
          ...REACHED,
          metric: new Metric({
            namespace: 'AWS/Events',
            metricName: 'FailedInvocations',
            dimensionsMap: { RuleName: alarmEvents.ruleName },
            period: MINUTE,
            statistic: Stats.SUM,
          }),
          threshold,
          first: tail(notify),
        },
      ];
    case 'DiscoveryProblems':
      return [
        {
          ...REACHED,
          metric: fleetMetric('report', METRIC.discoveryProblems, Stats.MAXIMUM),
          threshold,
          first: tail(report),
        },
      ];
    case 'SloFastBurn':
      return [burning({ period: Duration.hours(1), atLeast: FAST_BURN_FLOOR })];
    case 'SloSlowBurn':
      return [burning({ period: Duration.hours(6) })];
    case 'SnapshotsUnwritten':
      return [ofSweeps(METRIC.snapshotsUnwritten)];
    case 'JournalUnwritten':
      return [ofSweeps(METRIC.journalUnwritten)];
  }
}

/** Functions that the state machine does not start: their errors are not among its failures. */
function ofPeople({ notify, webhook }: Pick<WatchedHub, 'notify' | 'webhook'>): readonly NamedFunction[] {
  return [{ name: 'notify', fn: notify }, ...(webhook === undefined ? [] : [{ name: 'webhook', fn: webhook }])];
}

/**
 * Fires when a minute has fewer values than expected, or none at all: silence must fire. Three minutes in five, because
 * a tick with a cluster that does not answer lasts until the next one, and ticks drift against the minutes of CloudWatch.
 */
function beat(
  service: 'plan' | 'report',
  metricName: string,
  threshold: number,
  fn: WatchedHub['plan'],
): AlarmInstance {
  return {
    metric: fleetMetric(service, metricName, Stats.SAMPLE_COUNT),
    threshold,
    comparison: ComparisonOperator.LESS_THAN_THRESHOLD,
    missing: TreatMissingData.BREACHING,
    first: tail(fn),
  };
}

function tail(logged: { readonly logs: ILogGroup } | undefined): string {
  if (logged === undefined) throw new Error('the hub has no such function');
  return `aws logs tail ${logged.logs.logGroupName} --since 15m`;
}
