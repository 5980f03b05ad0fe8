import { Logger } from '@aws-lambda-powertools/logger';
import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';
import { printable } from '../printable.ts';
import { ALWAYS_ON, type METRIC, METRICS_NAMESPACE, type Service } from './metric-names.ts';

export interface Telemetry {
  readonly logger: Logger;
  readonly metrics: Metrics;
}

export function createTelemetry(service: Service): Telemetry {
  return { logger: createLogger(service), metrics: createMetrics(service) };
}

/**
 * Metrics in CloudWatch's embedded metric format: log lines, without calls or permissions. Published by `logMetrics`.
 */
export function createMetrics(service: Service): Metrics {
  return new Metrics({ namespace: METRICS_NAMESPACE, serviceName: service });
}

/** Publishes counts above 0, and those of {@link ALWAYS_ON} also at 0. */
export function count(
  metrics: Metrics,
  counts: Readonly<Partial<Record<(typeof METRIC)[keyof typeof METRIC], number>>>,
): void {
  for (const [name, value] of Object.entries(counts))
    if (value > 0 || ALWAYS_ON.has(name)) metrics.addMetric(name, MetricUnit.Count, value);
}

/** Longer than any of our messages; longer text from a cluster is cut. */
const MAX_TEXT = 2_000;

/**
 * JSON lines with the function and its request. Text from a cluster can reach any field, so every string of a line is
 * escaped here. The event is never logged.
 */
export function createLogger(service: Service): Logger {
  return new Logger({ serviceName: service, jsonReplacerFn: harmless });
}

function harmless(key: string, value: unknown): unknown {
  if (typeof value !== 'string') return value;
  return key === 'stack'
    ? value
        .split('\n', 30)
        .map((line) => printable(line, MAX_TEXT))
        .join('\n')
    : printable(value, MAX_TEXT);
}
