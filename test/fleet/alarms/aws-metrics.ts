import type { SimulatedQueue } from '../aws/sqs-queue.ts';
import type { Clock } from '../clock.ts';
import type { AlarmDefinition } from './alarm-definitions.ts';
import type { Dimensions, MetricStore } from './metric-store.ts';

export interface LambdaMetricsOptions {
  readonly alarms: readonly AlarmDefinition[];
  readonly store: MetricStore;
  readonly clock: Clock;
}

/** Functions as the names of their alarms have them; one lane has one sweep. */
const FUNCTIONS: Readonly<Record<string, string>> = { sweep: 'sweep-default' };

/**
 * What Lambda and SQS publish by themselves of what they really did here. A function or a queue is called in a metric as the alarm on it calls it.
 *
 * Source: AWS Lambda developer guide, "Using CloudWatch metrics with Lambda"; Amazon SQS developer guide, "Available CloudWatch metrics for Amazon SQS".
 */
export function awsMetrics({ alarms, store, clock }: LambdaMetricsOptions): {
  /** Counts a call and how it ended. Its duration is that of the simulated time. */
  readonly aroundCall: <T>(name: string, call: () => Promise<T>) => Promise<T>;
  /** The age of a queue's oldest message now. */
  readonly measure: (name: string, queue: SimulatedQueue) => void;
} {
  const dimensionsOf = (alarm: string): Dimensions | undefined => {
    const found = alarms.find(({ name }) => name === alarm);
    return found?.kind === 'metric' && 'metric' in found.watches ? found.watches.dimensions : undefined;
  };
  const add = (namespace: string, name: string, dimensions: Dimensions | undefined, value: number, at: number) => {
    // Nobody watches it.
    if (dimensions !== undefined) store.add({ namespace, name, dimensions, value, at });
  };
  return {
    aroundCall: async (name, call) => {
      const startedAt = clock.now();
      const dimensions = dimensionsOf(`certmarshal-function-errors-${FUNCTIONS[name] ?? name}`);
      let errors = 1;
      try {
        const answer = await call();
        errors = 0;
        return answer;
      } finally {
        // Lambda counts in the minute in which a call began.
        add('AWS/Lambda', 'Invocations', dimensions, 1, startedAt);
        add('AWS/Lambda', 'Errors', dimensions, errors, startedAt);
        add('AWS/Lambda', 'Throttles', dimensions, 0, startedAt);
        add('AWS/Lambda', 'Duration', dimensions, clock.now() - startedAt, startedAt);
      }
    },
    measure(name, queue) {
      const dimensions = dimensionsOf(`certmarshal-queue-age-${name}`);
      add('AWS/SQS', 'ApproximateAgeOfOldestMessage', dimensions, queue.oldestAge(), clock.now());
    },
  };
}
