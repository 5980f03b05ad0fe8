import { array, assert, constantFrom, integer, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { alarmState, evaluationRange, MISSING_DATA_TREATMENTS } from './missing-data.ts';

const POINT: Readonly<Record<string, boolean>> = { X: true, '0': false };

// Columns: points, M of 3, breaching, notBreaching.
const ROWS: readonly (readonly [points: string, m: number, ...states: string[]])[] = [
  // The tables of the User Guide.
  ['0 - X - X', 3, 'OK', 'OK'],
  ['0 - - - -', 3, 'OK', 'OK'],
  ['- - - - -', 3, 'ALARM', 'OK'],
  ['0 X X - X', 3, 'ALARM', 'ALARM'],
  ['- - X - -', 3, 'ALARM', 'OK'],
  ['0 - X - X', 2, 'ALARM', 'ALARM'],
  ['0 0 X 0 X', 2, 'ALARM', 'ALARM'],
  ['0 - X - -', 2, 'ALARM', 'OK'],
  ['- - - - 0', 2, 'ALARM', 'OK'],
  ['- - - X -', 2, 'ALARM', 'OK'],
  // Its text on premature transitions.
  ['- - - - X', 3, 'ALARM', 'OK'],
  ['- - - X -', 3, 'ALARM', 'OK'],
  ['- - - X 0', 3, 'OK', 'OK'],
  ['- - X - 0', 3, 'OK', 'OK'],
  // Older points are not needed where nothing is missing, and are not looked at.
  ['X X 0 0 0', 2, 'OK', 'OK'],
  ['X X X X 0', 3, 'OK', 'OK'],
  ['0 0 X X X', 3, 'ALARM', 'ALARM'],
  ['- - - - X', 1, 'ALARM', 'ALARM'],
];

describe('missing data', () => {
  it.each(
    ROWS.flatMap(([points, m, ...states]) =>
      MISSING_DATA_TREATMENTS.map((treatment, column) => [points, m, treatment, states[column]] as const),
    ),
  )('%s, %i of 3, %s: %s', (text, datapointsToAlarm, treatMissingData, expected) => {
    const points = text.split(' ').map((point) => POINT[point]);
    expect(alarmState(points, { evaluationPeriods: 3, datapointsToAlarm, treatMissingData })).toBe(expected);
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
          const rings = alarmState(points, alarm) === 'ALARM';
          const cause = points.includes(true) || treatMissingData === 'breaching';
          const worse = points.map((breaches) => (breaches === false ? true : breaches));
          if (rings && !(cause && alarmState(worse, alarm) === 'ALARM')) wrong.push({ points, alarm });
        },
      ),
      { seed: 7, numRuns: 500 },
    );
    expect(wrong).toEqual([]);
  });
});
