import { type IMetric, MathExpression, type MathExpressionProps, Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import { Duration } from 'aws-cdk-lib/core';
import type { SignalId } from '../../lambdas/tables/signals.ts';
import { ALWAYS_ON, METRIC, METRICS_NAMESPACE, type Service } from '../../lambdas/telemetry/metric-names.ts';
import type { Tick } from '../constructs/tick.ts';

/** A metric of certmarshal has at most one value a minute. */
export const MINUTE = Duration.minutes(1);

/** A metric of the fleet or of one function. Powertools publishes it under the dimension `service` only. */
export function fleetMetric(service: Service, metricName: string, statistic: string, label?: string): Metric {
  return new Metric({
    namespace: METRICS_NAMESPACE,
    metricName,
    dimensionsMap: { service },
    statistic,
    period: MINUTE,
    label,
  });
}

/** What an execution of the state machine can end with but success, by the end of an alarm's name. */
export function executionMetrics({ machine }: Tick): readonly (readonly [string, Metric])[] {
  const sum = { period: MINUTE, statistic: Stats.SUM };
  return [
    ['failed', machine.metricFailed(sum)],
    ['timed-out', machine.metricTimedOut(sum)],
    ['throttled', machine.metricThrottled(sum)],
  ];
}

export interface BurnOptions {
  readonly objective: number;
  readonly period: Duration;
  /** With fewer late CSRs it is 0. @default 1 */
  readonly atLeast?: number;
  readonly label?: string;
}

/** How many times faster than the objective allows CSRs were late. */
export function burnRate({ objective, period, atLeast = 1, label }: BurnOptions): MathExpression {
  const allowed = Number((1 - objective).toPrecision(6));
  return ofCsrs((issued, late) => `IF(${late} >= ${atLeast}, ${late} / (${issued} + ${late}) / ${allowed}, 0)`, {
    period,
    label,
  });
}

/** Percent of the provable CSRs that were issued in time. */
export function issuedShare(label: string): MathExpression {
  return ofCsrs((issued, late) => `100 * ${issued} / (${issued} + ${late})`, { period: MINUTE, label });
}

/** An id of a metric has one meaning in a whole widget, its period included. */
function ofCsrs(
  expression: (issued: string, late: string) => string,
  options: Pick<MathExpressionProps, 'label'> & { readonly period: Duration },
): MathExpression {
  const { period } = options;
  const [issued, late] = [`issued${period.toMinutes()}`, `late${period.toMinutes()}`];
  return new MathExpression({
    ...options,
    expression: expression(issued, late),
    usingMetrics: {
      [issued]: fleetMetric('report', METRIC.csrsIssued, Stats.SUM).with({ period }),
      [late]: fleetMetric('report', METRIC.csrsLate, Stats.SUM).with({ period }),
    },
  });
}

/** A metric that each service always publishes. */
const PULSE = { plan: METRIC.registered, sweep: METRIC.completed, report: METRIC.clustersUnwell } as const;

/**
 * A metric of the fleet on a dashboard: 0 in minutes in which its service published other metrics only. Otherwise a
 * graph would draw a line from one value to the next, and a number would show an old value. Empty if the service
 * published nothing.
 */
// oxlint-disable-next-line max-params -- those of fleetMetric
export function shownMetric(
  service: keyof typeof PULSE,
  metricName: string,
  statistic: string,
  label: string,
): IMetric {
  const metric = fleetMetric(service, metricName, statistic, label);
  if (ALWAYS_ON.has(metricName)) return metric;
  const [id, pulse] = [`value${metricName}`, `pulse${service}`];
  return new MathExpression({
    expression: `FILL(${id}, 0) + 0 * ${pulse}`,
    usingMetrics: {
      [id]: fleetMetric(service, metricName, statistic),
      [pulse]: fleetMetric(service, PULSE[service], Stats.MAXIMUM),
    },
    label,
    period: MINUTE,
  });
}

export interface SignalQuery {
  readonly signal: SignalId | typeof METRIC.rolloutProgress;
  /** One series a cluster and class of certificate, not one a cluster. */
  readonly byClass?: boolean;
  /** Most series, the largest first. @default all; CloudWatch returns 500, and fires for 100 */
  readonly limit?: number;
}

/**
 * A signal of every unhealthy cluster in one query of Metrics Insights: new clusters need no change.
 *
 * `Cluster` and `Class` are reserved words there, so every name is quoted. SCHEMA selects series with exactly these
 * dimensions, `service` included. Source: CloudWatch User Guide, "Query components and syntax in CloudWatch Metrics
 * Insights" and "Reserved keywords".
 */
export function signalQuery({ signal, byClass = false, limit }: SignalQuery): MathExpression {
  const groups = ['Cluster', ...(byClass ? ['Class'] : [])].map(quoted);
  const schema = [quoted(METRICS_NAMESPACE), quoted('service'), ...groups].join(', ');
  const most = limit === undefined ? '' : ` LIMIT ${limit}`;
  return new MathExpression({
    expression: `SELECT MAX(${quoted(signal)}) FROM SCHEMA(${schema}) GROUP BY ${groups.join(', ')} ORDER BY MAX() DESC${most}`,
    period: MINUTE,
  });
}

function quoted(name: string): string {
  return `"${name}"`;
}
