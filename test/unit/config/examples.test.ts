import { dirname, resolve } from 'node:path';
import { expect, it } from 'vitest';
import type { Fleet } from '../../../lambdas/config/fleet.ts';
import { exampleFiles } from './fleet-examples.ts';
import { fleet } from './parsing.ts';

function example(name: string): Fleet {
  const [file, text] = exampleFiles().find(([path]) => path === `examples/${name}.yaml`) ?? ['', ''];
  return fleet(text, file);
}

it('is every file of examples/ that this test knows', () => {
  expect(exampleFiles().map(([file]) => file)).toEqual(
    ['eks-anywhere', 'mixed-with-vpc-lane', 'one-account', 'organization'].map((name) => `examples/${name}.yaml`),
  );
});

it.each(exampleFiles())('%s tells editors its schema', (file, text) => {
  const [, schema = ''] = /^# yaml-language-server: \$schema=(.+)\n/.exec(text) ?? [];
  expect(resolve(dirname(file), schema)).toBe(resolve('schema/fleet.schema.json'));
});

it('one-account.yaml finds the clusters of its own account and Region', () => {
  const { discovery, managementClusters, clusters, lanes } = example('one-account');
  expect(discovery).toMatchObject([{ accounts: ['self'], regions: ['self'], exclude: { names: ['sandbox-*'] } }]);
  expect([managementClusters, clusters, lanes]).toEqual([[], [], []]);
});

it('organization.yaml has three accounts besides its own, two Regions and an external id for each strange account', () => {
  const { discovery } = example('organization');
  expect(discovery.flatMap((one) => one.accounts)).toEqual(['self', '111122223333', '444455556666', '777788889999']);
  expect(new Set(discovery.flatMap(({ regions }) => regions))).toEqual(new Set(['eu-central-1', 'eu-west-1']));
  expect(discovery.every(({ accounts, externalId }) => (externalId === undefined) === accounts.includes('self'))).toBe(
    true,
  );
});

it('eks-anywhere.yaml enters workload clusters with secrets of their own and, where it says so, with those of Cluster API', () => {
  const { managementClusters, discovery, rollouts } = example('eks-anywhere');
  expect(rollouts.clusters.map(({ clusters }) => clusters)).toEqual([
    ['berlin-mgmt/eksa-system/berlin-test'],
    ['berlin-mgmt', 'berlin-mgmt/eksa-system/*'],
  ]);
  expect(discovery).toEqual([]);
  expect(managementClusters.map(({ workloadClusters }) => Object.keys(workloadClusters.kubeconfigSecrets))).toEqual([
    ['berlin-prod', 'berlin-test'],
    [],
  ]);
  expect(managementClusters.map(({ workloadClusters }) => workloadClusters.kubeconfigsFromManagementCluster)).toEqual([
    false,
    true,
  ]);
});

it('mixed-with-vpc-lane.yaml has every kind of source, two lanes, and two clusters of one name', () => {
  const { discovery, managementClusters, clusters, lanes } = example('mixed-with-vpc-lane');
  expect(discovery[0]?.lane).toBe('frankfurt');
  expect(managementClusters[0]?.lane).toBe('shops');
  expect(clusters.map(({ id }) => id)).toEqual(['warehouse', 'warehouse-south']);
  expect(lanes.map(({ name }) => name)).toEqual(['frankfurt', 'shops']);
});
