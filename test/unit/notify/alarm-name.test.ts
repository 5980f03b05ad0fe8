import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { alarmName, alarmOf } from '../../../lambdas/notify/alarm-name.ts';
import { ALARMS, type AlarmId } from '../../../lambdas/tables/alarms.ts';

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of a constant
const IDS = Object.keys(ALARMS) as AlarmId[];

describe('alarmName', () => {
  it.each([
    ['ClusterUnreadable', undefined, 'certmarshal-cluster-unreadable'],
    ['FunctionErrors', 'sweep-onprem', 'certmarshal-function-errors-sweep-onprem'],
  ] as const)('%s %s', (alarm, part, name) => {
    expect(alarmName(alarm, part)).toBe(name);
  });

  it('is read back, for every alarm and part', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...IDS),
        fc.option(fc.stringMatching(/^[a-z0-9][A-Za-z0-9_-]{0,40}$/), { nil: undefined }),
        (alarm, part) => {
          expect(alarmOf(alarmName(alarm, part))).toEqual(part === undefined ? { alarm } : { alarm, part });
        },
      ),
      { seed: 11 },
    );
  });

  it('gives no two alarms one name, nor one that begins as another does', () => {
    const names = IDS.map((id) => alarmName(id));
    for (const name of names)
      expect(names.filter((other) => other === name || other.startsWith(`${name}-`))).toEqual([name]);
  });

  it('refuses a part that could not be read back', () => {
    for (const part of ['', '-a', 'a b', 'ä', 'a\n'])
      expect(() => alarmName('SweepTimeout', part)).toThrow('cannot be');
  });
});

describe('alarmOf', () => {
  it.each([
    '',
    'certmarshal',
    'certmarshal-',
    'certmarshal-critical',
    'cluster-unreadable',
    'certmarshal-sweep-timeout-',
    'x-certmarshal-sweep-timeout',
    'certmarshal-sweep-timeouts',
  ])('knows no %j', (name) => {
    expect(alarmOf(name)).toBeUndefined();
  });
});
