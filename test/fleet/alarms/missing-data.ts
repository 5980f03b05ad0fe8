export const ALARM_STATES = ['OK', 'ALARM', 'INSUFFICIENT_DATA'] as const;
export type AlarmState = (typeof ALARM_STATES)[number];
export const MISSING_DATA_TREATMENTS = ['breaching', 'notBreaching', 'ignore', 'missing'] as const;
export type MissingDataTreatment = (typeof MISSING_DATA_TREATMENTS)[number];

export interface MOfN {
  readonly evaluationPeriods: number;
  readonly datapointsToAlarm: number;
  readonly treatMissingData: MissingDataTreatment;
}

/**
 * How many data points CloudWatch looks at. It says only that these are more than the evaluation periods, and 5 for 3 of them: what was late, or
 * missing, is made up for by older ones.
 */
export function evaluationRange({ evaluationPeriods }: Pick<MOfN, 'evaluationPeriods'>): number {
  return evaluationPeriods + 2;
}

/**
 * The state of an alarm. Source: Amazon CloudWatch User Guide, "Configuring how CloudWatch alarms treat missing data", tables and "How alarm state is
 * evaluated when data is missing", "Avoiding premature transitions to alarm state".
 *
 * Where these say nothing, breaching points that are too few and too young, and nothing else there, the state stays.
 *
 * @param points of the evaluation range, the oldest first: whether each breaches; undefined is a missing one
 */
export function alarmState(points: readonly (boolean | undefined)[], alarm: MOfN, current: AlarmState): AlarmState {
  const { evaluationPeriods, datapointsToAlarm, treatMissingData } = alarm;
  const real = points.filter((breaches) => breaches !== undefined).slice(-evaluationPeriods);
  const breaching = real.filter(Boolean).length;
  if (breaching >= datapointsToAlarm) return 'ALARM';
  const filled = evaluationPeriods - real.length;
  if (filled === 0 || treatMissingData === 'notBreaching') return 'OK';
  if (treatMissingData === 'breaching') return breaching + filled >= datapointsToAlarm ? 'ALARM' : 'OK';
  if (real.length > breaching) return 'OK';
  if (treatMissingData === 'ignore') return current;
  if (breaching === 0) return 'INSUFFICIENT_DATA';
  const age = points.length - points.indexOf(true);
  return age >= datapointsToAlarm ? 'ALARM' : current;
}
