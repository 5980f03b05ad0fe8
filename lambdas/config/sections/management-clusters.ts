import { z } from 'zod';
import type { Contract } from '../../contracts/contract.ts';
import { CLUSTER_NAME, DEFAULT_NAMESPACE } from '../../identifiers.ts';
import { LEFT_OUT, leftOutOf, NameSelection, noneByDefault } from '../selection.ts';
import {
  auditOptIns,
  authenticatorIdProblem,
  clusterNamespace,
  eksAnywhereNamespace,
  laneOfCluster,
  name,
  namespace,
  namespaces,
  refusing,
  secretArn,
  section,
  serviceCidrs,
  text,
} from '../values.ts';
import { distinctNames, type Written } from '../written.ts';

/** An entry of `managementClusters`: it is swept, and its workload clusters are discovered. */
const ManagementClusterEntry = z
  .strictObject({
    name: name('management cluster').describe('Name of the management cluster; also its id in the fleet.'),
    kubeconfigSecret: secretArn.meta({
      description: 'Complete ARN of the Secrets Manager secret that holds a kubeconfig of the management cluster.',
      examples: ['arn:aws:secretsmanager:eu-central-1:111122223333:secret:certmarshal/berlin-mgmt-Ef34Gh'],
    }),
    authenticatorId: refusing(text('the UUID of aws-iam-authenticator'), authenticatorIdProblem)
      .exactOptional()
      .meta({
        description:
          'With AWS IAM authentication: clusterID of ConfigMap kube-system/aws-iam-authenticator. The kubeconfig then provides only server and CA.',
        examples: ['0f5b1f0a-7d3c-4e0b-9a53-2f6f0c1d2e3a'],
      }),
    namespace: clusterNamespace,
    lane: laneOfCluster,
    serviceCidrs,
    eksAnywhereNamespace,
    // Also of its workload clusters.
    ...auditOptIns,
    workloadClusters: z
      .strictObject({
        namespaces: namespaces.prefault([DEFAULT_NAMESPACE]).meta({
          description:
            'Namespaces of the management cluster whose Cluster objects count. Anyone who may write to them decides which clusters exist, and which Machines vouch for them. Default: eksa-system, where EKS Anywhere keeps its own.',
          examples: [['eksa-system']],
        }),
        include: NameSelection.prefault({}).describe('Only these workload clusters. Default: all.'),
        exclude: NameSelection.transform(noneByDefault).prefault({}).describe('But not these. Default: none.'),
        kubeconfigSecrets: z
          .record(name('workload cluster'), secretArn)
          .prefault({})
          .meta({
            description: 'By name of the workload cluster: complete ARN of the secret that holds its kubeconfig.',
            examples: [
              {
                'berlin-prod': 'arn:aws:secretsmanager:eu-central-1:111122223333:secret:certmarshal/berlin-prod-Ab12Cd',
              },
            ],
          }),
        eksAnywhereNamespaces: z
          .record(name('workload cluster'), namespace)
          .exactOptional()
          .meta({
            description:
              'By name of the workload cluster: namespace of its EKS Anywhere Cluster, like eksAnywhereNamespace of other clusters.',
            examples: [{ 'berlin-prod': 'default' }],
          }),
        kubeconfigsFromManagementCluster: z
          .boolean()
          .prefault(false)
          .describe(
            "Read the Secret <cluster>-kubeconfig of the management cluster where no secret is named above. It holds an administrator's credentials, so this needs more trust than a separate secret. Default: false.",
          ),
      })
      .prefault({})
      .describe('Its Cluster API workload clusters, and how certmarshal connects to them.'),
  })
  .meta({ title: 'Management cluster' });

/** `managementClusters`: they are swept, and their workload clusters are discovered. */
export const ManagementClusters = section(z.array(ManagementClusterEntry), []).describe(
  'EKS Anywhere and other Cluster API management clusters; their workload clusters are discovered automatically.',
);

export type ManagementCluster = Contract<typeof ManagementClusterEntry>;

export function managementClusterRules({ entries }: Written<typeof ManagementClusters>): void {
  distinctNames(entries);
  for (const entry of entries) {
    const workloads = entry.at('workloadClusters');
    const isLeftOut = leftOutOf(workloads);
    const useless = (key: 'kubeconfigSecrets' | 'eksAnywhereNamespaces', what: string) => {
      const byCluster = workloads.at(key);
      for (const cluster of byCluster.keys)
        if (CLUSTER_NAME.test(cluster) && isLeftOut(cluster))
          byCluster.refuse(`this cluster ${LEFT_OUT}, or remove its ${what}`, cluster);
    };
    useless('kubeconfigSecrets', 'secret');
    useless('eksAnywhereNamespaces', 'namespace');
  }
}
