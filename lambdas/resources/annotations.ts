/**
 * On the KubeadmControlPlane (and the EtcdadmCluster) that is rolled: which rollout of certmarshal it is, as JSON. It is all the state that a rollout has; everything
 * else is derived from what is there. See `RolloutMark`.
 */
export const ROLLOUT_ANNOTATION = 'certmarshal.dev/rollout';

/** On the KubeadmControlPlane: certmarshal saw something that a person has to look at, as JSON. Only a person takes it away, with `certmarshal rollout resume` or `abort`. See `HoldMark`. */
export const HOLD_ANNOTATION = 'certmarshal.dev/rollout-hold';

/** On the Cluster of EKS Anywhere or the KubeadmControlPlane: `auto`, where whoever owns the cluster agrees to rollouts. On an EKS cluster it is a tag. */
export const OPT_IN_ANNOTATION = 'certmarshal.dev/rollout-mode';
export const OPT_IN = 'auto';

/** Cluster API reads only that the key is there; certmarshal writes its rollout as the value, and takes away only what it wrote. */
export const PAUSED_ANNOTATION = 'cluster.x-k8s.io/paused';

/** Owner of the fields that certmarshal writes. */
export const FIELD_MANAGER = 'certmarshal-rollout';
