import type { ClusterRecovererOptions, RecoverCluster } from '../fleet/cluster-recoverer.ts';

/** Sweeps recovery windows with code that is loaded at the first one: hardly ever is one open, and a new function must not wait for it to approve. */
export function lateRecoverer(options: Pick<ClusterRecovererOptions, 'program' | 'clock'>): RecoverCluster {
  let loaded: Promise<RecoverCluster> | undefined;
  const load = async (): Promise<RecoverCluster> => {
    const { createClusterRecoverer } = await import('../fleet/cluster-recoverer.ts');
    return createClusterRecoverer(options);
  };
  return async (due) => {
    loaded ??= load();
    return (await loaded)(due);
  };
}
