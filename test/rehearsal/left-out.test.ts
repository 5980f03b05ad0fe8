import { describe, expect, it } from 'vitest';
import { createThroughApi, deleteThroughApi, missingAlarms, ruleWithout } from './left-out.ts';

const leftOut = { reason: 'r', logicalId: 'Unreadable' };
const insights = { ...leftOut, type: 'AWS::CloudWatch::Alarm', properties: { AlarmName: 'certmarshal-unreadable' } };
const composite = {
  ...leftOut,
  type: 'AWS::CloudWatch::CompositeAlarm',
  properties: {
    AlarmName: 'certmarshal-critical',
    AlarmRule: 'ALARM("certmarshal-heartbeat") OR ALARM("certmarshal-unreadable")',
    AlarmActions: ['arn:pager'],
    OKActions: ['arn:pager'],
  },
};

/** Records what is asked for. */
function accountOf() {
  const asked: unknown[] = [];
  const query = async (_service: string, _version: string, action: string, parameters: object) => {
    asked.push([action, parameters]);
    return '';
  };
  const account = { calls: { query }, eks: {} } as unknown as Parameters<typeof createThroughApi>[1];
  return { asked, account };
}

describe('alarms that were left out', () => {
  it('are known by name', () => {
    expect([...missingAlarms([insights, composite])]).toEqual(['certmarshal-unreadable']);
  });

  it('are not asked for by a composite alarm, which is made and deleted through the API', async () => {
    const { asked, account } = accountOf();
    expect(await createThroughApi(composite, account, missingAlarms([insights]))).toBe(true);
    await deleteThroughApi(composite, account);
    await deleteThroughApi(insights, account);
    expect(asked).toEqual([
      [
        'PutCompositeAlarm',
        {
          AlarmName: 'certmarshal-critical',
          AlarmRule: 'ALARM("certmarshal-heartbeat")',
          'AlarmActions.member.1': 'arn:pager',
          'OKActions.member.1': 'arn:pager',
        },
      ],
      ['DeleteAlarms', { 'AlarmNames.member.1': 'certmarshal-critical' }],
    ]);
  });

  it('are not made, nor a composite alarm of nothing else', async () => {
    const { asked, account } = accountOf();
    expect(await createThroughApi(insights, account)).toBe(false);
    const properties = { ...composite.properties, AlarmRule: 'ALARM("certmarshal-unreadable")' };
    expect(await createThroughApi({ ...composite, properties }, account, missingAlarms([insights]))).toBe(false);
    expect(asked).toEqual([]);
  });

  it('are not looked for in a rule of another form', () => {
    expect(() => ruleWithout('NOT ALARM("a")', new Set())).toThrow('not understood');
  });
});
