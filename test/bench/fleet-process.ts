import { readFile, writeFile } from 'node:fs/promises';
import { DEFAULT_POLICY } from '../../lambdas/approval/policy.ts';
import { createMinute } from '../../lambdas/cluster/minute.ts';
import { createSweep } from '../../lambdas/cluster/sweep.ts';
import { DEFAULT_FLEET, DEFAULT_LANE, type Fleet } from '../../lambdas/config/fleet.ts';
import type { FleetIndex } from '../../lambdas/contracts/fleet-index.ts';
import type { SweepOutcome } from '../../lambdas/contracts/outcome.ts';
import { createCompleteOrder, createTargetsOf } from '../../lambdas/fleet/fits-fleet.ts';
import { foldOutcomes } from '../../lambdas/fleet/fold-outcomes.ts';
import { listedClusters } from '../../lambdas/fleet/listed-clusters.ts';
import { createPlan } from '../../lambdas/fleet/plan.ts';
import { STATE_KEYS } from '../../lambdas/fleet/state-keys.ts';
import { updateRegistry } from '../../lambdas/fleet/update-registry.ts';
import { jsonBytes, jsonOf } from '../../lambdas/json-bytes.ts';
import type { State } from '../../lambdas/state.ts';
import { createTelemetry } from '../../lambdas/telemetry/telemetry.ts';
import { isOnLoopback } from '../fleet/loopback.ts';
import type { FleetRun } from './run-fleet.ts';
import type { ServedCluster } from './simulated-servers.ts';

// The sweep function without Lambda in a process of its own: shards as plan makes them, a minute later in each round, one after the other, as one
// instance gets them. Its last argument is the file for its figures, because stdout has logs and metrics.
const [, , file = '', rounds = '1', timeScale = '1', resultFile = ''] = process.argv;
const MINUTE = 60_000;
const { signal: never } = new AbortController();

const clusters: readonly ServedCluster[] = JSON.parse(await readFile(file, 'utf8'));
const kubeconfigs = new Map(clusters.map(({ name, kubeconfig }) => [secretOf(name), kubeconfig]));
const fleet: Fleet = {
  ...DEFAULT_FLEET,
  clusters: clusters.map(({ name }) => ({
    id: name,
    name,
    provider: 'eks-anywhere',
    kubeconfigSecret: secretOf(name),
    namespace: 'eksa-system',
    lane: DEFAULT_LANE,
  })),
};
const targetsOf = createTargetsOf(fleet, { account: '111122223333', region: 'eu-central-1', partition: 'aws' });
const state = memoryState();
const plan = createPlan({
  fleet,
  targetsOf,
  state,
  functions: new Map([[DEFAULT_LANE, 'Sweep']]),
  clock: Date.now,
  ...createTelemetry('plan'),
});
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

const shards: FleetRun['shards'][number][] = [];
const sweeps: FleetRun['sweeps'][number][] = [];
const outcomes: SweepOutcome[] = [];
const telemetry = createTelemetry('sweep');
let shardBegin = 0;
const sweep = createSweep({
  lane: DEFAULT_LANE,
  complete: createCompleteOrder(fleet, targetsOf, DEFAULT_LANE),
  // What hangs is given up sooner than deployed, only so that the run ends.
  sweepOne: async (order, signal) => {
    const swept = await sweepOne({ ...order, deadlineMs: order.deadlineMs * Number(timeScale) }, signal);
    const { id, complete, problems } = swept.outcome;
    outcomes.push(swept.outcome);
    sweeps.push({ id, ms: performance.now() - shardBegin, complete, problem: problems[0]?.message });
    return swept;
  },
  state,
  clock: Date.now,
  ...telemetry,
});

const startedAt = Math.floor(Date.now() / MINUTE) * MINUTE;
await state.put(STATE_KEYS.registry, updateRegistry(undefined, [listedClusters(fleet)], startedAt), undefined, never);
let index = wellIndex();
const begin = performance.now();
for (let round = 0; round < Number(rounds); round += 1) {
  await state.put(STATE_KEYS.index, index, undefined, never);
  for (const item of await plan(startedAt + round * MINUTE, never)) {
    const before = outcomes.length;
    const cpu = process.cpuUsage();
    shardBegin = performance.now();
    await sweep.shard(item, never, never);
    if (telemetry.metrics.hasStoredMetrics()) telemetry.metrics.publishStoredMetrics();
    const { user, system } = process.cpuUsage(cpu);
    shards.push({
      clusters: outcomes.length - before,
      ms: performance.now() - shardBegin,
      processorMs: (user + system) / 1_000,
    });
  }
  index = foldOutcomes(index, outcomes.splice(0), Date.now());
}
const totalMs = performance.now() - begin;
const maxRssMiB = process.resourceUsage().maxRSS / 1024;
const run: FleetRun = { totalMs, shards, sweeps, maxRssMiB };
await writeFile(resultFile, JSON.stringify(run));
process.exit(0);

function secretOf(name: string): string {
  return `arn:aws:secretsmanager:eu-central-1:111122223333:secret:certmarshal/${name}-Ab12Cd`;
}

/** Encodes objects as the bucket does. */
function memoryState(): State {
  const objects = new Map<string, Buffer>();
  return {
    async get(key) {
      const bytes = objects.get(key);
      return bytes && { value: await jsonOf(bytes), etag: '' };
    },
    async put(key, value) {
      objects.set(key, (await jsonBytes(key, value)) ?? Buffer.alloc(0));
      return '';
    },
    list: unused,
  };
}

/** All were well a minute ago. */
function wellIndex(): FleetIndex {
  const before = new Date(startedAt - MINUTE).toISOString();
  const swept = clusters.map(
    ({ name, kubeconfig }): SweepOutcome => ({
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
