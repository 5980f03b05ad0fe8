import {
  ALARM_IDS,
  ALARMS,
  type AlarmEntry,
  type AlarmId,
  type AlarmSettings,
  type AlarmSeverity,
  alarmSetting,
} from '../tables/alarms.ts';
import type { Signal, SignalId } from '../tables/signals.ts';
import type { ClusterHealth, FleetHealth } from './fleet-health.ts';

/**
 * The cluster signal that an alarm watches; undefined if none. The oldest sweep is the largest `SweepAge` of all
 * clusters.
 */
export function watchedSignal(id: AlarmId): SignalId | undefined {
  const { watches }: AlarmEntry = ALARMS[id];
  return 'signal' in watches ? watches.signal : watches.largest;
}

/** The clusters that make an alarm fire, the worst first; empty if it is off, or about certmarshal itself. Pure. */
export function culpritsOf(
  alarm: AlarmId,
  { clusters }: FleetHealth,
  settings: AlarmSettings,
): readonly ClusterHealth[] {
  const watched = watchedSignal(alarm);
  const { threshold, severity } = alarmSetting(alarm, settings);
  if (watched === undefined || severity === 'off') return [];
  return clusters.filter(({ signals }) => signals.some(({ id, value }) => id === watched && value >= threshold));
}

const ALARMS_OF: ReadonlyMap<SignalId, readonly AlarmId[]> = Map.groupBy(
  ALARM_IDS.filter((id) => watchedSignal(id) !== undefined),
  // The others were not stored.
  (id) => watchedSignal(id) ?? 'SweepAge',
);

/** The worst severity of the alarms that fire for a signal; undefined if none does. Pure. */
export function ringsAt(
  { id, value }: Pick<Signal, 'id' | 'value'>,
  settings: AlarmSettings,
): AlarmSeverity | undefined {
  const severities = (ALARMS_OF.get(id) ?? []).flatMap((alarm) => {
    const { threshold, severity } = alarmSetting(alarm, settings);
    return severity !== 'off' && value >= threshold ? [severity] : [];
  });
  return severities.includes('critical') ? 'critical' : severities[0];
}

/** The signals that announced maintenance explains. */
export const EXPLAINED_BY_MAINTENANCE: ReadonlySet<SignalId> = new Set(
  ALARM_IDS.flatMap((id) => {
    const { maintenance }: AlarmEntry = ALARMS[id];
    const watched = watchedSignal(id);
    return maintenance && watched !== undefined ? [watched] : [];
  }),
);
