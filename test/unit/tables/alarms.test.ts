import { expect, it } from 'vitest';
import { ALARM_IDS, ALARMS, alarmOfSignal, watchedSignal } from '../../../lambdas/tables/alarms.ts';
import { SIGNAL_IDS } from '../../../lambdas/tables/signals.ts';

it('has one alarm on each signal', () => {
  expect(SIGNAL_IDS.filter((id) => ALARM_IDS.filter((alarm) => watchedSignal(alarm) === id).length !== 1)).toEqual([]);
  expect(SIGNAL_IDS.map((id) => watchedSignal(alarmOfSignal(id)!))).toEqual(SIGNAL_IDS);
});

it('burns fast where the budget of a month is gone in two days, and slowly where it is in five', () => {
  expect([ALARMS.SloFastBurn.threshold, ALARMS.SloSlowBurn.threshold]).toEqual([14.4, 6]);
});

it('rings for one snapshot that is not kept: where audits are rare, there is no second one in its window', () => {
  expect(ALARMS.SnapshotsUnwritten.datapoints).toEqual({ atLeast: 1, of: 30 });
});
