import type { CheckQuestion } from '../checks.ts';
import type { ObservedControlPlane, ObservedRollout } from '../observed.ts';
import type { Acceptance } from '../policy.ts';
import { CONTROL_PLANES, EKS_ANYWHERE_CLUSTERS, fails, kubectl, objectOf, passes, type Verdict } from './verdict.ts';

// Facts that no API has, or that have a price: a person confirms them by name in fleet.yaml.

function isAccepted({ policy }: CheckQuestion, acceptance: Acceptance): boolean {
  return policy?.accepted.includes(acceptance) === true;
}

function acceptIn({ observed }: CheckQuestion, acceptance: Acceptance): string {
  return `add ${acceptance} to accepted in the entry of rollouts.clusters of fleet.yaml for ${observed.cluster.id}; on the command line, pass --accept ${acceptance}`;
}

/** Undefined for a control plane with several replicas. */
export function singleReplica(question: CheckQuestion): Verdict | undefined {
  const { controlPlane } = question.observed;
  if (controlPlane?.replicas !== 1) return undefined;
  const object = objectOf('KubeadmControlPlane', controlPlane);
  if (isAccepted(question, 'single-replica')) return passes('one machine, which is accepted', object);
  return fails({
    object,
    found: 'it has one machine: the API server may be down while it is replaced',
    remedy: `If that is acceptable, ${acceptIn(question, 'single-replica')}`,
  });
}

/** EKS Anywhere owns the strategy of its control planes, and reverts changes. */
function setMaxSurge({ eksAnywhere }: ObservedRollout, controlPlane: ObservedControlPlane): string {
  return eksAnywhere === undefined
    ? kubectl('edit', CONTROL_PLANES, controlPlane)
    : `${kubectl('edit', EKS_ANYWHERE_CLUSTERS, eksAnywhere)}, in spec.controlPlaneConfiguration.upgradeRolloutStrategy`;
}

/** Whether a new machine exists before an old one is deleted. */
export function surge(question: CheckQuestion): Verdict | undefined {
  const { controlPlane } = question.observed;
  if (controlPlane === undefined) return undefined;
  const { maxSurge, replicas, strategy } = controlPlane;
  const object = objectOf('KubeadmControlPlane', controlPlane);
  // Another strategy has none; its own check rejects it.
  if (maxSurge === undefined && strategy !== 'RollingUpdate') return undefined;
  if (maxSurge === undefined) {
    return fails({
      object,
      found: 'its maxSurge is not known',
      remedy: `Set it: ${setMaxSurge(question.observed, controlPlane)}`,
    });
  }
  if (maxSurge > 0) return passes('a new machine comes before an old one goes', object);
  if (replicas < 3) {
    return fails({
      object,
      found: `maxSurge is 0 with ${replicas} of the 3 machines that this needs`,
      remedy: `Set maxSurge to 1: ${setMaxSurge(question.observed, controlPlane)}`,
    });
  }
  if (isAccepted(question, 'no-surge'))
    return passes('an old machine goes before a new one comes, which is accepted', object);
  return fails({
    object,
    found: 'maxSurge is 0: an old machine goes before a new one comes, and etcd has one member less meanwhile',
    remedy: `If that is acceptable, ${acceptIn(question, 'no-surge')}; or set maxSurge to 1`,
  });
}

/** Without an entry nothing can be confirmed: the schedule reports only that. */
function hasNoPlaceToVouch({ policy, trigger }: CheckQuestion): boolean {
  return policy === undefined && trigger === 'schedule';
}

/** Undefined if a machine is deleted before its replacement exists. */
export function spareCapacity(question: CheckQuestion): Verdict | undefined {
  const { controlPlane, capiCluster } = question.observed;
  if (hasNoPlaceToVouch(question) || controlPlane === undefined || controlPlane.maxSurge === 0) return undefined;
  if (isAccepted(question, 'spare-capacity')) return passes('room for one more machine is vouched for');
  const look =
    capiCluster?.infrastructure === 'TinkerbellCluster'
      ? `Find a free machine, because certmarshal does not read Hardware: kubectl get hardware.tinkerbell.org -A --selector '!v1alpha1.tinkerbell.org/ownerName'`
      : 'Check that there are resources and an address for one more machine';
  return fails({
    found: 'room for one more machine is not vouched for, and without it a rollout waits forever',
    remedy: `${look}; then ${acceptIn(question, 'spare-capacity')}`,
  });
}

export function etcdBackup(question: CheckQuestion): Verdict | undefined {
  if (hasNoPlaceToVouch(question)) return undefined;
  if (isAccepted(question, 'etcd-backup')) return passes('a backup of etcd is vouched for');
  return fails({
    found: 'a backup of etcd that can be restored is not vouched for',
    remedy: `Back up etcd and test the backup (etcdctl snapshot save, etcdutl snapshot status); then ${acceptIn(question, 'etcd-backup')}`,
  });
}

export function machineTemplate({ observed: { controlPlane } }: CheckQuestion): Verdict | undefined {
  if (controlPlane === undefined) return undefined;
  const { template, templateFound } = controlPlane;
  if (template !== undefined && templateFound)
    return passes('the template of its machines exists', `${template.kind} ${template.name}`);
  return fails({
    object: objectOf('KubeadmControlPlane', controlPlane),
    found:
      template === undefined
        ? 'it names no template for its machines'
        : `there is no ${template.kind} ${template.name}, from which its machines are made`,
    remedy: `Restore the template, because no machine can be made without it: ${kubectl('get', CONTROL_PLANES, controlPlane, '-o yaml')}`,
  });
}
