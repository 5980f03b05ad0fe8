import { describe, expect, it } from 'vitest';
import type { FleetCluster, ManagementCluster } from '../../../lambdas/config/fleet.ts';
import type { IndexedCluster } from '../../../lambdas/contracts/fleet-index.ts';
import type { WorkloadCluster } from '../../../lambdas/contracts/outcome.ts';
import type { Registry } from '../../../lambdas/contracts/registry.ts';
import { updateRegistry } from '../../../lambdas/fleet/update-registry.ts';
import { workloadClusters } from '../../../lambdas/fleet/workload-clusters.ts';
import {
  at,
  BERLIN,
  DAY,
  fleetCluster,
  index,
  indexed,
  MINUTE,
  managementCluster,
  NOW,
  OTHER_SECRET,
  SECRET,
} from './values.ts';

const IN_EKSA = { namespace: 'eksa-system', name: 'berlin' };
const IN_TEST = { ...IN_EKSA, namespace: 'test' };
const BOTH = { namespaces: ['eksa-system', 'test'] };
const ID = 'mgmt/eksa-system/berlin';
type Options = Partial<ManagementCluster['workloadClusters']>;

describe('workloadClusters', () => {
  it('has no result before anybody looked', () => {
    expect(workloadClusters({ managementClusters: [managementCluster()], clusters: [] }, undefined, undefined)).toEqual(
      [],
    );
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
    expect(found({ kubeconfigSecrets: { berlin: SECRET } }, [{ ...IN_EKSA, serviceCidrs }])).toEqual([
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

  it('knows where the Cluster of EKS Anywhere of a cluster is', () => {
    const options = { kubeconfigsFromManagementCluster: true, eksAnywhereNamespaces: { berlin: 'team-a' } };
    expect(found(options, [IN_EKSA])).toMatchObject([{ target: { eksAnywhereNamespace: 'team-a' } }]);
    const [other] = found(options, [{ ...IN_EKSA, name: 'constructor' }]);
    expect(other?.target).not.toHaveProperty('eksAnywhereNamespace', expect.anything());
  });

  it('enters a cluster with the kubeconfig of Cluster API only when that is allowed', () => {
    expect(found({ kubeconfigsFromManagementCluster: true }, [IN_EKSA])).toEqual([{ id: ID, target: BERLIN }]);
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
    expect(found({}, [{ namespace: 'eksa-system', name: 'constructor' }])[0]?.problem?.kind).toBe('credentials');
  });

  it('does not sweep the management cluster a second time', () => {
    expect(found({}, [{ namespace: 'eksa-system', name: 'mgmt' }])).toEqual([]);
  });

  it.each<[string, Options]>([
    ['not included', { include: { names: ['paris*'] } }],
    ['excluded', { exclude: { names: ['ber*'] } }],
  ])('does not want what is %s', (_, options) => {
    expect(found(options, [IN_EKSA])).toEqual([{ id: ID, unwanted: true }]);
  });

  it('does not want what fleet.yaml lists as a cluster of the same management cluster', () => {
    const listed = fleetCluster({ name: 'berlin', managementKubeconfigSecret: OTHER_SECRET });
    expect(found({}, [IN_EKSA], [listed])).toEqual([{ id: ID, unwanted: true }]);
    const [elsewhere] = found({}, [IN_EKSA], [{ ...listed, namespace: 'team-a' }]);
    expect(elsewhere).toMatchObject({ id: ID, problem: { kind: 'credentials' } });
    const namesake = fleetCluster({ name: 'berlin' });
    expect(found({}, [IN_EKSA], [namesake])[0]?.unwanted).toBeUndefined();
  });

  it('knows no Cluster of another namespace: anybody may be allowed to make one there', () => {
    const options = { kubeconfigSecrets: { berlin: SECRET } };
    const [real, other] = found(options, [IN_EKSA, IN_TEST]);
    expect(real).toMatchObject({ id: ID, target: { access: { secret: SECRET } } });
    expect(real).not.toHaveProperty('problem', expect.anything());
    expect(other).toEqual({ id: 'mgmt/test/berlin', unwanted: true });
  });

  it('does not guess which of two clusters with one name a secret is for', () => {
    const clusters = found({ ...BOTH, kubeconfigSecrets: { berlin: SECRET } }, [IN_EKSA, IN_TEST]);
    expect(clusters.map(({ id, target, unread, problem }) => [id, target, unread, problem?.kind])).toEqual([
      [ID, undefined, true, 'credentials'],
      ['mgmt/test/berlin', undefined, true, 'credentials'],
    ]);
    const own = found({ ...BOTH, kubeconfigsFromManagementCluster: true }, [IN_EKSA, IN_TEST]);
    expect(own.every(({ target }) => target !== undefined)).toBe(true);
  });

  it('sweeps on what it swept before another cluster of that name came, and not the other one', () => {
    const options = { ...BOTH, kubeconfigSecrets: { berlin: SECRET } };
    const before = updateRegistry(undefined, search(options, [IN_EKSA], undefined), NOW);
    const both = updateRegistry(before, search(options, [IN_EKSA, IN_TEST], before), NOW + MINUTE);
    expect(both.clusters[ID]).toMatchObject({ target: before.clusters[ID]?.target, problem: { kind: 'credentials' } });
    expect(both.clusters['mgmt/test/berlin']?.target).toBeUndefined();
    // The first one goes: for as long as it is swept, its secret is not given away.
    const alone = updateRegistry(both, search(options, [IN_TEST], both), NOW + 2 * MINUTE);
    const later = updateRegistry(alone, search(options, [IN_TEST], alone), NOW + 3 * MINUTE);
    expect(later.clusters[ID]).toMatchObject({ missingSince: at(2 * MINUTE), target: { id: ID } });
    expect(later.clusters['mgmt/test/berlin']).toMatchObject({ problem: { kind: 'credentials' } });
    expect(later.clusters['mgmt/test/berlin']?.target).toBeUndefined();
    const over = updateRegistry(later, search(options, [IN_TEST], later), NOW + 62 * MINUTE);
    const freed = updateRegistry(over, search(options, [IN_TEST], over), NOW + 63 * MINUTE);
    expect(freed.clusters['mgmt/test/berlin']?.target?.access).toEqual({ kind: 'kubeconfig', secret: SECRET });
    // And it keeps what it has.
    const again = updateRegistry(freed, search(options, [IN_TEST], freed), NOW + 64 * MINUTE);
    expect(again.clusters['mgmt/test/berlin']).toMatchObject({ target: freed.clusters['mgmt/test/berlin']?.target });
    expect(again.clusters['mgmt/test/berlin']).not.toHaveProperty('problem', expect.anything());
  });

  it('takes the Cluster of its name in its namespace as itself, and reports others', () => {
    const named = (namespace: string) => ({ namespace, name: 'mgmt' });
    const options = { namespaces: ['a', 'eksa-system'], kubeconfigsFromManagementCluster: true };
    expect(found(options, [named('eksa-system')])).toEqual([]);
    const [other, none] = found(options, [named('a'), named('eksa-system')]);
    expect(other).toMatchObject({ id: 'mgmt/a/mgmt', problem: { kind: 'repeated' } });
    expect([other?.target, none]).toEqual([undefined, undefined]);
  });

  it('concludes nothing from a list that was cut: what is known stays, and nothing new comes', () => {
    const options = { kubeconfigSecrets: { berlin: SECRET } };
    const before = updateRegistry(undefined, search(options, [IN_EKSA], undefined), NOW);
    const cut = { readAt: at(), clusters: [{ namespace: 'eksa-system', name: 'x' }], cut: true as const };
    const swept = indexed('mgmt', { workloadClusters: cut });
    const result = results(options, swept);
    expect(result).toMatchObject([{ ok: false, problem: { kind: 'cut', message: expect.stringContaining('(1 do)') } }]);
    expect(updateRegistry(before, result, NOW + DAY).clusters).toEqual(before.clusters);
  });
});

function results(options: Options, swept: IndexedCluster, clusters: readonly FleetCluster[] = []) {
  return workloadClusters({ managementClusters: [managementCluster(options)], clusters }, index(swept), undefined);
}

function search(options: Options, clusters: readonly WorkloadCluster[], previous: Registry | undefined) {
  const swept = indexed('mgmt', { workloadClusters: { readAt: at(), clusters } });
  return workloadClusters({ managementClusters: [managementCluster(options)], clusters: [] }, index(swept), previous);
}

function found(options: Options, clusters: readonly WorkloadCluster[], listed: readonly FleetCluster[] = []) {
  const swept = indexed('mgmt', { workloadClusters: { readAt: at(), clusters } });
  const [result] = results(options, swept, listed);
  expect(result).toMatchObject({ source: 'cluster-api mgmt', ok: true });
  return result?.clusters ?? [];
}
