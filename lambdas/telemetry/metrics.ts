import { Metrics } from '@aws-lambda-powertools/metrics';
import { METRICS_NAMESPACE, type Service } from './metric-names.ts';

/** Metrics in CloudWatch's embedded metric format: lines of the log, no calls and no permissions. Published by `logMetrics`. */
export function createMetrics(service: Service): Metrics {
  return new Metrics({ namespace: METRICS_NAMESPACE, serviceName: service });
}
