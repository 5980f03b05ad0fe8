import { describe, expect, it } from 'vitest';
import type { FleetCluster, ManagementCluster } from '../../../lambdas/config/fleet.ts';
import type { IndexedCluster } from '../../../lambdas/fleet/fleet-index.ts';
import type { WorkloadCluster } from '../../../lambdas/fleet/outcome.ts';
import { workloadClusters } from '../../../lambdas/fleet/workload-clusters.ts';
import { at, BERLIN, fleetCluster, index, indexed, MINUTE, managementCluster, OTHER_SECRET, SECRET } from './values.ts';

const IN_EKSA = { namespace: 'eksa-system', name: 'berlin' };
const ID = 'mgmt/eksa-system/berlin';
type Options = Partial<ManagementCluster['workloadClusters']>;

describe('workloadClusters', () => {
  it('has no result before anybody looked', () => {
    expect(workloadClusters({ managementClusters: [managementCluster()], clusters: [] }, undefined)).toEqual([]);
    expect(results({}, indexed('other'))).toEqual([]);
    expect(results({}, indexed('mgmt'))).toEqual([]);
  });

  it('fails while the management cluster cannot be read, and says what to do', () => {
    const swept = indexed('mgmt', { readable: false, workloadClusters: { readAt: at(), clusters: [IN_EKSA] } });
    expect(results({}, swept)).toMatchObject([
      {
        source: 'cluster-api mgmt',
        ok: false,
        problem: { kind: 'unreadable', remedy: expect.stringContaining('mgmt') },
      },
    ]);
  });

  it.each([
    [30 * MINUTE, true],
    [30 * MINUTE + 1, false],
  ])('with a list that is %d ms older than the newest sweep, ok is %s', (age, ok) => {
    const swept = indexed('mgmt', { workloadClusters: { readAt: at(-age), clusters: [] } });
    expect(results({}, swept).map((result) => result.ok)).toEqual([ok]);
  });

  it('enters a cluster with the secret that is named for it', () => {
    const serviceCidrs = ['10.96.0.0/12'];
    expect(found({ kubeconfigSecrets: { berlin: SECRET } }, [{ ...IN_EKSA, serviceCidrs }])).toStrictEqual([
      {
        id: ID,
        target: {
          ...BERLIN,
          cluster: { ...BERLIN.cluster, serviceCidrs },
          access: { kind: 'kubeconfig', secret: SECRET },
        },
      },
    ]);
  });

  it('enters a cluster with the kubeconfig of Cluster API only when that is allowed', () => {
    expect(found({ kubeconfigsFromManagementCluster: true }, [IN_EKSA])).toStrictEqual([{ id: ID, target: BERLIN }]);
    const [cluster] = found({}, [IN_EKSA]);
    expect(cluster?.target).toBeUndefined();
    expect(cluster?.problem).toMatchObject({ kind: 'credentials', object: `cluster ${ID}` });
    for (const part of [
      'certmarshal credentials create --kubeconfig',
      '--store secretsmanager:certmarshal/berlin',
      'workloadClusters.kubeconfigSecrets.berlin',
      'kubeconfigsFromManagementCluster: true',
    ])
      expect(cluster?.problem?.remedy).toContain(part);
  });

  it('does not take the secret of another object for one that is named like a member of every object', () => {
    expect(found({}, [{ namespace: 'n', name: 'constructor' }])[0]?.problem?.kind).toBe('credentials');
  });

  it('does not sweep the management cluster a second time', () => {
    expect(found({}, [{ namespace: 'eksa-system', name: 'mgmt' }])).toEqual([]);
  });

  it.each<[string, Options]>([
    ['not included', { include: { names: ['paris*'] } }],
    ['excluded', { exclude: { names: ['ber*'] } }],
  ])('does not want what is %s', (_, options) => {
    expect(found(options, [IN_EKSA])).toStrictEqual([{ id: ID, unwanted: true }]);
  });

  it('does not want what fleet.yaml lists as a cluster of the same management cluster', () => {
    const listed = fleetCluster({ name: 'berlin', managementKubeconfigSecret: OTHER_SECRET });
    expect(found({}, [IN_EKSA], [listed])).toStrictEqual([{ id: ID, unwanted: true }]);
    const namesake = fleetCluster({ name: 'berlin' });
    expect(found({}, [IN_EKSA], [namesake])[0]?.unwanted).toBeUndefined();
  });

  it('does not guess which of two clusters with one name a secret is for', () => {
    const two = [IN_EKSA, { ...IN_EKSA, namespace: 'test' }];
    const clusters = found({ kubeconfigSecrets: { berlin: SECRET } }, two);
    expect(clusters.map(({ id, target, problem }) => [id, target, problem?.kind])).toEqual([
      [ID, undefined, 'credentials'],
      ['mgmt/test/berlin', undefined, 'credentials'],
    ]);
    expect(found({ kubeconfigsFromManagementCluster: true }, two).every(({ target }) => target !== undefined)).toBe(
      true,
    );
  });
});

function results(options: Options, swept: IndexedCluster, clusters: readonly FleetCluster[] = []) {
  return workloadClusters({ managementClusters: [managementCluster(options)], clusters }, index(swept));
}

function found(options: Options, clusters: readonly WorkloadCluster[], listed: readonly FleetCluster[] = []) {
  const swept = indexed('mgmt', { workloadClusters: { readAt: at(), clusters } });
  const [result] = results(options, swept, listed);
  expect(result).toMatchObject({ source: 'cluster-api mgmt', ok: true });
  return result?.clusters ?? [];
}
