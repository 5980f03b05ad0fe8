import { CfnAccessEntry } from 'aws-cdk-lib/aws-eks';
import { Construct } from 'constructs';

/** The group that `certmarshal rbac` binds to its ClusterRoles. */
export const ACCESS_GROUP = 'certmarshal';

export interface AccessEntriesProps {
  /** Names of EKS clusters of this account and Region. */
  readonly clusters: readonly string[];
  /** The hub's sweep role; it may be in another account. */
  readonly principalArn: string;
}

/**
 * Lets the sweep role into clusters, as a member of one group and with no access policy of AWS: what the group may do is
 * written in each cluster. The L2 construct knows no groups. Source: Amazon EKS User Guide, "Create access entries".
 *
 * EKS keeps the unique id of the role with an entry, so one that outlives the role lets nobody in. No update of a stack makes it anew: CloudFormation creates the replacement first, and EKS refuses
 * a second entry of one principal. The stack has to be deleted and deployed again.
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
