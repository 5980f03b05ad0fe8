import type { RolloutTrigger } from '../contracts/rollout-mark.ts';
import { PAUSED_ANNOTATION } from '../resources/annotations.ts';
import { shownCondition } from '../resources/values.ts';
import { keysOf } from '../tables/keys.ts';
import { everythingRead, optedInByFleet, optedInByOwner } from './checks/agreement.ts';
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
import {
  CAPI_CLUSTERS,
  EKS_ANYWHERE_CLUSTERS,
  fails,
  kubectl,
  objectOf,
  type Verdict,
  verdictOf,
} from './checks/verdict.ts';
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

/** Undefined if EKS Anywhere does not know the cluster. */
function eksAnywhereSettled({ observed: { eksAnywhere } }: CheckQuestion): Verdict | undefined {
  if (eksAnywhere === undefined) return undefined;
  const { generation, observedGeneration, reconciledGeneration, ready, failureMessage } = eksAnywhere;
  const wrong = [
    ...(eksAnywhere.deleting ? ['it is being deleted'] : []),
    ...(eksAnywhere.paused ? ['it is paused (anywhere.eks.amazonaws.com/paused)'] : []),
    ...(ready.status === 'True' ? [] : [`Ready is ${shownCondition(ready)}`]),
    ...(observedGeneration === generation
      ? []
      : [`generation ${generation} is not observed (${observedGeneration ?? 'none'})`]),
    ...(reconciledGeneration === generation
      ? []
      : [`generation ${generation} is not reconciled (${reconciledGeneration ?? 'none'})`]),
    ...(failureMessage === undefined ? [] : [`it says: ${failureMessage}`]),
    ...(eksAnywhere.controlPlaneUpgrade ? ['there is a ControlPlaneUpgrade for it'] : []),
  ];
  return verdictOf(wrong, {
    object: objectOf('Cluster', eksAnywhere),
    good: 'EKS Anywhere has finished reconciling it',
    remedy: eksAnywhere.paused
      ? `Ask who paused it, and why; then: ${kubectl('annotate', EKS_ANYWHERE_CLUSTERS, eksAnywhere, 'anywhere.eks.amazonaws.com/paused-')}`
      : `Let EKS Anywhere finish: ${kubectl('describe', EKS_ANYWHERE_CLUSTERS, eksAnywhere)}`,
  });
}

function clusterNotPaused({ observed: { capiCluster, cluster } }: CheckQuestion): Verdict {
  if (capiCluster === undefined) {
    return fails({
      found: `there is no Cluster of Cluster API with the name ${cluster.name}`,
      remedy: `Give the cluster the name of its Cluster object: kubectl get ${CAPI_CLUSTERS} -A`,
    });
  }
  const wrong = [
    ...(capiCluster.deleting ? ['it is being deleted'] : []),
    ...(capiCluster.paused ? [`it is paused (spec.paused or ${PAUSED_ANNOTATION})`] : []),
  ];
  return verdictOf(wrong, {
    object: objectOf('Cluster', capiCluster),
    good: 'it is not paused',
    remedy: `Ask who paused it, and why: ${kubectl('get', CAPI_CLUSTERS, capiCluster, '-o yaml')}`,
  });
}

function noClusterClass({ observed: { capiCluster } }: CheckQuestion): Verdict | undefined {
  if (capiCluster === undefined) return undefined;
  return verdictOf(capiCluster.topology ? ['it is made from a ClusterClass, which owns its control plane'] : [], {
    object: objectOf('Cluster', capiCluster),
    good: 'it is not made from a ClusterClass',
    remedy: `With Cluster API 1.13 or later, roll it by its own topology: ${kubectl('edit', CAPI_CLUSTERS, capiCluster)}, and set spec.topology.controlPlane.rollout.after to now`,
  });
}
