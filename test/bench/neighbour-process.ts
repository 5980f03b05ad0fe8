import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { DEFAULT_POLICY } from '../../lambdas/approval/policy.ts';
import { createMinute } from '../../lambdas/cluster/minute.ts';
import { isOnLoopback } from '../fleet/loopback.ts';

// Sweeps an honest cluster alone, and beside one that wants to hold the thread: as often as it is told. Prints milliseconds of the honest one, and of the
// longest silence of the thread.
const [, , file = '', runs = '1'] = process.argv;
const kubeconfigs: Readonly<Record<string, string>> = JSON.parse(await readFile(file, 'utf8'));
const unused = async (): Promise<never> => {
  throw new Error('no cluster of this run needs AWS');
};
const { signal: never } = new AbortController();

/** No connection is kept: each sweep is the first one. */
const sweepOnce = async (name: string) => {
  const sweepOne = createMinute({
    addresses: 'local',
    isEksEndpoint: isOnLoopback,
    readSecret: async () => kubeconfigs[name] ?? '',
    signToken: unused,
    describeCluster: unused,
    async *listInstances() {},
    policies: [DEFAULT_POLICY],
    clock: Date.now,
  });
  const secret = `arn:aws:secretsmanager:eu-central-1:111122223333:secret:certmarshal/${name}-Ab12Cd`;
  const cluster = { name: 'bench', provider: 'eks-anywhere' } as const;
  const access = { kind: 'kubeconfig', secret } as const;
  const target = { id: name, cluster, access, management: { namespace: 'eksa-system' }, lane: 'default' };
  const startedAt = performance.now();
  const { outcome } = await sweepOne({ target, tick: 0, deadlineMs: 45_000 }, never);
  return { ms: performance.now() - startedAt, outcome };
};
const honestOnce = async (): Promise<number> => {
  const { ms, outcome } = await sweepOnce('honest');
  if (outcome.counts?.approved !== 1) throw new Error(`not approved: ${outcome.problems[0]?.message}`);
  return ms;
};

let silence = 0;
let last = performance.now();
setInterval(() => {
  const now = performance.now();
  silence = Math.max(silence, now - last);
  last = now;
}, 5).unref();

const alone: number[] = [];
const beside: Record<string, { readonly honest: number[]; readonly silence: number[]; readonly whole: number[] }> = {};
await honestOnce();
for (let run = 0; run < Number(runs); run += 1) {
  alone.push(await honestOnce());
  for (const neighbour of ['contested', 'endless']) {
    beside[neighbour] ??= { honest: [], silence: [], whole: [] };
    silence = 0;
    last = performance.now();
    const hostile = sweepOnce(neighbour);
    // At any moment of the other one's sweep.
    await delay(50 + run * 30);
    beside[neighbour].honest.push(await honestOnce());
    beside[neighbour].whole.push((await hostile).ms);
    beside[neighbour].silence.push(silence);
  }
}
process.stdout.write(JSON.stringify({ alone, beside }), () => process.exit(0));
