import { type LatencyRun, measureLatency } from './approval-latency.ts';
import { benchIsolation } from './isolation.ts';
import { p95, runFleet } from './run-fleet.ts';
import { serveClusters } from './simulated-servers.ts';
import { type Figure, figure } from './statistics.ts';

export interface FleetSize {
  readonly idleClusters: number;
  readonly runs: number;
  readonly byTick: LatencyRun;
}

const SIZE: FleetSize = {
  idleClusters: 1_000,
  runs: 3,
  // With the first tick and the last one: three minutes.
  byTick: { clusters: 20, requests: 100, overSeconds: 120 },
};

/**
 * How long a sweep of a large fleet takes that has nothing to do, how long a request waits for its approval, and what
 * clusters that misbehave cost the others.
 */
export async function benchFleet(say: (text: string) => void, size = SIZE): Promise<Figure[]> {
  const { idleClusters, runs, byTick } = size;
  const seconds: number[] = [];
  const memory: number[] = [];
  say(`starting ${idleClusters} API servers`);
  {
    await using served = await serveClusters(idleClusters, false);
    for (let count = 1; count <= runs; count += 1) {
      say(`run ${count} of ${runs}: ${idleClusters} idle clusters in one process on one core`);
      const { totalMs, sweeps, maxRssMiB } = await runFleet(served.clusters);
      if (sweeps.length !== idleClusters || sweeps.some(({ complete }) => !complete))
        throw new Error('a cluster was not swept');
      seconds.push(totalMs / 1_000);
      memory.push(maxRssMiB);
    }
  }
  say(`${byTick.requests} requests in ${byTick.clusters} clusters, swept once a minute`);
  const ticked = await measureLatency(byTick);
  return [
    figure(`${idleClusters.toLocaleString('en')} idle clusters, one process, one core`, 's', seconds, {
      text: '≤ 60',
      met: (value) => value <= 60,
    }),
    figure('its peak RSS', 'MiB', memory),
    figure('p95 from when a request may be judged to its approval, by tick', 's', [p95(ticked)], {
      text: '≤ 65',
      met: (value) => value <= 65,
    }),
    ...(await benchIsolation(say)),
  ];
}
