import { describe, expect, it } from 'vitest';
import { describedCluster } from '../../../lambdas/fleet/eks-target.ts';
import { listedClusters } from '../../../lambdas/fleet/listed-clusters.ts';
import { targetAudit } from '../../../lambdas/fleet/target-audit.ts';
import { workloadClusters } from '../../../lambdas/fleet/workload-clusters.ts';
import { at, discovery, eksCluster, fleetCluster, index, indexed, managementCluster, SECRET } from './values.ts';

const BOTH = { auditSecrets: true, kubeletMetrics: true };
const AUDIT = { secrets: true, kubeletMetrics: true };

describe('what an audit may read', () => {
  it.each([
    [{}, {}],
    [{ auditSecrets: false, kubeletMetrics: false }, {}],
    [{ auditSecrets: true }, { audit: { secrets: true } }],
    [{ auditSecrets: false, kubeletMetrics: true }, { audit: { kubeletMetrics: true } }],
    [BOTH, { audit: AUDIT }],
  ])('is by %o', (entry, target) => {
    expect(targetAudit(entry)).toEqual(target);
  });

  it('is what the entry of a listed cluster opts in to', () => {
    const fleet = { managementClusters: [{ ...managementCluster(), ...BOTH }], clusters: [fleetCluster(BOTH)] };
    expect(listedClusters(fleet).clusters?.map(({ target }) => target?.audit)).toEqual([AUDIT, AUDIT]);
  });

  it('is for workload clusters what their management cluster opts in to', () => {
    const management = { ...managementCluster({ kubeconfigSecrets: { w: SECRET } }), ...BOTH };
    const found = { readAt: at(), clusters: [{ namespace: 'eksa-system', name: 'w' }] };
    const seen = index(indexed('mgmt', { workloadClusters: found }));
    const [source] = workloadClusters({ managementClusters: [management], clusters: [] }, seen, undefined);
    expect(source?.clusters?.map(({ target }) => target?.audit)).toEqual([AUDIT]);
  });

  it('is for a discovered cluster what the first discovery that wants it opts in to', () => {
    const source = {
      scope: { account: '111122223333', region: 'eu-central-1' },
      entries: [discovery({ include: { names: ['oslo'] } }), discovery(BOTH)],
    };
    expect(describedCluster(source, eksCluster(), 'id', []).target?.audit).toEqual(AUDIT);
    expect(describedCluster(source, eksCluster({ name: 'oslo' }), 'id', []).target?.audit).toBeUndefined();
  });
});
