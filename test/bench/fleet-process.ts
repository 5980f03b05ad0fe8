import { readFile } from 'node:fs/promises';
import { DEFAULT_POLICY } from '../../lambdas/approval/policy.ts';
import type { SweepOrder } from '../../lambdas/fleet/order.ts';
import { createTargetSweeper } from '../../lambdas/fleet/sweep-target.ts';
import type { ServedCluster } from './simulated-servers.ts';

// The sweeping half of the function in a process of its own: batches of ten clusters, one batch after the other, as one instance of it gets
// them. Prints milliseconds of every sweep and its memory.
const [, , file = '', rounds = '1', deadlineMs = '45000'] = process.argv;
const clusters: readonly ServedCluster[] = JSON.parse(await readFile(file, 'utf8'));
const kubeconfigs = new Map(clusters.map(({ name, kubeconfig }) => [name, kubeconfig]));
const unused = async (): Promise<never> => {
  throw new Error('no cluster of this run needs AWS');
};
const sweepOne = createTargetSweeper({
  readSecret: async (arn) => kubeconfigs.get(arn) ?? '',
  signToken: unused,
  describeCluster: unused,
  listInstances: async function* none() {},
  policies: [DEFAULT_POLICY],
  clock: Date.now,
});

const BATCH = 10;
const MEASURED_ROUNDS = 10;
const { signal: never } = new AbortController();
const sweeps: { readonly id: string; readonly ms: number; readonly complete: boolean }[] = [];
const heaps: number[] = [];
const startedAt = performance.now();
for (let round = 0; round < Number(rounds); round += 1) {
  for (let first = 0; first < clusters.length; first += BATCH)
    await Promise.all(clusters.slice(first, first + BATCH).map(sweepCluster));
  if (global.gc !== undefined) {
    global.gc();
    heaps.push(process.memoryUsage().heapUsed / 2 ** 20);
  }
}
process.stdout.write(
  JSON.stringify({
    totalMs: performance.now() - startedAt,
    sweeps,
    heaps,
    maxRssMiB: process.resourceUsage().maxRSS / 1024,
  }),
  // A pipe takes a long text in pieces.
  () => process.exit(0),
);

async function sweepCluster({ name }: ServedCluster): Promise<void> {
  const order: SweepOrder = {
    target: {
      id: name,
      cluster: { name, provider: 'eks-anywhere' },
      access: { kind: 'kubeconfig', secret: name },
      lane: 'default',
    },
    tick: Date.now(),
    deadlineMs: Number(deadlineMs),
  };
  const from = performance.now();
  const { outcome } = await sweepOne(order, never);
  // What this program remembers must not look like a leak.
  if (Number(rounds) <= MEASURED_ROUNDS)
    sweeps.push({ id: name, ms: performance.now() - from, complete: outcome.complete });
}
