import type { Clock } from '../clock.ts';
import type { AlarmDefinition } from './alarm-definitions.ts';
import type { Dimensions, MetricStore } from './metric-store.ts';

export interface AwsMetricsOptions {
  readonly alarms: readonly AlarmDefinition[];
  readonly store: MetricStore;
  readonly clock: Clock;
}

/**
 * What Lambda and Step Functions publish by themselves of what they really did here. A function is called in a metric as
 * the alarm on it calls it; one lane has one sweep.
 *
 * Source: AWS Lambda developer guide, "Using CloudWatch metrics with Lambda"; AWS Step Functions developer guide,
 * "Monitoring Step Functions metrics using Amazon CloudWatch".
 */
export function awsMetrics({ alarms, store, clock }: AwsMetricsOptions): {
  /** Counts a call and how it ended. Its duration is that of the simulated time. */
  readonly aroundCall: <T>(name: string, call: () => Promise<T>) => Promise<T>;
  /** Counts an execution and how it ended. Scheduler does not try again. */
  readonly execution: (run: () => Promise<unknown>) => Promise<void>;
} {
  const add = (alarm: string, namespace: string, name: string, value: number, at: number): void => {
    const dimensions = dimensionsOf(alarms, alarm);
    // Nobody watches it.
    if (dimensions !== undefined) store.add({ namespace, name, dimensions, value, at });
  };
  return {
    async aroundCall(name, call) {
      const startedAt = clock.now();
      let errors = 1;
      try {
        const answer = await call();
        errors = 0;
        return answer;
      } finally {
        // Lambda counts in the minute in which a call began.
        add(`certmarshal-function-errors-${name}`, 'AWS/Lambda', 'Errors', errors, startedAt);
        if (name === 'sweep')
          add('certmarshal-sweep-timeout-sweep-default', 'AWS/Lambda', 'Duration', clock.now() - startedAt, startedAt);
      }
    },
    async execution(run) {
      let failed = 0;
      await run().catch(() => {
        failed = 1;
      });
      add('certmarshal-executions-failed', 'AWS/States', 'ExecutionsFailed', failed, clock.now());
    },
  };
}

function dimensionsOf(alarms: readonly AlarmDefinition[], alarm: string): Dimensions | undefined {
  const watched = alarms.find(({ name }) => name === alarm);
  return watched?.kind === 'metric' && 'metric' in watched.watches ? watched.watches.dimensions : undefined;
}
