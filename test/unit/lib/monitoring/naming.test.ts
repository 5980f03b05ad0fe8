import { describe, expect, it } from 'vitest';
import { alarmOf } from '../../../../lambdas/notify/alarm-name.ts';
import { ALARMS, type AlarmId } from '../../../../lambdas/tables/alarms.ts';
import { type NameParts, nameOf } from '../../../../lib/monitoring/naming.ts';

describe('nameOf', () => {
  it.each<[NameParts, string]>([
    [{}, 'certmarshal'],
    [{ level: 'critical' }, 'certmarshal-critical'],
    [{ level: 'warning', disambiguator: 'group-2' }, 'certmarshal-warning-group-2'],
    [{ disambiguator: 'eu-central-1' }, 'certmarshal-eu-central-1'],
    [{ disambiguator: 'certmarshal' }, 'certmarshal'],
    [{ alarm: 'ClusterUnreadable' }, 'certmarshal-cluster-unreadable'],
    [{ alarm: 'FunctionErrors', disambiguator: 'sweep-onprem' }, 'certmarshal-function-errors-sweep-onprem'],
  ])('of %j is %s', (parts, expected) => {
    expect(nameOf(parts)).toBe(expected);
  });

  it.each(Object.keys(ALARMS) as AlarmId[])('of %s is read back by notify, with what tells it apart', (alarm) => {
    expect(alarmOf(nameOf({ alarm }))).toEqual({ alarm });
    expect(alarmOf(nameOf({ alarm, disambiguator: 'sweep-onprem' }))).toEqual({ alarm, part: 'sweep-onprem' });
  });

  it.each(['critical', 'warning'] as const)('of level %s is that of no alarm', (level) => {
    expect(alarmOf(nameOf({ level }))).toBeUndefined();
    expect(alarmOf(nameOf({ level, disambiguator: 'group-1' }))).toBeUndefined();
  });

  it('refuses what CloudWatch would', () => {
    expect(() => nameOf({ level: 'critical', disambiguator: 'x'.repeat(300) })).toThrow('255 characters');
  });
});
