import { runFleet } from './run-fleet.ts';
import { serveClusters } from './simulated-servers.ts';
import { type Figure, figure } from './statistics.ts';

const CLUSTERS = 10;
const ROUNDS = 500;
const WARM = 50;

/** Heap of one process over 500 consecutive sweeps of a batch, two of whose ten clusters misbehave. */
export async function benchLeak(say: (text: string) => void): Promise<Figure[]> {
  say(`${ROUNDS} sweeps of a batch of ${CLUSTERS}`);
  await using served = await serveClusters(CLUSTERS, true);
  const { heaps, maxRssMiB } = await runFleet(served.clusters, { rounds: ROUNDS, timeScale: 0.015 });
  const mean = (values: readonly number[]) => values.reduce((sum, next) => sum + next, 0) / values.length;
  const before = mean(heaps.slice(WARM, WARM + 50));
  const after = mean(heaps.slice(-50));
  return [
    figure('heap after garbage collection, sweeps 50 to 100', 'MiB', [before]),
    figure('heap after garbage collection, sweeps 450 to 500', 'MiB', [after]),
    figure('growth', '×', [after / before], { text: '≤ 1.10', met: (ratio) => ratio <= 1.1 }),
    figure('peak RSS', 'MiB', [maxRssMiB]),
  ];
}
