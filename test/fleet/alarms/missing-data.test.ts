import { array, assert, constantFrom, integer, property } from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  ALARM_STATES,
  type AlarmState,
  alarmState,
  evaluationRange,
  MISSING_DATA_TREATMENTS,
  type MissingDataTreatment,
} from './missing-data.ts';

const POINT: Readonly<Record<string, boolean>> = { X: true, '0': false };

function stateOf(points: string, m: number, treatMissingData: MissingDataTreatment, current: AlarmState): AlarmState {
  return alarmState(
    points.split(' ').map((point) => POINT[point]),
    { evaluationPeriods: 3, datapointsToAlarm: m, treatMissingData },
    current,
  );
}

// Columns: missing, ignore, breaching, notBreaching. "keep" is the state before.
const ROWS: readonly (readonly [points: string, m: number, ...states: string[]])[] = [
  // The tables of the User Guide.
  ['0 - X - X', 3, 'OK', 'OK', 'OK', 'OK'],
  ['0 - - - -', 3, 'OK', 'OK', 'OK', 'OK'],
  ['- - - - -', 3, 'INSUFFICIENT_DATA', 'keep', 'ALARM', 'OK'],
  ['0 X X - X', 3, 'ALARM', 'ALARM', 'ALARM', 'ALARM'],
  ['- - X - -', 3, 'ALARM', 'keep', 'ALARM', 'OK'],
  ['0 - X - X', 2, 'ALARM', 'ALARM', 'ALARM', 'ALARM'],
  ['0 0 X 0 X', 2, 'ALARM', 'ALARM', 'ALARM', 'ALARM'],
  ['0 - X - -', 2, 'OK', 'OK', 'ALARM', 'OK'],
  ['- - - - 0', 2, 'OK', 'OK', 'ALARM', 'OK'],
  ['- - - X -', 2, 'ALARM', 'keep', 'ALARM', 'OK'],
  // Its text on premature transitions.
  ['- - - - X', 3, 'keep', 'keep', 'ALARM', 'OK'],
  ['- - - X -', 3, 'keep', 'keep', 'ALARM', 'OK'],
  ['- - - X 0', 3, 'OK', 'OK', 'OK', 'OK'],
  ['- - X - 0', 3, 'OK', 'OK', 'OK', 'OK'],
  // Older points are not needed where nothing is missing, and are not looked at.
  ['X X 0 0 0', 2, 'OK', 'OK', 'OK', 'OK'],
  ['X X X X 0', 3, 'OK', 'OK', 'OK', 'OK'],
  ['0 0 X X X', 3, 'ALARM', 'ALARM', 'ALARM', 'ALARM'],
  ['- - - - X', 1, 'ALARM', 'ALARM', 'ALARM', 'ALARM'],
];

describe('missing data', () => {
  it.each(
    ROWS.flatMap(([points, m, ...states]) =>
      (['missing', 'ignore', 'breaching', 'notBreaching'] as const).flatMap((treatment, column) =>
        ALARM_STATES.map((current) => {
          const state = states[column] ?? '';
          return [points, m, treatment, current, state === 'keep' ? current : state] as const;
        }),
      ),
    ),
  )('%s, %i of 3, %s, from %s: %s', (points, m, treatment, current, expected) => {
    expect(stateOf(points, m, treatment, current)).toBe(expected);
  });

  it('looks at five points for three periods', () => {
    expect(evaluationRange({ evaluationPeriods: 3 })).toBe(5);
  });

  it('never rings without a breaching point, but where missing ones breach; and never less for more breaching ones', () => {
    const point = constantFrom(true, false, undefined);
    const wrong: unknown[] = [];
    assert(
      property(
        array(point, { minLength: 5, maxLength: 5 }),
        integer({ min: 1, max: 3 }),
        constantFrom(...MISSING_DATA_TREATMENTS),
        (points, datapointsToAlarm, treatMissingData) => {
          const alarm = { evaluationPeriods: 3, datapointsToAlarm, treatMissingData };
          const rings = alarmState(points, alarm, 'OK') === 'ALARM';
          const cause = points.includes(true) || treatMissingData === 'breaching';
          const worse = points.map((breaches) => (breaches === false ? true : breaches));
          if (rings && !(cause && alarmState(worse, alarm, 'OK') === 'ALARM')) wrong.push({ points, alarm });
        },
      ),
      { seed: 7, numRuns: 500 },
    );
    expect(wrong).toEqual([]);
  });
});
