import type { RolloutTrigger } from '../contracts/rollout-mark.ts';
import { everythingRead, optedInByFleet, optedInByOwner } from './checks/agreement.ts';
import { clusterNotPaused, eksAnywhereSettled, noClusterClass } from './checks/cluster.ts';
import {
  controlPlaneCertificates,
  controlPlaneHealthy,
  controlPlaneNotPaused,
  controlPlaneSettled,
  etcdHealthy,
  noHold,
  noRolloutPlanned,
  notRemediating,
  notRollingAlready,
  rollingUpdate,
} from './checks/control-plane.ts';
import { etcdControllerRestarted, externalEtcdSettled } from './checks/etcd.ts';
import {
  authorityOutlives,
  handshakes,
  healthChecks,
  machineHooks,
  machinesHealthy,
  machinesSettled,
} from './checks/machines.ts';
import { managementClusterLast, oneOfItsManagementCluster } from './checks/neighbours.ts';
import { coolDown, due, fleetBudget, loopGuard, maintenanceWindow, notExpired, notTooLate } from './checks/timing.ts';
import type { Verdict } from './checks/verdict.ts';
import { etcdBackup, machineTemplate, singleReplica, spareCapacity, surge } from './checks/vouched.ts';
import type { RolloutHistory } from './history.ts';
import type { ObservedRollout } from './observed.ts';
import type { RolloutPolicy, Waiver } from './policy.ts';
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
  /** What the person at the keyboard names beside `WAIVED`. @default nothing */
  readonly waivers?: readonly Waiver[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** All of them that apply to the cluster, in the order of `CHECK_IDS`, those that pass too. Pure; never throws. */
export function checksOf(question: CheckQuestion): readonly RolloutCheck[] {
  const named = new Set<CheckId>(question.waivers);
  return CHECK_IDS.flatMap((id) => {
    const verdict = CHECKS[id](question);
    if (verdict === undefined) return [];
    const waived = !verdict.passed && question.trigger === 'person' && (WAIVED.has(id) || named.has(id));
    return [{ id, ...verdict, ...(waived ? { waived } : {}) }];
  });
}

/** What a person answers for who begins a rollout at a keyboard, without naming it. */
const WAIVED: ReadonlySet<CheckId> = new Set([
  'opted-in-by-fleet',
  'opted-in-by-owner',
  'due',
  'not-too-late',
  'maintenance-window',
  'loop-guard',
  'fleet-budget',
  'spare-capacity',
  'etcd-backup',
]);

/** Each undefined where it does not apply. */
const CHECKS: Readonly<Record<CheckId, (question: CheckQuestion) => Verdict | undefined>> = {
  'opted-in-by-fleet': optedInByFleet,
  'opted-in-by-owner': optedInByOwner,
  'everything-read': everythingRead,
  'not-expired': notExpired,
  due,
  'not-too-late': notTooLate,
  'maintenance-window': maintenanceWindow,
  'cool-down': coolDown,
  'loop-guard': loopGuard,
  'fleet-budget': fleetBudget,
  'one-of-its-management-cluster': oneOfItsManagementCluster,
  'management-cluster-last': managementClusterLast,
  'eks-anywhere-settled': eksAnywhereSettled,
  'cluster-not-paused': clusterNotPaused,
  'no-cluster-class': noClusterClass,
  'control-plane-not-paused': controlPlaneNotPaused,
  'control-plane-settled': controlPlaneSettled,
  'control-plane-certificates': controlPlaneCertificates,
  'control-plane-healthy': controlPlaneHealthy,
  'etcd-healthy': etcdHealthy,
  'not-rolling-already': notRollingAlready,
  'not-remediating': notRemediating,
  'rolling-update': rollingUpdate,
  'no-rollout-planned': noRolloutPlanned,
  'no-hold': noHold,
  'machines-settled': machinesSettled,
  'machines-healthy': machinesHealthy,
  'machine-hooks': machineHooks,
  'health-checks': healthChecks,
  'single-replica': singleReplica,
  surge,
  'spare-capacity': spareCapacity,
  'machine-template': machineTemplate,
  'authority-outlives': authorityOutlives,
  'etcd-backup': etcdBackup,
  handshakes,
  'external-etcd-settled': externalEtcdSettled,
  'etcd-controller-restarted': etcdControllerRestarted,
};
