import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readAlarmMessage } from '../../../lambdas/notify/alarm-message.ts';
import { at, MINUTE, NOW } from '../fleet/values.ts';

const read = (value: unknown) => readAlarmMessage(JSON.stringify(value), NOW);

describe('readAlarmMessage', () => {
  it('reads what CloudWatch writes', () => {
    expect(
      read({
        AlarmName: 'certmarshal-sweep-timeout',
        AlarmDescription: 'Messages wait',
        NewStateValue: 'ALARM',
        NewStateReason: 'Threshold Crossed: 3 out of the last 5 datapoints',
        StateChangeTime: '2026-11-21T09:59:58.123+0000',
        OldStateValue: 'OK',
        Trigger: { Dimensions: [] },
      }),
    ).toEqual({
      name: 'certmarshal-sweep-timeout',
      state: 'ALARM',
      changedAt: '2026-11-21T09:59:58.123Z',
      reason: 'Threshold Crossed: 3 out of the last 5 datapoints',
    });
  });

  it.each([
    [
      'Meaning.\nFirst: aws logs tail /aws/lambda/hub-Sweep1A2B --since 15m\nRunbook: r',
      'aws logs tail /aws/lambda/hub-Sweep1A2B --since 15m',
    ],
    [
      'First: aws sqs get-queue-attributes --queue-url https://sqs.eu-central-1.amazonaws.com/111122223333/jobs.fifo --attribute-names All',
      'aws sqs get-queue-attributes --queue-url https://sqs.eu-central-1.amazonaws.com/111122223333/jobs.fifo --attribute-names All',
    ],
    ['First: aws logs tail x; reboot', undefined],
    ['First: aws logs tail $(reboot)', undefined],
    ['First: rm -rf x', undefined],
    [`First: aws ${'x'.repeat(500)}`, undefined],
    [`First: aws x\n${'x'.repeat(1_100)}`, undefined],
    ['Meaning.', undefined],
    [7, undefined],
  ])('takes of the description only a command that holds nothing for a shell: %j', (AlarmDescription, first) => {
    expect(read({ AlarmName: 'a', NewStateValue: 'ALARM', AlarmDescription })?.first).toBe(first);
  });

  it('needs no more than name and state', () => {
    expect(
      read({
        AlarmName: 'a',
        NewStateValue: 'OK',
        AlarmContributor: { id: 7 },
        StateChangeTime: {},
        NewStateReason: 7,
      }),
    ).toEqual({ name: 'a', state: 'OK' });
  });

  it('believes no time that is far ahead, and none that is none', () => {
    for (const StateChangeTime of [at(11 * MINUTE), 'soon', '', '9'.repeat(50), '-000001-01-01T00:00:00Z'])
      expect(read({ AlarmName: 'a', NewStateValue: 'OK', StateChangeTime })).toEqual({ name: 'a', state: 'OK' });
  });

  it('makes name and reason harmless', () => {
    const told = read({ AlarmName: 'a\nb', NewStateValue: 'ALARM', NewStateReason: `\u202e${'x'.repeat(10_000)}` });
    expect(told?.name).toBe('a\\u{a}b');
    expect(told?.reason).toMatch(/^\\u\{202e\}x{299}…$/);
  });

  it.each([
    [{}],
    [null],
    ['text'],
    [{ AlarmName: 'a' }],
    [{ AlarmName: '', NewStateValue: 'OK' }],
    [{ AlarmName: 'a', NewStateValue: 'ok' }],
    [{ AlarmName: 7, NewStateValue: 'OK' }],
  ])('is none: %j', (value) => {
    expect(read(value)).toBeUndefined();
  });

  it('throws at nothing', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        expect(readAlarmMessage(text, NOW)?.name).not.toBe('');
      }),
      { seed: 5 },
    );
  });
});
