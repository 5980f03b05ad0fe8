import { p95, runFleet } from './run-fleet.ts';
import { serveClusters } from './simulated-servers.ts';
import { type Figure, figure } from './statistics.ts';

const CLUSTERS = 200;
const RUNS = 3;
/** What hangs is given up after a second instead of ten, only so that the run ends. */
const TIME_SCALE = 0.1;
/** The first two warm the code and show who misbehaves. */
const ROUNDS = 6;
const MEASURED_FROM = 2 * CLUSTERS;

/** How long healthy clusters take beside those that hang, drip, lie or fail, in shards of the same process. */
export async function benchIsolation(say: (text: string) => void): Promise<Figure[]> {
  const alone: number[] = [];
  const beside: number[] = [];
  const isHealthy = (id: string) => Number(id.split('-')[1]) % 5 !== 0;
  for (let count = 1; count <= RUNS; count += 1)
    for (const faulty of [false, true]) {
      say(`run ${count} of ${RUNS}: ${CLUSTERS} clusters, ${faulty ? '20 % misbehave' : 'all healthy'}`);
      await using served = await serveClusters(CLUSTERS, faulty);
      const { sweeps } = await runFleet(served.clusters, { rounds: ROUNDS, timeScale: TIME_SCALE });
      const measured = sweeps.slice(MEASURED_FROM).filter(({ id }) => isHealthy(id));
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
  ];
}
