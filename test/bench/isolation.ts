import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { HUB_SIZES } from '../../lambdas/hub-sizes.ts';
import { lambdaNode } from '../support/lambda-node.ts';
import { bundled } from './bundled.ts';
import { p95, runFleet } from './run-fleet.ts';
import { serveClusters } from './simulated-servers.ts';
import { type Figure, figure, median } from './statistics.ts';

const run = promisify(execFile);
const CLUSTERS = 200;
const RUNS = 3;
/** What hangs is given up after half a second instead of ten, only so that the run ends. */
const TIME_SCALE = 0.05;
/** The first one opens what stays open, warms the code and shows who misbehaves. */
const ROUNDS = 4;
const SWEEPS = 20;
/** What a neighbour may cost that does its worst. */
const WORST = { times: 1.5, ms: 100 };

/** How much of the healthy clusters' time those take that hang, drip, lie or fail, in the same batches of the same process. */
export async function benchIsolation(say: (text: string) => void): Promise<Figure[]> {
  const alone: number[] = [];
  const beside: number[] = [];
  const healthy = (id: string) => Number(id.split('-')[1]) % 5 !== 0;
  for (let count = 1; count <= RUNS; count += 1)
    for (const faulty of [false, true]) {
      say(`run ${count} of ${RUNS}, ${faulty ? '20 % misbehave' : 'all healthy'}`);
      await using served = await serveClusters(CLUSTERS, faulty);
      const { sweeps } = await runFleet(served.clusters, { rounds: ROUNDS, timeScale: TIME_SCALE });
      const measured = sweeps.slice(CLUSTERS).filter(({ id }) => healthy(id));
      const failed = measured.find(({ complete }) => !complete);
      if (failed !== undefined) throw new Error(`healthy ${failed.id} was not swept: ${failed.problem}`);
      (faulty ? beside : alone).push(p95(measured.map(({ ms }) => ms)));
    }
  return [
    figure('p95 of 160 healthy clusters, 40 more are healthy', 'ms', alone),
    figure('p95 of 160 healthy clusters, 40 more hang, drip, lie or fail', 'ms', beside),
    figure(
      'ratio of the two',
      '×',
      beside.map((value, index) => value / (alone[index] ?? Number.NaN)),
      { text: '≤ 1.10', met: (ratio) => ratio <= 1.1 },
    ),
    ...(await benchNeighbours(say)),
  ];
}

interface Neighbours {
  readonly alone: readonly number[];
  readonly beside: Readonly<
    Record<string, { readonly honest: readonly number[]; readonly silence: readonly number[] }>
  >;
}

const WHAT: Readonly<Record<string, { readonly text: string; readonly hasGoal: boolean }>> = {
  contested: { text: '20,000 Machines of the same names, requests of 1,024', hasGoal: true },
  // One page is parsed in one piece, and each step of the honest one may wait for a page.
  endless: { text: 'endless pages that are hard to parse', hasGoal: false },
};

/** What an honest cluster takes beside one that wants to hold the thread. */
async function benchNeighbours(say: (text: string) => void): Promise<Figure[]> {
  say(`${SWEEPS} sweeps beside clusters that hold the thread`);
  const { alone, beside } = await neighbours();
  const usual = median(alone);
  const most = Math.max(WORST.times * usual, usual + WORST.ms);
  return [
    figure('one honest cluster alone', 'ms', alone),
    ...Object.entries(beside).flatMap(([kind, { honest, silence }]) => [
      figure(
        `beside ${WHAT[kind]?.text ?? kind}`,
        'ms',
        honest,
        WHAT[kind]?.hasGoal === true ? { text: `≤ ${Math.round(most)}`, met: (value) => value <= most } : undefined,
      ),
      figure('longest silence of the thread then', 'ms', silence),
    ]),
  ];
}

async function neighbours(): Promise<Neighbours> {
  const directory = await mkdtemp(join(tmpdir(), 'certmarshal-bench-'));
  const servers = new URL('./neighbour-servers.ts', import.meta.url).pathname;
  const child = spawn('taskset', ['-c', '1', process.execPath, servers], { stdio: ['pipe', 'pipe', 'inherit'] });
  try {
    const [kubeconfigs] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
    const file = join(directory, 'kubeconfigs.json');
    await writeFile(file, kubeconfigs);
    const program = await bundled('neighbour-process', directory);
    const node = [process.execPath, ...lambdaNode(HUB_SIZES.sweep.memoryMiB), program, file, `${SWEEPS}`];
    const { stdout } = await run('taskset', ['-c', '0', ...node], { maxBuffer: 2 ** 26 });
    return JSON.parse(stdout.slice(stdout.lastIndexOf('\n') + 1));
  } finally {
    child.stdin.end();
    await rm(directory, { recursive: true });
  }
}
