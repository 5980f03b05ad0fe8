import type { RolloutTrigger } from './annotations.ts';
import type { RolloutHistory } from './history.ts';
import type { ObservedRollout } from './observed.ts';
import type { RolloutPolicy } from './policy.ts';
import type { RolloutCheck } from './step.ts';

/** Everything that has to hold before a rollout is begun. Each has a page of the runbooks: `docs/runbooks/rollouts/<id>.md`. */
export const CHECK_IDS = [
  'opted-in-by-fleet',
  'opted-in-by-owner',
  'everything-read',
  'not-expired',
  'due',
  'not-too-late',
  'maintenance-window',
  'cool-down',
  'loop-guard',
  'fleet-budget',
  'one-of-its-management-cluster',
  'management-cluster-last',
  'eks-anywhere-settled',
  'cluster-not-paused',
  'no-cluster-class',
  'control-plane-not-paused',
  'control-plane-settled',
  'control-plane-certificates',
  'control-plane-healthy',
  'etcd-healthy',
  'not-rolling-already',
  'not-remediating',
  'rolling-update',
  'no-rollout-planned',
  'no-hold',
  'machines-settled',
  'machines-healthy',
  'machine-hooks',
  'health-checks',
  'single-replica',
  'surge',
  'spare-capacity',
  'machine-template',
  'authority-outlives',
  'etcd-backup',
  'handshakes',
  'external-etcd-settled',
  'etcd-controller-restarted',
] as const;
export type CheckId = (typeof CHECK_IDS)[number];

export interface CheckQuestion {
  readonly observed: ObservedRollout;
  /** Absent when fleet.yaml has no entry for the cluster. */
  readonly policy: RolloutPolicy | undefined;
  readonly history: RolloutHistory;
  readonly trigger: RolloutTrigger;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** All of them that apply to the cluster, in the order of `CHECK_IDS`, those that pass too. Pure; never throws. */
export function checksOf(_question: CheckQuestion): readonly RolloutCheck[] {
  throw new Error('not built');
}
