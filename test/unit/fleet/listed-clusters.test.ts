import { expect, it } from 'vitest';
import { listedClusters } from '../../../lambdas/fleet/listed-clusters.ts';
import { fleetCluster, managementCluster, OTHER_SECRET, PARIS, SECRET } from './values.ts';

it('finds what fleet.yaml lists, management clusters among it', () => {
  const fleet = {
    managementClusters: [
      {
        ...managementCluster(),
        authenticatorId: 'uuid',
        serviceCidrs: ['10.96.0.0/12'],
        eksAnywhereNamespace: 'platform',
      },
    ],
    clusters: [
      fleetCluster(),
      fleetCluster({
        id: 'two',
        provider: 'eks',
        authenticatorId: 'paris',
        managementKubeconfigSecret: OTHER_SECRET,
        namespace: 'team-a',
        eksAnywhereNamespace: 'team-a',
        lane: 'corp',
      }),
    ],
  };
  expect(listedClusters(fleet)).toEqual({
    source: 'fleet.yaml',
    ok: true,
    clusters: [
      {
        id: 'mgmt',
        target: {
          id: 'mgmt',
          cluster: { name: 'mgmt', provider: 'eks-anywhere', serviceCidrs: ['10.96.0.0/12'] },
          access: { kind: 'kubeconfig', secret: OTHER_SECRET, authenticatorId: 'uuid' },
          management: { namespace: 'eksa-system' },
          eksAnywhereNamespace: 'platform',
          lane: 'onprem',
        },
        managesClusters: ['eksa-system'],
      },
      { id: 'paris', target: PARIS },
      {
        id: 'two',
        target: {
          id: 'two',
          cluster: { name: 'paris', provider: 'eks' },
          access: { kind: 'kubeconfig', secret: SECRET, authenticatorId: 'paris' },
          management: { access: { kind: 'kubeconfig', secret: OTHER_SECRET }, namespace: 'team-a' },
          eksAnywhereNamespace: 'team-a',
          lane: 'corp',
        },
      },
    ],
  });
});
