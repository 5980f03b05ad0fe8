import type { Instance } from '@aws-sdk/client-ec2';
import { list, type Raw, text } from './fields.ts';

/**
 * Tags of an EC2 instance whose value is the name of its EKS cluster. AWS writes the first one on every instance of a
 * cluster, and forbids it to users.
 *
 * Source: EKS user guide, "Tag your resources" (billing), "Managed node groups", "Troubleshoot EKS Auto Mode".
 */
export const EKS_CLUSTER_TAGS = ['aws:eks:cluster-name', 'eks:cluster-name', 'eks:eks-cluster-name'] as const;

/** The name of the cluster follows. Source: cloud-provider-aws, `TagNameKubernetesClusterPrefix`. */
export const CLUSTER_TAG = 'kubernetes.io/cluster/';
export const CLUSTER_TAG_VALUES = ['owned', 'shared'] as const;

/** The cluster names in the tags of an instance, once each. Never throws. */
export function clustersOfInstance(instance: Raw<Instance>): readonly string[] {
  const names = list(instance, 'Tags').map((tag) => clusterOf(text(tag, 'Key') ?? '', text(tag, 'Value') ?? ''));
  return [...new Set(names)].filter((name) => name !== '');
}

function clusterOf(key: string, value: string): string {
  if (EKS_CLUSTER_TAGS.some((tag) => tag === key)) return value;
  return key.startsWith(CLUSTER_TAG) && CLUSTER_TAG_VALUES.some((owned) => owned === value)
    ? key.slice(CLUSTER_TAG.length)
    : '';
}
