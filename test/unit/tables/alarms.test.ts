import { describe, expect, it } from 'vitest';
import { ALARMS, type AlarmSettings, isByClass, signalsByClass } from '../../../lambdas/tables/alarms.ts';
import { CLASS_SIGNALS } from '../../../lambdas/tables/signals.ts';

describe('the alarms on signals that are told by class', () => {
  it('look at each class, but together where it takes more than one', () => {
    expect(isByClass('CertificatesCritical', 1)).toBe(true);
    expect(isByClass('CertificatesCritical', 2)).toBe(false);
    expect(isByClass('UnreadableFor', 1)).toBe(false);
  });

  it.each<[string, AlarmSettings, readonly string[]]>([
    ['nothing is set', {}, [...CLASS_SIGNALS]],
    ['a threshold is set', { CertificateWarning: { threshold: 5, severity: 'warning' } }, ['CertificatesCritical']],
    ['that alarm is off', { CertificateWarning: { threshold: 5, severity: 'off' } }, [...CLASS_SIGNALS]],
    ['one of another signal is set', { KubeletOverdue: { threshold: 3, severity: 'critical' } }, [...CLASS_SIGNALS]],
  ])('ask by class only where %s', (_, settings, expected) => {
    expect([...signalsByClass(settings)]).toEqual(expected);
  });
});

it('burns fast where the budget of a month is gone in two days, and slowly where it is in five', () => {
  expect([ALARMS.SloFastBurn.threshold, ALARMS.SloSlowBurn.threshold]).toEqual([14.4, 6]);
});

it('rings for one snapshot that is not kept: where audits are rare, there is no second one in its window', () => {
  expect(ALARMS.SnapshotsUnwritten.datapoints).toEqual({ atLeast: 1, of: 30 });
});
