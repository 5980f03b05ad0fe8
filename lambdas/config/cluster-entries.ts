import { z } from 'zod';
import { isAuthenticatorUuid } from '../aws/token-server.ts';
import { CLUSTER_NAME, DEFAULT_NAMESPACE, PROVIDERS } from '../identifiers.ts';
import { DEFAULT_LANE } from './fleet.ts';
import {
  auditOptIns,
  clusterId,
  clusterNamespace,
  laneName,
  matching,
  NameSelection,
  name,
  namespace,
  namespaces,
  refusing,
  secretArn,
  serviceCidrs,
  text,
} from './values.ts';

export const AUTHENTICATOR_REMEDY =
  'is no UUID, and EKS Anywhere makes one; write the clusterID of ConfigMap kube-system/aws-iam-authenticator';

const lane = laneName
  .prefault(DEFAULT_LANE)
  .meta({ description: 'Lane that it is swept from. Default: the one outside of every VPC.' });

const serviceCidrsOfCluster = serviceCidrs.exactOptional().meta({
  description:
    'Service CIDRs of the cluster. Their addresses are never approved for a node, whatever the evidence says.',
  examples: [['10.96.0.0/12']],
});

const eksAnywhereNamespace = namespace.exactOptional().meta({
  description:
    'Namespace of the Cluster of EKS Anywhere (clusters.anywhere.eks.amazonaws.com) of this cluster, on the management cluster: the annotations of that one count for rollouts. Write it where others may create such Clusters. Default: the only one of its name; while there are two, the opt-in of neither counts.',
  examples: ['default'],
});

/** An entry of `managementClusters`: it is swept, and its workload clusters are found by themselves. */
export const ManagementClusterEntry = z
  .strictObject({
    name: name('management cluster').meta({ description: 'Name of the management cluster; also its id in the fleet.' }),
    kubeconfigSecret: secretArn.meta({
      description: 'Complete ARN of the Secrets Manager secret that holds a kubeconfig of the management cluster.',
      examples: ['arn:aws:secretsmanager:eu-central-1:111122223333:secret:certmarshal/berlin-mgmt-Ef34Gh'],
    }),
    authenticatorId: refusing(text('the UUID of aws-iam-authenticator'), (id) =>
      isAuthenticatorUuid(id) ? undefined : AUTHENTICATOR_REMEDY,
    )
      .exactOptional()
      .meta({
        description:
          'With AWS IAM authentication: clusterID of ConfigMap kube-system/aws-iam-authenticator. The kubeconfig then tells only server and CA.',
        examples: ['0f5b1f0a-7d3c-4e0b-9a53-2f6f0c1d2e3a'],
      }),
    namespace: clusterNamespace,
    lane,
    serviceCidrs: serviceCidrsOfCluster,
    eksAnywhereNamespace,
    // Also of its workload clusters.
    ...auditOptIns,
    workloadClusters: z
      .strictObject({
        namespaces: namespaces.prefault([DEFAULT_NAMESPACE]).meta({
          description:
            'Namespaces of the management cluster whose Cluster objects count. Whoever may write to them decides which clusters there are, and which Machines vouch for them. Default: eksa-system, where EKS Anywhere keeps its own.',
          examples: [['eksa-system']],
        }),
        include: NameSelection.prefault({}).meta({ description: 'Only these workload clusters. Default: all.' }),
        exclude: NameSelection.prefault({}).meta({ description: 'But not these. Default: none.' }),
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
              'By name of the workload cluster: namespace of its Cluster of EKS Anywhere, as eksAnywhereNamespace says it of other clusters.',
            examples: [{ 'berlin-prod': 'default' }],
          }),
        kubeconfigsFromManagementCluster: z.boolean().prefault(false).meta({
          description:
            "Read the Secret <cluster>-kubeconfig of the management cluster where no secret is named above. It is an administrator's, so this needs more trust than a secret of its own. Default: false.",
        }),
      })
      .prefault({})
      .meta({ description: 'Its Cluster API workload clusters, and how they are entered.' }),
  })
  .meta({ title: 'Management cluster' });

/** An entry of `clusters`. */
export const ClusterEntry = z
  .strictObject({
    name: name('cluster').meta({
      description:
        'The name that EKS, EKS Anywhere or Cluster API knows the cluster by. EC2 tags are compared with it.',
    }),
    id: clusterId.exactOptional().meta({
      description: 'Tells two clusters of one name apart, in metrics and reports. Default: the name.',
      examples: ['berlin-prod-2'],
    }),
    provider: z.enum(PROVIDERS).meta({ description: 'How the cluster is run.' }),
    kubeconfigSecret: secretArn.meta({
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
          'With AWS IAM authentication: clusterID of ConfigMap kube-system/aws-iam-authenticator on EKS Anywhere, the name of the cluster on EKS. The kubeconfig then tells only server and CA.',
        examples: ['0f5b1f0a-7d3c-4e0b-9a53-2f6f0c1d2e3a'],
      }),
    managementKubeconfigSecret: secretArn.exactOptional().meta({
      description:
        'Complete ARN of the secret with a kubeconfig of the management cluster, where the Cluster API Machines of this cluster are. Without it an EKS Anywhere cluster is its own management cluster, and an EKS cluster has none.',
    }),
    namespace: clusterNamespace,
    eksAnywhereNamespace,
    serviceCidrs: serviceCidrsOfCluster,
    lane,
    ...auditOptIns,
  })
  .meta({ title: 'Cluster' });
