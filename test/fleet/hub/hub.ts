import { gunzipSync } from 'node:zlib';
import type { SQSEvent } from 'aws-lambda';
import type { Fleet } from '../../../lambdas/config/fleet.ts';
import { type Finding, type FleetIndex, parseFleetIndex } from '../../../lambdas/contracts/fleet-index.ts';
import { parseRegistry, type Registry } from '../../../lambdas/contracts/registry.ts';
import { STATE_KEYS } from '../../../lambdas/fleet/state-keys.ts';
import type { WebhookAnswer } from '../../../lambdas/functions/handle-webhook.ts';
import { HUB_SIZES } from '../../../lambdas/hub-sizes.ts';
import { type EventSourceMapping, type Invocation, startEventSourceMapping } from '../aws/event-source-mapping.ts';
import type { SimulatedAws } from '../aws/simulated-aws.ts';
import type { Clock } from '../clock.ts';
import { createHubFunctions, type HubFunctions, type HubFunctionsOptions, type HubQueues } from './functions.ts';
import { BUCKET, HUB, JOURNAL_BUCKET, SNAPSHOT_BUCKET } from './places.ts';

export interface HubOptions
  extends Pick<
    HubFunctionsOptions,
    'around' | 'onToken' | 'audits' | 'auditEngine' | 'stepRollout' | 'aroundSnapshots'
  > {
  readonly aws: SimulatedAws;
  readonly clock: Clock;
  readonly fleet: Fleet;
  /** What the sweeps are waited for with. @default clock.during */
  readonly duringSweep?: <T>(work: Promise<T>) => Promise<T>;
  /** Stands around every call of a function: to see it, or to break it. @default nobody */
  readonly aroundCall?: AroundCall;
  /** What becomes of a sweep's batch after it is done. Throws where the function is to crash. @default nothing */
  readonly afterSweep?: (event: SQSEvent) => void;
}

/** @throws what the function throws, or what is to be its end. @param event of a sweep */
export type AroundCall = <T>(
  name: Exclude<keyof HubFunctions, 'webhook'>,
  call: () => Promise<T>,
  event?: SQSEvent,
) => Promise<T>;

/** The hub in this process: state, queues and functions, with timeouts and windows as they are deployed (lib/constructs). */
export interface Hub extends AsyncDisposable {
  readonly queues: HubQueues;
  /** Calls of the sweep function that are over. */
  readonly sweepInvocations: readonly Invocation[];
  /** What Scheduler does each minute. */
  dispatch(): Promise<void>;
  /** What the URL of hints is sent. */
  webhook(event: unknown): Promise<WebhookAnswer>;
  /** The functions start anew. */
  restart(): void;
  registry(): Registry | undefined;
  index(): FleetIndex | undefined;
  /** Bodies of all orders, outcomes and hints that were delivered. */
  readonly bodies: readonly string[];
}

export function startHub(options: HubOptions): Hub {
  const { aws, clock, afterSweep = () => undefined, aroundCall = async (_name, call) => call() } = options;
  const during = async <T>(work: Promise<T>): Promise<T> => clock.during(work);
  const { duringSweep = during } = options;
  aws.s3.createBucket(HUB, BUCKET);
  aws.s3.createBucket(HUB, SNAPSHOT_BUCKET);
  aws.s3.createBucket(HUB, JOURNAL_BUCKET);
  const queue = (name: string, visibilityTimeoutSeconds: number, retentionSeconds: number) =>
    aws.sqs.createQueue({ ...HUB, name, visibilityTimeoutSeconds, retentionSeconds });
  const { starts, outcomes } = HUB_SIZES;
  const queues: HubQueues = {
    orders: queue('orders.fifo', 90, 120),
    starts: queue('starts', starts.visibilitySeconds, starts.retentionSeconds),
    outcomes: queue('outcomes', outcomes.visibilitySeconds, outcomes.retentionSeconds),
    waiting: queue('waiting', 60, 1_200),
  };
  const bodies: string[] = [];
  const start = (): HubFunctions =>
    createHubFunctions({ ...options, queues, onOutcomes: (body) => void bodies.push(body) });
  let functions = start();
  const seen = (event: SQSEvent): SQSEvent => {
    bodies.push(...event.Records.map(({ body }) => body));
    return event;
  };

  const sweeps = startEventSourceMapping({
    queue: queues.orders,
    clock,
    maxConcurrency: 10,
    batchSize: 1,
    timeoutSeconds: 60,
    handler: async (event) => {
      await duringSweep(aroundCall('sweep', async () => functions.sweep(seen(event)), event));
      afterSweep(event);
    },
  });
  const others: readonly EventSourceMapping[] = [
    startEventSourceMapping({
      queue: queues.starts,
      clock,
      batchSize: HUB_SIZES.report.batch,
      maxConcurrency: 2,
      timeoutSeconds: HUB_SIZES.report.timeoutSeconds,
      handler: async (event) => during(aroundCall('report', async () => functions.report(event))),
    }),
    startEventSourceMapping({
      queue: queues.waiting,
      clock,
      maxConcurrency: 2,
      timeoutSeconds: 20,
      handler: async (event) => during(aroundCall('hint', async () => functions.hint(seen(event)))),
    }),
  ];

  const stored = (key: string): unknown => {
    const body = aws.s3.read(BUCKET, key);
    return body === undefined ? undefined : JSON.parse(gunzipSync(body).toString('utf8'));
  };
  return {
    queues,
    sweepInvocations: sweeps.invocations,
    dispatch: async () => during(aroundCall('dispatch', async () => functions.dispatch())),
    webhook: async (event) => during(functions.webhook(event)),
    restart() {
      functions = start();
    },
    registry: () => parseRegistry(stored(STATE_KEYS.registry), clock.now()),
    index: () => parseFleetIndex(stored(STATE_KEYS.index), clock.now()),
    bodies,
    async [Symbol.asyncDispose]() {
      for (const mapping of [sweeps, ...others]) await mapping[Symbol.asyncDispose]();
    },
  };
}

/** Every finding in the index, and whose it is: a cluster's, or dispatch's. */
export function findingsOf(index: FleetIndex | undefined): readonly (Finding & { readonly of: string })[] {
  const { clusters = {}, dispatch } = index ?? {};
  return [
    ...(dispatch?.problems ?? []).map((finding) => ({ of: 'dispatch', ...finding })),
    ...Object.values(clusters).flatMap(({ id, findings }) => findings.map((finding) => ({ of: id, ...finding }))),
  ];
}
