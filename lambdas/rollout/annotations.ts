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

/** The value of `ROLLOUT_ANNOTATION`. */
export interface RolloutMark {
  /** 26 characters or fewer of `[a-z0-9-]`; made of cluster and start, so that one rollout has one id. */
  readonly id: string;
  /** RFC 3339, whole seconds: also the value of `rollout.after`. Machines made since are those of the rollout. */
  readonly start: string;
  readonly reason: string;
  readonly trigger: RolloutTrigger;
  /** Somebody stopped it with `certmarshal rollout abort`. RFC 3339. */
  readonly abortedAt?: string;
}

/** Who wants it: the schedule of a deployed certmarshal, or a person at a keyboard. */
export type RolloutTrigger = 'schedule' | 'person';

/** The value of `HOLD_ANNOTATION`. */
export interface HoldMark {
  readonly id: string;
  /** RFC 3339. */
  readonly at: string;
  /** Id of the reason: a page of the runbooks. */
  readonly reason: string;
  readonly message: string;
}
