import { type Problem, problemOf } from '../contracts/problem.ts';
import { MAX_CIDRS } from '../identifiers.ts';
import { printable } from '../printable.ts';
import { readCluster } from '../resources/cluster.ts';
import { text } from '../resources/fields.ts';
import type { KubernetesClient } from './client.ts';
import { CLUSTER_NAME } from './cluster-api.ts';
import { KubernetesError } from './errors.ts';
import { listKind } from './list.ts';

/** Far above any known management cluster. */
const MAX_CLUSTERS = 1_000;
const SHOWN = 3;

/** A `Cluster` of Cluster API. */
export interface WorkloadClusterObject {
  readonly namespace: string;
  readonly name: string;
  /** `spec.clusterNetwork.services.cidrBlocks`; absent if there are none, or one is invalid. */
  readonly serviceCidrs?: readonly string[];
}

export interface WorkloadClusterList {
  readonly clusters: readonly WorkloadClusterObject[];
  /** There are more than 1,000: the rest was not read. */
  readonly cut: boolean;
  /** Problems of Clusters that are dropped, or whose service CIDRs are. */
  readonly problems: readonly Problem[];
}

/**
 * The Cluster API Clusters in these namespaces of a management cluster. A few hundred bytes of each are kept. An
 * unusable one is its own problem and never that of others: a user who may write one Cluster must not be able to hide
 * the rest.
 *
 * @throws KubernetesError; `not-found` if the server does not serve Cluster API
 */
export async function listWorkloadClusters(
  client: KubernetesClient,
  namespaces: readonly string[],
  signal: AbortSignal,
): Promise<WorkloadClusterList> {
  const object = `list clusters on ${client.server}`;
  const clusters: WorkloadClusterObject[] = [];
  const nameless: string[] = [];
  const withoutCidrs: string[] = [];
  const skipped: Problem[] = [];
  let seen = 0;
  const result = (cut: boolean): WorkloadClusterList => ({
    clusters,
    cut,
    problems: [
      ...(seen > MAX_CLUSTERS ? [tooMany(object)] : []),
      ...skipped,
      ...unusable(nameless, object, NAMELESS),
      ...unusable(withoutCidrs, object, WITHOUT_CIDRS),
    ],
  });
  for (const namespace of new Set(namespaces)) {
    try {
      for await (const page of listKind(client, 'clusters', { namespace, signal })) {
        for (const item of page) {
          seen += 1;
          if (seen > MAX_CLUSTERS) return result(true);
          const cluster = readCluster(item);
          if (cluster?.namespace !== namespace || !CLUSTER_NAME.test(cluster.name)) {
            nameless.push(`${namespace}/${printable(text(item, 'metadata', 'name') ?? '(without a name)', 100)}`);
            continue;
          }
          const { name, serviceCidrs } = cluster;
          if (serviceCidrs === 'unusable') withoutCidrs.push(`${namespace}/${name}`);
          const known = serviceCidrs !== 'unusable' && serviceCidrs.length > 0;
          clusters.push({ namespace, name, serviceCidrs: known ? serviceCidrs : undefined });
        }
      }
    } catch (error) {
      if (!(error instanceof KubernetesError) || error.skipped === undefined) throw error;
      skipped.push(problemOf(error));
      const names = error.skipped.items.flatMap(({ name = '' }) => (CLUSTER_NAME.test(name) ? [name] : []));
      if (names.length < error.skipped.count || clusters.length + names.length > MAX_CLUSTERS) return result(true);
      clusters.push(...names.map((name) => ({ namespace, name, serviceCidrs: undefined })));
    }
  }
  return result(false);
}

interface Unusable {
  readonly what: string;
  readonly remedy: string;
}

const NAMELESS: Unusable = {
  what: 'not swept, because its name is not valid for a cluster of EKS Anywhere',
  remedy: 'Use at most 63 lowercase letters, digits, "-" and "." in the name.',
};
const WITHOUT_CIDRS: Unusable = {
  what: `swept without its service CIDRs, because spec.clusterNetwork.services.cidrBlocks is not a list of at most ${MAX_CIDRS} CIDRs`,
  remedy:
    'Fix that field of the Cluster, or list the cluster under clusters in fleet.yaml, with its serviceCidrs; policies that trust Nodes prove nothing for it until then.',
};

function unusable(names: readonly string[], object: string, { what, remedy }: Unusable): readonly Problem[] {
  if (names.length === 0) return [];
  const more = names.length > SHOWN ? ` and ${names.length - SHOWN} more` : '';
  return [
    {
      kind: 'workload-clusters',
      object,
      message: `each of these Clusters is ${what}: ${names.slice(0, SHOWN).join(', ')}${more}`,
      remedy,
    },
  ];
}

function tooMany(object: string): Problem {
  return {
    kind: 'workload-clusters',
    object,
    message: `there are more than ${MAX_CLUSTERS} Clusters, and the others are ignored`,
    remedy:
      'Find out who creates so many Clusters, or name fewer namespaces at workloadClusters.namespaces in fleet.yaml.',
  };
}
