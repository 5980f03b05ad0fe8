import { type IMetric, MathExpression, Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import { Duration } from 'aws-cdk-lib/core';
import type { SignalId } from '../../lambdas/tables/signals.ts';
import { ALWAYS_ON, METRIC, METRICS_NAMESPACE, type Service } from '../../lambdas/telemetry/metric-names.ts';

/** A metric of certmarshal has at most a value a minute. */
export const MINUTE = Duration.minutes(1);

/** A total of the fleet, or something of one function. Powertools publishes it under the dimension `service` and no other. */
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

/** What each service publishes whenever it publishes anything. */
const PULSE = { dispatch: METRIC.registered, sweep: METRIC.completed, report: METRIC.clustersUnwell } as const;

/**
 * A metric of the fleet on a dashboard: 0 in the minutes in which its service said something else only. A graph would draw a line from one value to the next, and a
 * number would be the newest value, however old it is. Where the service said nothing, nothing is shown.
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
  /** Only so many series, the largest first. @default all, of which CloudWatch returns 500, and lets 100 ring */
  readonly limit?: number;
}

/**
 * A signal of every cluster that is not well, in one query of Metrics Insights: a cluster that joins needs no change.
 *
 * `Cluster` and `Class` are reserved words there, so every name has its quotation marks. SCHEMA takes series with exactly these dimensions, `service` among them.
 * Source: CloudWatch User Guide, "Query components and syntax in CloudWatch Metrics Insights" and "Reserved keywords".
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
