import type { ClusterRecovererOptions, RecoverCluster } from '../fleet/cluster-recoverer.ts';
import { once } from './once.ts';

/** Sweeps recovery windows with code that is loaded at the first one: hardly ever is one open, and a new function must not wait for it to approve. */
export function lateRecoverer(options: Pick<ClusterRecovererOptions, 'program' | 'clock'>): RecoverCluster {
  const recoverer = once(async () => {
    const { createClusterRecoverer } = await import('../fleet/cluster-recoverer.ts');
    return createClusterRecoverer(options);
  });
  return async (due) => (await recoverer())(due);
}
