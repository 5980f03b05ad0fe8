import type { HoldReason } from '../contracts/rollout-summary.ts';

/**
 * Why a rollout in progress is held, or why a person's request is not executed. `CHECK_IDS` stop one from beginning.
 * Each has a section of `docs/runbooks/rollouts.md`.
 */
export const HOLD_IDS = {
  stuck: {
    title: 'No machine was made or removed for too long',
    remedy: 'Check the newest Machine and the events of its infrastructure: there may be no capacity for it',
  },
  unhealthy: {
    title: 'The control plane or its etcd has been unhealthy for more than 10 minutes',
    remedy: 'Fix what the condition names; Cluster API replaces no further machine until then',
  },
  'etcd-unseen': {
    title: 'Cluster API cannot reach etcd through the kubelets',
    remedy:
      'Approve the CSR of the new kubelet: `kubectl get csr` names it; if none waits, check port 10250 of the new machine',
  },
  remediating: {
    title: 'Cluster API replaces an unhealthy machine meanwhile',
    remedy: 'Let the remediation end, and find out why the machine was unhealthy',
  },
  paused: {
    title: 'Someone paused it',
    remedy: 'Ask who paused it; remove the pause when there is no reason for it any more',
  },
  'taken-over': {
    title: 'Someone changed when machines are rolled out',
    remedy: 'Ask who did; then `certmarshal rollout abort`, and let their change continue',
  },
  'not-verified': {
    title: 'Machines were replaced, but their new certificates were not seen',
    remedy: 'Check what each machine shows: `certmarshal rollout status`; check that port 6443 of its address answers',
  },
  'still-expiring': {
    title: 'Machines were replaced, and their certificates still expire soon',
    remedy: 'Find out what makes certificates this short before machines are rolled again',
  },
  unseen: {
    title: 'What the rollout depends on has been unreadable for too long',
    remedy: 'Restore the access that is missing',
  },
  'unreadable-mark': {
    title: 'The annotation that names the current rollout cannot be read',
    remedy: 'Remove the annotation certmarshal.dev/rollout when no rollout runs',
  },
  'unreadable-hold': {
    title: 'There is a hold that cannot be read',
    remedy: 'Find out who wrote it, then remove the annotation certmarshal.dev/rollout-hold',
  },
  'etcd-by-hand': {
    title: 'External etcd is renewed by a person',
    remedy: 'Run the command where the configuration and the SSH keys of the cluster are',
  },
  'etcd-not-begun': {
    title: 'The control plane is paused for its etcd, but etcd cannot begin',
    remedy: 'Fix what is in the way, or remove the pause with `certmarshal rollout abort`',
  },
  'etcd-failed': {
    title: 'The etcd cluster that rolls is deleted or being deleted',
    remedy: 'Check the EtcdadmCluster before anything else is changed; the control plane stays paused',
  },
  'etcd-unhealthy': {
    title: 'An etcd machine is unhealthy',
    remedy: 'Check the machine and its etcd member; do not delete the Machine, because its member would be left behind',
  },
  'etcd-cap-reached': {
    title: 'The limit of etcd machines is reached',
    remedy: 'Find out why new members do not become healthy; the etcdadm-controller makes no more machines until then',
  },
  'etcd-orphans': {
    title: 'New etcd machines have no owner any more',
    remedy: 'Someone changed the EtcdadmCluster while it rolled: ask who, and wait until it is settled',
  },
  'etcd-taken-over': {
    title: 'Someone changed the EtcdadmCluster while it rolls',
    remedy: 'Ask who did; the control plane stays paused until etcd is settled',
  },
  'etcd-pause-lost': {
    title: 'The control plane is not paused while its etcd rolls',
    remedy: 'Ask who removed the pause; see that the control plane does not roll before etcd is settled',
  },
  'etcd-client-old': {
    title: 'Etcd is new, but its client certificate is not',
    remedy: 'Read the log of the etcdadm-controller: it makes the client certificate when its last machine is new',
  },
  'nothing-to-abort': {
    title: 'There is no rollout of certmarshal to abort',
    remedy: 'See what runs: `certmarshal rollout plan`',
  },
  'abort-refused': {
    title: 'The rollout cannot be aborted now',
    remedy:
      'Let it continue: a half-replaced etcd is worse than a new one, and the control plane has to follow a new etcd',
  },
} as const satisfies Record<string, { readonly title: string; readonly remedy: string }>;
export type HoldId = keyof typeof HOLD_IDS;

/** @param message without a full stop. @default the title */
export function holdReason(id: HoldId, object?: string, message: string = HOLD_IDS[id].title): HoldReason {
  return { id, object, message, remedy: HOLD_IDS[id].remedy };
}
