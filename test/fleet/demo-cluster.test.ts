import { expect, it } from 'vitest';
import { observeRollout } from '../../lambdas/rollout/observe.ts';
import { fastClock } from './clock.ts';
import { addControlPlane, startDemoCluster } from './demo-cluster.ts';

it('shows all that the plan of a rollout reads', async () => {
  const madrid = await startDemoCluster({ name: 'madrid', provider: 'eks-anywhere', clock: fastClock(Date.now(), 1) });
  try {
    addControlPlane(madrid, { name: 'control-plane-1', dnsNames: ['control-plane-1'], ipAddresses: ['192.0.2.201'] });
    const target = { id: 'madrid', name: 'madrid', management: madrid.target.workload, managesItself: true };
    const observed = await observeRollout(target, AbortSignal.timeout(10_000));
    expect(observed.unread).toEqual([]);
    expect(observed.controlPlane).toMatchObject({ name: 'madrid', replicas: 1, templateFound: true });
    expect(observed.machines).toMatchObject([{ node: 'control-plane-1', owned: true, unhealthy: [] }]);
    expect(observed.healthChecks).toHaveLength(1);
    expect(madrid.server.api.nodes.get('control-plane-1')).toBeDefined();
  } finally {
    await madrid.stop();
  }
});
