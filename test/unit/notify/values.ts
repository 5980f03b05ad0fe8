import type { NotificationState } from '../../../lambdas/contracts/notification-state.ts';
import { watchedSignal } from '../../../lambdas/health/culprits.ts';
import type { ClusterHealth, FleetHealth } from '../../../lambdas/health/fleet-health.ts';
import type { AlarmMessage } from '../../../lambdas/notify/alarm-message.ts';
import { alarmName, type NamedAlarm } from '../../../lambdas/notify/alarm-name.ts';
import { markNotified, NOTHING_NOTIFIED, openAlarms } from '../../../lambdas/notify/notification-state.ts';
import { type PlanInput, planNotifications } from '../../../lambdas/notify/plan.ts';
import { ALARMS, type AlarmId } from '../../../lambdas/tables/alarms.ts';
import { SIGNALS, type Signal, type SignalId } from '../../../lambdas/tables/signals.ts';
import { at, auditSummary, MINUTE, NOW } from '../fleet/values.ts';

export const ETCD: Signal = {
  id: 'CertificatesCritical',
  value: 1,
  story: 'etcd client certificate expires in 12 days, nothing planned renews it',
  since: at(-120 * MINUTE),
  due: '2026-12-03T10:00:00.000Z',
  command: 'certmarshal rollout plan --kubeconfig KUBECONFIG --management-kubeconfig MANAGEMENT --cluster berlin-prod',
};

export function cluster(
  id: string,
  signals: readonly Signal[] = [],
  changed: Partial<ClusterHealth> = {},
): ClusterHealth {
  return {
    id,
    name: id.slice(id.lastIndexOf('/') + 1),
    provider: 'eks-anywhere',
    source: 'fleet.yaml',
    state: signals.length === 0 ? 'well' : 'critical',
    signals,
    sweptAt: at(),
    readableAt: at(),
    readable: true,
    complete: true,
    findings: [],
    audit: auditSummary({ findings: [], findingCount: 0, sources: { read: [], unread: [], off: [] }, ends: [] }),
    verdicts: [],
    ...changed,
  };
}

export function fleet(...clusters: readonly ClusterHealth[]): FleetHealth {
  const count = (state: ClusterHealth['state']) => clusters.filter((one) => one.state === state).length;
  return {
    at: at(),
    clusters,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it has every key
    totals: Object.fromEntries(Object.keys(SIGNALS).map((id) => [id, 0])) as Record<SignalId, number>,
    counts: {
      critical: count('critical'),
      warning: count('warning'),
      noted: count('noted'),
      new: count('new'),
      maintenance: count('maintenance'),
      well: count('well'),
      gone: count('gone'),
    },
    problems: [],
  };
}

/** A fleet of 214 clusters, of which these are unwell. */
export function largeFleet(...unwell: readonly ClusterHealth[]): FleetHealth {
  const well = Array.from({ length: 214 - unwell.length }, (_, index) => cluster(`well-${index}`));
  return fleet(...unwell, ...well);
}

export function message(
  alarm: AlarmId,
  state: AlarmMessage['state'],
  changed: Partial<AlarmMessage> = {},
): AlarmMessage {
  return { name: alarmName(alarm), state, ...changed };
}

/** A signal with which a cluster makes an alarm ring. */
export function ringing(alarm: AlarmId, changed: Partial<Signal> = {}): Signal {
  const id = watchedSignal(alarm);
  if (id === undefined) throw new Error(`${alarm} looks at no cluster`);
  return { ...ETCD, id, value: ALARMS[alarm].threshold, ...changed };
}

export function planned(changed: Partial<PlanInput> & { readonly message: AlarmMessage; readonly named: NamedAlarm }) {
  return planNotifications({ told: NOTHING_NOTIFIED, health: fleet(), settings: {}, now: NOW, ...changed });
}

export const open = (alarm: AlarmId, ...keys: readonly string[]): NotificationState => ({
  ...NOTHING_NOTIFIED,
  open: { [alarm]: Object.fromEntries(keys.map((key) => [key, { openedAt: at(-60 * MINUTE), story: ETCD.story }])) },
});

/** All that is open rings no more for so long that it is over. */
export function away(told: NotificationState, since: string = at(-20 * MINUTE)): NotificationState {
  return markNotified(told, { away: openAlarms(told).map(({ alarm, key }) => ({ alarm, key, since })) });
}
