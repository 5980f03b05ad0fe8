import { MACHINE_TEMPLATES } from '../../lambdas/kubernetes/infrastructure-templates.ts';
import { UsageError } from '../exit-codes.ts';
import { listRules, type Rule } from './rbac-audit.ts';

export interface RolloutRbacOptions {
  /** On a management cluster: what `certmarshal rollout plan` and `status` read. */
  readonly rollouts?: boolean;
  /** `NAMESPACE/CLUSTER` of Clusters whose control plane may be rolled. */
  readonly rolloutOf?: readonly string[];
  /** With external etcd: also the etcd machines of {@link rolloutOf}. */
  readonly rolloutEtcd?: boolean;
  /** On a workload cluster: the rights of a recovery. */
  readonly recovery?: boolean;
}

/** What the plan of a rollout reads, except objects that are granted by name. */
export const ROLLOUT_RULES: readonly Rule[] = [
  ...listRules('rollouts'),
  // A control plane without its machine template is not rolled.
  { apiGroups: ['infrastructure.cluster.x-k8s.io'], resources: MACHINE_TEMPLATES, verbs: ['get'] },
];

export function readLeaseRule(name: string): Rule {
  return { ...LEASES, resourceNames: [name], verbs: ['get'] };
}

/** RBAC cannot restrict `create` by name: the name is not yet known when it is authorized. */
export function writeLeaseRules(name: string): readonly Rule[] {
  return [
    { ...LEASES, verbs: ['create'] },
    { ...LEASES, resourceNames: [name], verbs: ['get', 'patch'] },
  ];
}

const LEASES = { apiGroups: ['coordination.k8s.io'], resources: ['leases'] } as const;

/** EKS Anywhere names the KubeadmControlPlane like the Cluster. */
export function controlPlaneRule(cluster: string): Rule {
  return {
    apiGroups: ['controlplane.cluster.x-k8s.io'],
    resources: ['kubeadmcontrolplanes'],
    resourceNames: [cluster],
    verbs: ['patch'],
  };
}

export const CONTROL_PLANES_COMMENT = `A patch of a KubeadmControlPlane can change how its machines are made: anyone who has this can become an administrator of
the cluster. certmarshal writes rollout.after and annotations of its own, and pauses what it rolls with external etcd.`;

/** EKS Anywhere names the EtcdadmCluster like the Cluster, with the suffix `-etcd`. */
export function etcdClusterRule(cluster: string): Rule {
  return {
    apiGroups: ['etcdcluster.cluster.x-k8s.io'],
    resources: ['etcdadmclusters'],
    resourceNames: [`${cluster}-etcd`],
    verbs: ['patch'],
  };
}

export const ETCD_CLUSTERS_COMMENT = `Experimental: etcd: auto-experimental of fleet.yaml. Anyone with this can run commands on every etcd machine of the cluster.`;

/**
 * Namespace of the etcdadm controller; exists only with external etcd. It is read to check that the controller started
 * after its newest client certificate was made.
 */
export const ETCD_CONTROLLER_NAMESPACE = 'etcdadm-controller-system';

/** In addition to the rights for approving serving certificates. */
export const RECOVERY_RULES: readonly Rule[] = [
  { apiGroups: ['certificates.k8s.io'], resources: ['certificatesigningrequests'], verbs: ['get', 'list'] },
  { apiGroups: ['certificates.k8s.io'], resources: ['certificatesigningrequests/approval'], verbs: ['update'] },
  {
    apiGroups: ['certificates.k8s.io'],
    resources: ['signers'],
    resourceNames: ['kubernetes.io/kube-apiserver-client-kubelet'],
    verbs: ['approve'],
  },
  ...listRules('recovery'),
];

export const RECOVERY_COMMENT = `Anyone with this can make any user a Node of the cluster. Grant it for a recovery, and remove it afterwards:
certmarshal rbac --recovery, with the same subject, | kubectl delete -f -`;

/** @throws UsageError for incompatible options */
export function requireRolloutOptions(
  management: boolean,
  { rollouts = false, rolloutOf = [], rolloutEtcd = false, recovery = false }: RolloutRbacOptions,
): void {
  const problems = [
    rollouts && !management
      ? '--rollouts is about a management cluster, also where it manages itself: give --management too.'
      : undefined,
    rolloutOf.length > 0 && !rollouts ? '--rollout-of is about rollouts: give --rollouts too.' : undefined,
    rolloutEtcd && rolloutOf.length === 0
      ? '--rollout-etcd takes the clusters whose etcd may be rolled, each by --rollout-of NAMESPACE/CLUSTER.'
      : undefined,
    recovery && management ? '--recovery is about the cluster that has the Nodes: leave out --management.' : undefined,
  ].filter((problem) => problem !== undefined);
  if (problems.length > 0) throw new UsageError(problems.join('\n'));
}
