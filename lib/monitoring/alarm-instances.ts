import { ComparisonOperator, type IMetric, Stats, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import { Duration } from 'aws-cdk-lib/core';
import { ALARMS, type AlarmId, firstCommand, isByClass, isOnSignal } from '../../lambdas/tables/alarms.ts';
import { METRIC } from '../../lambdas/telemetry/metric-names.ts';
import { type BurnOptions, burnRate, fleetMetric, MINUTE, signalQuery } from './metrics.ts';
import type { WatchedFunction, WatchedHub } from './watched.ts';

/** One alarm of CloudWatch, of which an entry of the table may have several: one for each function, one for each queue. */
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
  const byClass = isByClass(signal, threshold);
  return [{ ...REACHED, metric: signalQuery({ signal, byClass }), threshold, first: firstCommand(id) }];
}

type HubAlarmId = {
  [Id in AlarmId]: (typeof ALARMS)[Id]['watches'] extends { readonly hub: string } ? Id : never;
}[AlarmId];

function ofHub(id: HubAlarmId, threshold: number, hub: WatchedHub): readonly AlarmInstance[] {
  const { dispatch, report, functions, queues, topics, objective } = hub;
  const ofEach = (make: (watched: WatchedFunction) => Pick<AlarmInstance, 'metric' | 'threshold' | 'first'>) =>
    watchedBy(id, functions).map((watched) => ({ ...REACHED, disambiguator: watched.name, ...make(watched) }));
  const ofSweeps = (metricName: string): AlarmInstance => ({
    ...REACHED,
    metric: fleetMetric('sweep', metricName, Stats.SUM),
    threshold,
    first: tail(functions.find(({ name }) => name.startsWith('sweep'))),
  });
  const burning = (window: Pick<BurnOptions, 'period' | 'atLeast'>): AlarmInstance => ({
    ...REACHED,
    metric: burnRate({ objective, ...window }),
    threshold,
    // It names the clusters.
    first: tail({ fn: report }),
  });
  switch (id) {
    case 'DispatchHeartbeat':
      return [beat('dispatch', METRIC.dispatched, threshold, dispatch)];
    case 'ReportHeartbeat':
      return [beat('report', METRIC.outcomesFolded, threshold, report)];
    case 'OldestSweep':
      return [
        {
          ...REACHED,
          metric: fleetMetric('report', METRIC.oldestSweep, Stats.MAXIMUM),
          threshold,
          missing: TreatMissingData.BREACHING,
          first: tail({ fn: report }),
        },
      ];
    case 'FunctionErrors':
      return ofEach(({ fn }) => ({
        metric: fn.metricErrors({ period: MINUTE, statistic: Stats.SUM }),
        threshold,
        first: tail({ fn }),
      }));
    case 'FunctionThrottles':
      return ofEach(({ fn }) => ({
        metric: fn.metricThrottles({ period: MINUTE, statistic: Stats.SUM }),
        threshold,
        first: `aws lambda get-function-concurrency --function-name ${fn.functionName}`,
      }));
    case 'FunctionDuration':
      return ofEach(({ fn, timeoutSeconds }) => ({
        metric: fn.metricDuration({ period: MINUTE, statistic: Stats.MAXIMUM }),
        threshold: Math.round(threshold * timeoutSeconds * 1_000),
        first: tail({ fn }),
      }));
    case 'QueueAge':
      return queues.map(({ name, queue, retentionSeconds }) => ({
        ...REACHED,
        disambiguator: name,
        metric: queue.metricApproximateAgeOfOldestMessage({ period: MINUTE, statistic: Stats.MAXIMUM }),
        threshold: Math.round(threshold * retentionSeconds),
        first: `aws sqs get-queue-attributes --queue-url ${queue.queueUrl} --attribute-names All`,
      }));
    case 'NotificationsFailed':
      return Object.entries(topics).map(([name, topic]) => ({
        ...REACHED,
        disambiguator: name,
        metric: topic.metricNumberOfNotificationsFailed({ period: MINUTE, statistic: Stats.SUM }),
        threshold,
        first: `aws sns list-subscriptions-by-topic --topic-arn ${topic.topicArn}`,
      }));
    case 'DiscoveryProblems':
      return [
        {
          ...REACHED,
          metric: fleetMetric('dispatch', METRIC.discoveryProblems, Stats.MAXIMUM),
          threshold,
          first: tail({ fn: dispatch }),
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

function watchedBy(id: HubAlarmId, functions: readonly WatchedFunction[]): readonly WatchedFunction[] {
  return id === 'FunctionThrottles' ? functions.filter(({ limited }) => limited !== true) : functions;
}

/**
 * Fires when a minute has fewer values than expected, or none at all: silence must fire. Three minutes in five, because
 * the tick and CloudWatch's minute drift against each other.
 */
function beat(
  service: 'dispatch' | 'report',
  metricName: string,
  threshold: number,
  fn: WatchedHub['dispatch'],
): AlarmInstance {
  return {
    metric: fleetMetric(service, metricName, Stats.SAMPLE_COUNT),
    threshold,
    comparison: ComparisonOperator.LESS_THAN_THRESHOLD,
    missing: TreatMissingData.BREACHING,
    first: tail({ fn }),
  };
}

function tail(watched: Pick<WatchedFunction, 'fn'> | undefined): string {
  if (watched === undefined) throw new Error('the hub has no such function');
  return `aws logs tail ${watched.fn.logs.logGroupName} --since 15m`;
}
