import { z } from 'zod';
import { matchesGlob } from '../approval/selection.ts';
import { isAuthenticatorUuid } from '../aws/token-server.ts';
import { AUTHENTICATOR_REMEDY, ClusterEntry, ManagementClusterEntry } from './cluster-entries.ts';
import { DiscoveryEntry } from './discovery-entry.ts';
import { type RuleProblem, readable, repeatedNames, type Sections } from './rule.ts';
import { NameSelection } from './values.ts';

const ManagementName = z.object({ name: ManagementClusterEntry.shape.name });
const ClusterId = z.object({ name: ClusterEntry.shape.name, id: ClusterEntry.shape.id });
const Authenticator = z.object({
  provider: z.literal('eks-anywhere'),
  authenticatorId: ClusterEntry.shape.authenticatorId.unwrap(),
});
const AnyAuthenticator = z.object({ authenticatorId: ClusterEntry.shape.authenticatorId.unwrap() });
const Names = NameSelection.strip().optional();
const AccessEntries = z.object({
  include: Names,
  exclude: Names,
  accessEntries: DiscoveryEntry.shape.accessEntries,
});
const ByWorkloadCluster = z.record(ManagementClusterEntry.shape.name, z.unknown()).optional();
const Workloads = z.object({
  workloadClusters: z.object({
    include: Names,
    exclude: Names,
    kubeconfigSecrets: ByWorkloadCluster,
    eksAnywhereNamespaces: ByWorkloadCluster,
  }),
});

export function clusterRules({ discovery, managementClusters, clusters }: Sections): readonly RuleProblem[] {
  return [
    ...repeatedNames('managementClusters', managementClusters, ManagementName),
    ...repeatedIds(managementClusters, clusters),
    ...wrongAuthenticatorIds(clusters),
    ...sharedAuthenticatorIds(managementClusters, clusters),
    ...uselessAccessEntries(discovery),
    ...uselessWorkloads(managementClusters),
  ];
}

/** Two clusters may have one name, but not one id. The id of a management cluster is its name. */
function repeatedIds(managementClusters: readonly unknown[], clusters: readonly unknown[]): readonly RuleProblem[] {
  const first = new Map<string, string>();
  for (const { index, data } of readable(managementClusters, ManagementName))
    if (!first.has(data.name)) first.set(data.name, `managementClusters[${index}]`);
  return readable(clusters, ClusterId).flatMap(({ index, data: { name, id } }) => {
    const own = id ?? name;
    const earlier = first.get(own);
    if (earlier === undefined) {
      first.set(own, `clusters[${index}]`);
      return [];
    }
    const message =
      id === undefined
        ? `"${own}" is the id of ${earlier} too; give one of them an id`
        : `"${own}" is the id of ${earlier} too; give one of them another id`;
    return [{ path: ['clusters', index, id === undefined ? 'name' : 'id'], message }];
  });
}

function wrongAuthenticatorIds(clusters: readonly unknown[]): readonly RuleProblem[] {
  return readable(clusters, Authenticator).flatMap(({ index, data: { authenticatorId } }) =>
    isAuthenticatorUuid(authenticatorId)
      ? []
      : [{ path: ['clusters', index, 'authenticatorId'], message: `"${authenticatorId}" ${AUTHENTICATOR_REMEDY}` }],
  );
}

/** A token is good for every cluster with the id that it was signed for: who runs one of two could enter the other with it. */
function sharedAuthenticatorIds(
  managementClusters: readonly unknown[],
  clusters: readonly unknown[],
): readonly RuleProblem[] {
  const first = new Map<string, string>();
  const sections = Object.entries({ managementClusters, clusters });
  return sections.flatMap(([section, entries]) =>
    readable(entries, AnyAuthenticator).flatMap(({ index, data: { authenticatorId } }) => {
      const id = authenticatorId.toLowerCase();
      const earlier = first.get(id);
      if (earlier !== undefined)
        return [
          {
            path: [section, index, 'authenticatorId'],
            message: `"${authenticatorId}" is the authenticatorId of ${earlier} too, and a token for one would be good for both; give each its own, or leave it out and put a token of a ServiceAccount in the kubeconfig`,
          },
        ];
      first.set(id, `${section}[${index}]`);
      return [];
    }),
  );
}

/** Entries for clusters that are never swept. Their tags nobody knows here. */
function uselessAccessEntries(discovery: readonly unknown[]): readonly RuleProblem[] {
  return readable(discovery, AccessEntries).flatMap(({ index, data: { include, exclude, accessEntries } }) =>
    accessEntries.flatMap((cluster, at) =>
      isLeftOut(cluster, include, exclude)
        ? [{ path: ['discovery', index, 'accessEntries', at], message: `"${cluster}" ${LEFT_OUT}, or remove it here` }]
        : [],
    ),
  );
}

function uselessWorkloads(managementClusters: readonly unknown[]): readonly RuleProblem[] {
  return readable(managementClusters, Workloads).flatMap(({ index, data: { workloadClusters } }) => {
    const { include, exclude, kubeconfigSecrets, eksAnywhereNamespaces } = workloadClusters;
    const useless = (key: string, byCluster: object = {}, what: string): readonly RuleProblem[] =>
      Object.keys(byCluster).flatMap((cluster) =>
        isLeftOut(cluster, include, exclude)
          ? [
              {
                path: ['managementClusters', index, 'workloadClusters', key, cluster],
                message: `this cluster ${LEFT_OUT}, or remove its ${what}`,
              },
            ]
          : [],
      );
    return [
      ...useless('kubeconfigSecrets', kubeconfigSecrets, 'secret'),
      ...useless('eksAnywhereNamespaces', eksAnywhereNamespaces, 'namespace'),
    ];
  });
}

const LEFT_OUT = 'is left out by the names of include or exclude, so it is never swept; change these';

type Selection = z.output<typeof Names>;

function isLeftOut(name: string, include: Selection, exclude: Selection): boolean {
  return !isNamed(name, include?.names ?? ['*']) || isNamed(name, exclude?.names ?? []);
}

function isNamed(name: string, globs: readonly string[]): boolean {
  return globs.some((glob) => matchesGlob(glob, name));
}
