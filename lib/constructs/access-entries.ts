import { CfnAccessEntry } from 'aws-cdk-lib/aws-eks';
import { Construct } from 'constructs';

/** The group that `certmarshal rbac` binds to its ClusterRoles. */
const ACCESS_GROUP = 'certmarshal';

export interface AccessEntriesProps {
  /** Names of EKS clusters of this account and Region. */
  readonly clusters: readonly string[];
  /** The hub's sweep role; it may be in another account. */
  readonly principalArn: string;
}

/**
 * Gives the sweep role access to clusters as a member of one group, without an access policy of AWS: each cluster's
 * RBAC grants the rights. The L2 construct has no groups. Source: Amazon EKS User Guide, "Create access entries".
 *
 * EKS stores the unique id of the role in an entry, so an entry that outlives the role is useless. No stack update
 * replaces it: CloudFormation creates the replacement first, and EKS rejects a second entry of one principal. The stack
 * must be deleted and deployed again.
 */
export class AccessEntries extends Construct {
  constructor(scope: Construct, id: string, { clusters, principalArn }: AccessEntriesProps) {
    super(scope, id);
    for (const clusterName of clusters)
      new CfnAccessEntry(this, clusterName, {
        clusterName,
        principalArn,
        kubernetesGroups: [ACCESS_GROUP],
        type: 'STANDARD',
      });
  }
}
