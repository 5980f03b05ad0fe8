import { clusterCommand } from '../../lambdas/expiry/commands.ts';
import { ALARMS, type AlarmId } from '../../lambdas/health/alarms.ts';
import type { SignalId } from '../../lambdas/health/signals.ts';

/** An alarm on a signal of the clusters. The others are on something of the hub. */
export type SignalAlarmId = {
  [K in AlarmId]: (typeof ALARMS)[K]['watches'] extends { readonly signal: SignalId } ? K : never;
}[AlarmId];

export function isSignalAlarm(id: AlarmId): id is SignalAlarmId {
  return 'signal' in ALARMS[id].watches;
}

const DOCTOR = 'certmarshal doctor --fleet fleet.yaml --cluster ID';
const AUDIT = clusterCommand('audit', { name: 'CLUSTER' });
/** It lists what waits, the hostile first, with the command that explains it: CloudWatch does not know the request. */
const OBSERVE = clusterCommand('sweep --observe', { name: 'CLUSTER' });
/** Of EKS there are node groups only, which EKS rolls. */
const NODE_GROUP = ' (of an EKS cluster: aws eks list-updates --name CLUSTER --nodegroup-name NODEGROUP)';

/** What to do first. The message of notify has it with the name of the cluster, and that of the request where it is one. */
export const FIRST_COMMANDS: Readonly<Record<SignalAlarmId, string>> = {
  ClusterUnreadable: DOCTOR,
  ClusterNeverRead: DOCTOR,
  ClusterIncomplete: DOCTOR,
  AuditStale: AUDIT,
  CertificateCritical: AUDIT,
  CertificateWarning: AUDIT,
  KubeletOverdue: AUDIT,
  CoverageLost: AUDIT,
  RequestsStuck: OBSERVE,
  RequestsWaiting: OBSERVE,
  ImpersonationAttempt: OBSERVE,
  SloFastBurn: OBSERVE,
  SloSlowBurn: OBSERVE,
  RolloutHeld: `${clusterCommand('rollout status', { name: 'CLUSTER' })}${NODE_GROUP}`,
  RolloutNeeded: `${clusterCommand('rollout plan', { name: 'CLUSTER' })}${NODE_GROUP}`,
  RecoveryModeOpen: DOCTOR,
};
