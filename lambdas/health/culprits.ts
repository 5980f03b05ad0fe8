import {
  ALARM_IDS,
  ALARMS,
  type AlarmEntry,
  type AlarmId,
  type AlarmSettings,
  type AlarmSeverity,
  alarmOfSignal,
  alarmSetting,
  watchedSignal,
} from '../tables/alarms.ts';
import type { Signal, SignalId } from '../tables/signals.ts';
import { firingRows } from './series.ts';

/** The severity of the alarm that fires for a signal, by its value or that of one of its classes. Pure. */
export function ringsAt(
  signal: Pick<Signal, 'id' | 'value' | 'classes'>,
  settings: AlarmSettings,
): AlarmSeverity | undefined {
  const alarm = alarmOfSignal(signal.id);
  if (alarm === undefined) return undefined;
  const { severity } = alarmSetting(alarm, settings);
  return severity !== 'off' && firingRows(signal, settings).length > 0 ? severity : undefined;
}

/** The signals that announced maintenance explains. */
export const EXPLAINED_BY_MAINTENANCE: ReadonlySet<SignalId> = new Set(
  ALARM_IDS.flatMap((id: AlarmId) => {
    const { maintenance }: AlarmEntry = ALARMS[id];
    const watched = watchedSignal(id);
    return maintenance && watched !== undefined ? [watched] : [];
  }),
);
