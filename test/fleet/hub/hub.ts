import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { S3Client } from '@aws-sdk/client-s3';
import { createDirectoryState } from '../../../bin/directory-state.ts';
import { createS3State } from '../../../lambdas/aws/s3-state.ts';
import { type Finding, type FleetIndex, parseFleetIndex } from '../../../lambdas/contracts/fleet-index.ts';
import { type Order, readOrders, type SweepItem } from '../../../lambdas/contracts/order.ts';
import { parseRegistry, type Registry } from '../../../lambdas/contracts/registry.ts';
import { ordersKey, STATE_KEYS } from '../../../lambdas/fleet/state-keys.ts';
import { tickAt } from '../../../lambdas/fleet/tick.ts';
import { HUB_SIZES } from '../../../lambdas/hub-sizes.ts';
import type { State } from '../../../lambdas/state.ts';
import { awsClientConfig } from '../aws/aws-environment.ts';
import { createHubFunctions, type FunctionName, type HubFunctions, type HubFunctionsOptions } from './functions.ts';
import { BUCKET, HUB, JOURNAL_BUCKET, SNAPSHOT_BUCKET } from './places.ts';

export interface HubOptions extends Omit<HubFunctionsOptions, 'stateOf'> {
  /** Where the state is. @default a directory */
  readonly home?: 'directory' | 'bucket';
  /** Stands around the state, to see what is written, or to break it. @default nobody */
  readonly aroundState?: (state: State) => State;
  /** Sweeps at once. @default as many as Step Functions starts */
  readonly slots?: number;
  /** What the sweeps are waited for with. @default clock.during */
  readonly duringSweep?: <T>(work: Promise<T>) => Promise<T>;
  /** Stands around every call of a function: to see it, or to break it. @default nobody */
  readonly aroundCall?: AroundCall;
}

/** @param item of a sweep. @throws what the function throws, or what is to be its end */
export type AroundCall = <T>(name: FunctionName, call: () => Promise<T>, item?: SweepItem) => Promise<T>;

/** What Step Functions knows of the sweeps of a minute. */
export type Results = readonly { readonly shard: number; readonly error?: string }[];

/** The hub in this process: plan, sweep and report over one state, as an execution of the state machine calls them. */
export interface Hub extends AsyncDisposable {
  readonly state: State;
  /**
   * One minute: plan, sweeps, report.
   *
   * @param tick @default that of the clock
   * @throws what report throws: the execution failed
   */
  minute(tick?: number): Promise<Results>;
  /** The sweep that the webhook of a cluster starts. */
  webhook(id: string): Promise<void>;
  /** The functions start anew. */
  restart(): void;
  registry(): Registry | undefined;
  index(): FleetIndex | undefined;
  /** An object of the state, as text. */
  textOf(key: string): string;
  /** Orders and outcomes so far. */
  readonly written: readonly { readonly key: string; readonly value: unknown }[];
  /** Every order so far. */
  orders(): readonly Order[];
  /** Ids of the clusters of a shard. */
  clustersOf(item: SweepItem): readonly string[];
}

export function startHub(options: HubOptions): Hub {
  const { aws, clock, home = 'directory', aroundState = (state) => state } = options;
  const { slots = HUB_SIZES.sweep.maxConcurrency, aroundCall = async (_name, call) => call() } = options;
  const during = async <T>(work: Promise<T>): Promise<T> => clock.during(work);
  const { duringSweep = during } = options;
  for (const bucket of [BUCKET, SNAPSHOT_BUCKET, JOURNAL_BUCKET]) aws.s3.createBucket(HUB, bucket);
  const written: { key: string; value: unknown }[] = [];
  const orders = new Map<string, unknown>();
  const seen = (state: State): State => ({
    ...state,
    async put(key, value, etag, signal) {
      const put = await state.put(key, value, etag, signal);
      if (key.startsWith('orders/')) orders.set(key, value);
      if (/^(?:orders|outcomes)\//.test(key)) written.push({ key, value });
      return put;
    },
  });
  const directory = home === 'directory' ? mkdtempSync(join(tmpdir(), 'certmarshal-hub-')) : undefined;
  const inDirectory = directory === undefined ? undefined : createDirectoryState(directory, clock.now());
  const stateOf = (role?: string): State =>
    inDirectory ??
    createS3State({ client: new S3Client(awsClientConfig(aws, { ...HUB, ...(role && { role }) })), bucket: BUCKET });
  const state = stateOf();
  const start = (): HubFunctions =>
    createHubFunctions({ ...options, stateOf: (role) => aroundState(seen(stateOf(role))) });
  let functions = start();

  const textOf = (key: string): string => {
    const path = join(directory ?? '', key);
    const inHome = directory !== undefined && existsSync(path) ? readFileSync(path) : undefined;
    const bytes = directory === undefined ? aws.s3.read(BUCKET, key) : inHome;
    return bytes === undefined ? '' : (key.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8');
  };
  const stored = (key: string): unknown => {
    const text = textOf(key);
    return text === '' ? undefined : JSON.parse(text);
  };

  async function sweep(item: SweepItem): Promise<Results[number]> {
    const timeout = new AbortController();
    // The task of the Map has a time-out, and so has the function.
    const timedOut = clock
      .sleep(HUB_SIZES.sweep.timeoutSeconds * 1_000, timeout.signal)
      .then(() => 'States.Timeout' as const);
    timedOut.catch(() => undefined);
    try {
      const work = duringSweep(aroundCall('sweep', async () => functions.sweep(item), item));
      const error = await Promise.race([work.then(() => undefined), timedOut]);
      return { shard: item.shard, ...(error && { error }) };
    } catch (error) {
      return { shard: item.shard, error: error instanceof Error ? error.name : 'Error' };
    } finally {
      timeout.abort();
    }
  }

  return {
    state,
    async minute(tick = tickAt(clock.now(), clock.now())) {
      inDirectory?.touch(clock.now());
      let [shards, outcomes]: [readonly SweepItem[] | undefined, Results] = [undefined, []];
      try {
        shards = await during(aroundCall('plan', async () => functions.plan(tick)));
        const waiting = shards.map((item, n) => ({ item, n }));
        const results: Results[number][] = [];
        const slot = async (): Promise<void> => {
          for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
            // oxlint-disable-next-line no-await-in-loop -- a slot is taken
            results[next.n] = await sweep(next.item);
        };
        await Promise.all(Array.from({ length: slots }, slot));
        outcomes = results;
      } catch {
        // Report runs whatever becomes of plan.
      }
      const result = { tick, shards, outcomes };
      await during(aroundCall('report', async () => functions.report(result)));
      return outcomes;
    },
    webhook: async (id) => during(functions.webhook(id)),
    restart() {
      functions = start();
    },
    registry: () => parseRegistry(stored(STATE_KEYS.registry), clock.now()),
    index: () => parseFleetIndex(stored(STATE_KEYS.index), clock.now()),
    textOf,
    written,
    orders: () =>
      [...orders].flatMap(([key, value]) => {
        const read = readOrders(value, key.split('/')[1] ?? '');
        return read.ok ? [...read.value.values()].flat().flatMap((one) => (one.ok ? [one.value] : [])) : [];
      }),
    clustersOf({ lane, tick, object, shard }) {
      const read = readOrders(orders.get(ordersKey(lane, tick, object)), lane);
      return read.ok ? (read.value.get(shard) ?? []).flatMap(({ id }) => id ?? []) : [];
    },
    async [Symbol.asyncDispose]() {
      inDirectory?.release();
      if (directory !== undefined) rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** The same around every call of a state. */
export function aroundEach(state: State, around: <T>(call: () => Promise<T>) => Promise<T>): State {
  return {
    get: async (...call) => around(async () => state.get(...call)),
    put: async (...call) => around(async () => state.put(...call)),
    list: async (...call) => around(async () => state.list(...call)),
  };
}

/** Every finding in the index, and whose it is: a cluster's, or the hub's. */
export function findingsOf(index: FleetIndex | undefined): readonly (Finding & { readonly of: string })[] {
  const { clusters = {}, problems = [] } = index ?? {};
  return [
    ...problems.map((finding) => ({ of: 'hub', ...finding })),
    ...Object.values(clusters).flatMap(({ id, findings }) => findings.map((finding) => ({ of: id, ...finding }))),
  ];
}
