import { z } from 'zod';
import type { Contract } from '../../contracts/contract.ts';
import { CLUSTER_NAME, PROVIDERS } from '../../identifiers.ts';
import {
  auditOptIns,
  authenticatorIdProblem,
  clusterId,
  clusterNamespace,
  eksAnywhereNamespace,
  laneOfCluster,
  matching,
  name,
  requiredSecretArn,
  secretArn,
  section,
  serviceCidrs,
} from '../values.ts';
import { repeats, type Written } from '../written.ts';
import type { ManagementClusters } from './management-clusters.ts';

/** An entry of `clusters`. */
const ClusterEntry = z
  .strictObject({
    name: name('cluster').describe(
      'The name of the cluster in EKS, EKS Anywhere or Cluster API. EC2 tags are compared with it.',
    ),
    id: clusterId.exactOptional().meta({
      description: 'Distinguishes two clusters with the same name in metrics and reports. Default: the name.',
      examples: ['berlin-prod-2'],
    }),
    provider: z.enum(PROVIDERS).describe('How the cluster is run.'),
    kubeconfigSecret: requiredSecretArn(
      '; an EKS cluster needs none: list its account and Region under discovery instead, and its name under include.names',
    ).meta({
      description: 'Complete ARN of the Secrets Manager secret that holds a kubeconfig of the cluster.',
      examples: ['arn:aws:secretsmanager:eu-central-1:111122223333:secret:certmarshal/berlin-prod-Ab12Cd'],
    }),
    authenticatorId: matching(
      'the cluster id of aws-iam-authenticator',
      CLUSTER_NAME,
      'is not a cluster id of aws-iam-authenticator; write a UUID on eks-anywhere, the name of the cluster on eks',
    )
      .exactOptional()
      .meta({
        description:
          'With AWS IAM authentication: clusterID of ConfigMap kube-system/aws-iam-authenticator on EKS Anywhere, the name of the cluster on EKS. The kubeconfig then provides only server and CA.',
        examples: ['0f5b1f0a-7d3c-4e0b-9a53-2f6f0c1d2e3a'],
      }),
    managementKubeconfigSecret: secretArn
      .exactOptional()
      .describe(
        'Complete ARN of the secret with a kubeconfig of the management cluster, where the Cluster API Machines of this cluster are. Without it an EKS Anywhere cluster is its own management cluster, and an EKS cluster has none.',
      ),
    namespace: clusterNamespace,
    eksAnywhereNamespace,
    serviceCidrs,
    lane: laneOfCluster,
    ...auditOptIns,
  })
  .meta({ title: 'Cluster' })
  .transform((entry) => ({ ...entry, id: entry.id ?? entry.name }));

/** `clusters`: listed clusters. */
export const Clusters = section(z.array(ClusterEntry), []).describe('Clusters listed one by one.');

export type FleetCluster = Contract<typeof ClusterEntry>;

/** Opt-ins of the audit of a cluster that need further rights. */
export type AuditOptIns = Pick<FleetCluster, keyof typeof auditOptIns>;

/** @param managementClusters whose ids and authenticator ids must differ too */
export function clusterRules(
  { entries: clusters }: Written<typeof Clusters>,
  { entries: managementClusters }: Written<typeof ManagementClusters>,
): void {
  distinctIds(clusters, managementClusters);
  for (const entry of clusters) {
    const { provider, authenticatorId } = entry.pick('provider', 'authenticatorId') ?? {};
    const wrong =
      provider === 'eks-anywhere' && authenticatorId !== undefined
        ? authenticatorIdProblem(authenticatorId)
        : undefined;
    if (wrong !== undefined) entry.refuse(`"${authenticatorId}" ${wrong}`, 'authenticatorId');
  }
  // A token is valid for every cluster with its id: an administrator of one of two could enter the other with it.
  const ids = [
    ...managementClusters.map((entry) => ({ entry, id: entry.at('authenticatorId').valid })),
    ...clusters.map((entry) => ({ entry, id: entry.at('authenticatorId').valid })),
  ];
  for (const [{ entry, id }, first] of repeats(ids, ({ id: own }) => own?.toLowerCase()))
    entry.refuse(
      `"${id}" is the authenticatorId of ${first.entry.place} too, and a token for one would be valid for both; give each its own, or leave it out and put a token of a ServiceAccount in the kubeconfig`,
      'authenticatorId',
    );
}

/** Two clusters may have one name, but not one id. The id of a management cluster is its name. */
function distinctIds(
  clusters: readonly Written<typeof ClusterEntry>[],
  managementClusters: Written<typeof ManagementClusters>['entries'],
): void {
  const ids = [
    ...managementClusters.map((entry) => ({ entry, id: entry.at('name').valid, said: undefined })),
    ...clusters.map((entry) => {
      const { name: ofName, id } = entry.pick('name', 'id') ?? {};
      return { entry, id: id ?? ofName, said: id === undefined ? 'name' : 'id' };
    }),
  ];
  for (const [{ entry, said }, first, id] of repeats(ids, (each) => each.id))
    if (said !== undefined)
      entry.refuse(
        `"${id}" is the id of ${first.entry.place} too; give one of them ${said === 'id' ? 'another' : 'an'} id`,
        said,
      );
}
