export type AlarmState = 'OK' | 'ALARM' | 'INSUFFICIENT_DATA';
/** Those that alarms of ours use. */
export const MISSING_DATA_TREATMENTS = ['breaching', 'notBreaching'] as const;
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
 * @param points of the evaluation range, the oldest first: whether each breaches; undefined is a missing one
 */
export function alarmState(points: readonly (boolean | undefined)[], alarm: MOfN): 'OK' | 'ALARM' {
  const { evaluationPeriods, datapointsToAlarm, treatMissingData } = alarm;
  const real = points.filter((breaches) => breaches !== undefined).slice(-evaluationPeriods);
  const filled = treatMissingData === 'breaching' ? evaluationPeriods - real.length : 0;
  return real.filter(Boolean).length + filled >= datapointsToAlarm ? 'ALARM' : 'OK';
}
