/**
 * On the KubeadmControlPlane (and the EtcdadmCluster) of a rollout: its identity as JSON, which is all its stored
 * state; everything else is derived. See `RolloutMark`.
 */
export const ROLLOUT_ANNOTATION = 'certmarshal.dev/rollout';

/**
 * On the KubeadmControlPlane: certmarshal saw something that a person must check, as JSON. Only a person removes it,
 * with `kubectl annotate` or `certmarshal rollout abort`. See `HoldMark`.
 */
export const HOLD_ANNOTATION = 'certmarshal.dev/rollout-hold';

/**
 * On the Cluster of EKS Anywhere or the KubeadmControlPlane: `auto` if the owner of the cluster agrees to rollouts.
 */
export const OPT_IN_ANNOTATION = 'certmarshal.dev/rollout-mode';
export const OPT_IN = 'auto';

/**
 * Cluster API only checks the presence of the key; certmarshal writes its rollout as the value, and removes only its
 * own.
 */
export const PAUSED_ANNOTATION = 'cluster.x-k8s.io/paused';

export const FIELD_MANAGER = 'certmarshal-rollout';
