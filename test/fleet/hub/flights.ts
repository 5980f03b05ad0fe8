import type { SweepCluster } from '../../../lambdas/cluster/minute.ts';

/** Which sweeps are under way, and whether any cluster ever had two. */
export interface Flights {
  readonly around: (sweepOne: SweepCluster) => SweepCluster;
  /** Sweeps under way, by id. */
  readonly under: ReadonlyMap<string, number>;
  /** The most sweeps of one cluster at once, by id. */
  readonly most: ReadonlyMap<string, number>;
  /** How many there were, by id. */
  readonly count: ReadonlyMap<string, number>;
}

export function watchFlights(): Flights {
  const under = new Map<string, number>();
  const most = new Map<string, number>();
  const count = new Map<string, number>();
  const add = (to: Map<string, number>, id: string, number: number): number => {
    const sum = (to.get(id) ?? 0) + number;
    to.set(id, sum);
    return sum;
  };
  return {
    under,
    most,
    count,
    around: (sweepOne) => async (order, signal) => {
      const { id } = order.target;
      add(count, id, 1);
      most.set(id, Math.max(most.get(id) ?? 0, add(under, id, 1)));
      try {
        return await sweepOne(order, signal);
      } finally {
        add(under, id, -1);
      }
    },
  };
}
