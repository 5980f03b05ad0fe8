import { readFile, writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { SQSRecord } from 'aws-lambda';
import { DEFAULT_POLICY } from '../../lambdas/approval/policy.ts';
import { createMinute } from '../../lambdas/cluster/minute.ts';
import type { FleetIndex } from '../../lambdas/contracts/fleet-index.ts';
import { encodeOrders } from '../../lambdas/contracts/order.ts';
import type { SweepOutcome } from '../../lambdas/contracts/outcome.ts';
import type { RegisteredCluster, Registry } from '../../lambdas/contracts/registry.ts';
import { foldOutcomes } from '../../lambdas/fleet/fold-outcomes.ts';
import { planTick, type ShardOrders } from '../../lambdas/fleet/plan-tick.ts';
import { LISTED } from '../../lambdas/fleet/sources.ts';
import { createSweepShard } from '../../lambdas/functions/sweep-shard.ts';
import { createLogger, createMetrics } from '../../lambdas/telemetry/telemetry.ts';
import { isOnLoopback } from '../fleet/loopback.ts';
import type { FleetRun } from './run-fleet.ts';
import type { ServedCluster } from './simulated-servers.ts';

// The sweep function without Lambda in a process of its own: shards as dispatch makes them, a minute later in each round, one after the other, as one
// instance gets them. Its last argument is the file for its figures, because stdout has logs and metrics.
const [, , file = '', rounds = '1', timeScale = '1', resultFile = ''] = process.argv;
const clusters: readonly ServedCluster[] = JSON.parse(await readFile(file, 'utf8'));
const kubeconfigs = new Map(clusters.map(({ name, kubeconfig }) => [secretOf(name), kubeconfig]));
const unused = async (): Promise<never> => {
  throw new Error('no cluster of this run needs AWS');
};
const sweepOne = createMinute({
  addresses: 'local',
  readSecret: async (arn) => kubeconfigs.get(arn) ?? '',
  signToken: unused,
  isEksEndpoint: isOnLoopback,
  describeCluster: unused,
  listInstances: async function* none() {},
  policies: [DEFAULT_POLICY],
  clock: Date.now,
});

type Sweep = FleetRun['sweeps'][number];

const MINUTE = 60_000;
const MEASURED_ROUNDS = 10;
const { signal: never } = new AbortController();
const sweeps: Sweep[] = [];
const heaps: number[] = [];
const metrics = createMetrics('sweep');
const outcomes: SweepOutcome[] = [];
let shardStartedAt = 0;
let shard = '';
const sweepShard = createSweepShard({
  complete: ({ id, ...order }) => {
    const target = registry.clusters[id]?.target;
    if (target === undefined) throw new Error(`${id} is not registered`);
    return { ok: true, value: { tick: order.tick, deadlineMs: order.deadlineMs, server: order.server, target } };
  },
  // What hangs is given up sooner than deployed, only so that the run ends.
  sweepOne: async (order, signal) => {
    const swept = await sweepOne({ ...order, deadlineMs: order.deadlineMs * Number(timeScale) }, signal);
    const { outcome } = swept;
    outcomes.push(outcome);
    // What this program remembers must not look like a leak.
    if (Number(rounds) <= MEASURED_ROUNDS)
      sweeps.push({
        id: outcome.id,
        shard,
        ms: performance.now() - shardStartedAt,
        complete: outcome.complete,
        problem: outcome.problems[0]?.message,
      });
    return swept;
  },
  send: async () => undefined,
  wait: async (ms, signal) => delay(ms, undefined, { signal }),
  clock: Date.now,
  logger: createLogger('sweep'),
  metrics,
});

const startedAt = Date.now();
let registry = registryOf(clusters);
let index: FleetIndex | undefined = indexOf(clusters);
const begin = performance.now();
for (let round = 0; round < Number(rounds); round += 1) {
  const tick = startedAt + round * MINUTE;
  const { shards, assigned } = planTick(registry, index, tick);
  registry = {
    ...registry,
    clusters: Object.fromEntries(
      Object.entries(registry.clusters).map(([id, cluster]) => [id, { ...cluster, shard: assigned.get(id) }]),
    ),
  };
  for (const orders of shards) {
    shard = orders.name;
    shardStartedAt = performance.now();
    await sweepShard({ Records: [recordOf(orders)] }, never, never);
    if (metrics.hasStoredMetrics()) metrics.publishStoredMetrics();
  }
  index = foldOutcomes(index, outcomes.splice(0), Date.now());
  if (global.gc !== undefined) {
    global.gc();
    heaps.push(process.memoryUsage().heapUsed / 2 ** 20);
  }
}
const totalMs = performance.now() - begin;
const maxRssMiB = process.resourceUsage().maxRSS / 1024;
await writeFile(resultFile, JSON.stringify({ totalMs, sweeps, heaps, maxRssMiB }));
process.exit(0);

function secretOf(name: string): string {
  return `arn:aws:secretsmanager:eu-central-1:111122223333:secret:certmarshal/${name}-Ab12Cd`;
}

function registryOf(served: readonly ServedCluster[]): Registry {
  const at = new Date(startedAt).toISOString();
  const registered = served.map(
    ({ name }): RegisteredCluster => ({
      id: name,
      source: LISTED,
      foundAt: at,
      seenAt: at,
      target: {
        id: name,
        cluster: { name, provider: 'eks-anywhere' },
        access: { kind: 'kubeconfig', secret: secretOf(name) },
        lane: 'default',
      },
    }),
  );
  return {
    version: 1,
    writtenAt: at,
    sources: {},
    clusters: Object.fromEntries(registered.map((cluster) => [cluster.id, cluster])),
  };
}

/** All were well a minute ago. */
function indexOf(served: readonly ServedCluster[]): FleetIndex {
  const before = new Date(startedAt - MINUTE).toISOString();
  const swept = served.map(
    ({ name, kubeconfig }): SweepOutcome => ({
      version: 1,
      kind: 'sweep',
      id: name,
      name,
      provider: 'eks-anywhere',
      startedAt: before,
      durationMs: 20,
      readable: true,
      complete: true,
      server: /server: ['"]?https:\/\/([\d.]+:\d+)/.exec(kubeconfig)?.[1] ?? '',
      problems: [],
      problemCount: 0,
    }),
  );
  return foldOutcomes(undefined, swept, startedAt);
}

function recordOf({ name, orders }: ShardOrders): SQSRecord {
  return {
    messageId: name,
    body: encodeOrders(orders),
    eventSource: 'aws:sqs',
    attributes: { MessageGroupId: name, ApproximateReceiveCount: '1', SentTimestamp: String(Date.now()) },
  } as SQSRecord;
}
