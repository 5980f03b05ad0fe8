import type { RolloutTrigger } from '../contracts/rollout-mark.ts';
import { keysOf } from '../tables/keys.ts';
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
  kubeletsServed,
  machineDependencies,
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

interface Check {
  /** Undefined if it does not apply. */
  readonly judge: (question: CheckQuestion) => Verdict | undefined;
  /** A person who begins a rollout at the keyboard waives it implicitly. */
  readonly waived: boolean;
}

/** Preconditions of a rollout, in display order. Each has a section of `docs/runbooks/rollouts.md`. */
const CHECKS = {
  'opted-in-by-fleet': { judge: optedInByFleet, waived: true },
  'opted-in-by-owner': { judge: optedInByOwner, waived: true },
  'everything-read': { judge: everythingRead, waived: false },
  'not-expired': { judge: notExpired, waived: false },
  due: { judge: due, waived: true },
  'not-too-late': { judge: notTooLate, waived: true },
  'maintenance-window': { judge: maintenanceWindow, waived: true },
  'cool-down': { judge: coolDown, waived: false },
  'loop-guard': { judge: loopGuard, waived: true },
  'fleet-budget': { judge: fleetBudget, waived: true },
  'one-of-its-management-cluster': { judge: oneOfItsManagementCluster, waived: false },
  'management-cluster-last': { judge: managementClusterLast, waived: false },
  'eks-anywhere-settled': { judge: eksAnywhereSettled, waived: false },
  'cluster-not-paused': { judge: clusterNotPaused, waived: false },
  'no-cluster-class': { judge: noClusterClass, waived: false },
  'control-plane-not-paused': { judge: controlPlaneNotPaused, waived: false },
  'control-plane-settled': { judge: controlPlaneSettled, waived: false },
  'control-plane-certificates': { judge: controlPlaneCertificates, waived: false },
  'control-plane-healthy': { judge: controlPlaneHealthy, waived: false },
  'etcd-healthy': { judge: etcdHealthy, waived: false },
  'not-rolling-already': { judge: notRollingAlready, waived: false },
  'not-remediating': { judge: notRemediating, waived: false },
  'rolling-update': { judge: rollingUpdate, waived: false },
  'no-rollout-planned': { judge: noRolloutPlanned, waived: false },
  'no-hold': { judge: noHold, waived: false },
  'machines-settled': { judge: machinesSettled, waived: false },
  'machines-healthy': { judge: machinesHealthy, waived: false },
  'machine-hooks': { judge: machineHooks, waived: false },
  'health-checks': { judge: healthChecks, waived: false },
  'single-replica': { judge: singleReplica, waived: false },
  surge: { judge: surge, waived: false },
  'spare-capacity': { judge: spareCapacity, waived: true },
  'machine-template': { judge: machineTemplate, waived: false },
  'authority-outlives': { judge: authorityOutlives, waived: false },
  'etcd-backup': { judge: etcdBackup, waived: true },
  handshakes: { judge: handshakes, waived: false },
  'machine-dependencies': { judge: machineDependencies, waived: true },
  'kubelets-served': { judge: kubeletsServed, waived: true },
  'external-etcd-settled': { judge: externalEtcdSettled, waived: false },
  'etcd-controller-restarted': { judge: etcdControllerRestarted, waived: false },
} as const satisfies Record<string, Check>;

export type CheckId = keyof typeof CHECKS;
export const CHECK_IDS = keysOf(CHECKS);

export interface CheckQuestion {
  readonly observed: ObservedRollout;
  /** Absent if fleet.yaml has no entry for the cluster. */
  readonly policy: RolloutPolicy | undefined;
  readonly history: RolloutHistory;
  readonly trigger: RolloutTrigger;
  /** Checks waived by name at the keyboard. @default none */
  readonly waivers?: readonly Waiver[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** All checks that apply to the cluster, passed ones included, in the order of `CHECK_IDS`. Pure; never throws. */
export function checksOf(question: CheckQuestion): readonly RolloutCheck[] {
  const named = new Set<CheckId>(question.waivers);
  return CHECK_IDS.flatMap((id) => {
    const { judge, waived: isWaived }: Check = CHECKS[id];
    const verdict = judge(question);
    if (verdict === undefined) return [];
    const waived = !verdict.passed && question.trigger === 'person' && (isWaived || named.has(id));
    return [{ id, ...verdict, waived: waived || undefined }];
  });
}
