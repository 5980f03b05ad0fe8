import { describe, expect, it } from 'vitest';

import { parseAlarmRule } from './alarm-rule.ts';

describe('the rule of a composite alarm', () => {
  it.each([
    ['ALARM("a")', true],
    ['ALARM(b)', false],
    ['OK(b)', true],
    ['INSUFFICIENT_DATA("c d")', true],
    ['ALARM("arn:aws:cloudwatch:eu-central-1:1:alarm:a")', true],
    ['(ALARM("b") OR ALARM("a"))', true],
    ['ALARM("a") AND ALARM("b")', false],
    ['NOT ALARM("b")', true],
    ['NOT (ALARM("a") OR ALARM("b"))', false],
    ['NOT ALARM("a") OR TRUE', true],
    ['ALARM("a") OR ALARM("a") AND FALSE', true],
    ['(ALARM("a") OR ALARM("a")) AND FALSE', false],
  ])('%s is %s', (text, expected) => {
    const { holds } = parseAlarmRule(text);
    expect(holds((name) => (name === 'a' ? 'ALARM' : name === 'b' ? 'OK' : 'INSUFFICIENT_DATA'))).toBe(expected);
  });

  it.each([
    ['', 'a state'],
    ['ALARM("a"', 'expected )'],
    ['ALARM()', 'an alarm'],
    ['ALARM("a") ALARM("b")', 'the end'],
    ['AT_LEAST(2, ALARM, (a, b))', 'a state'],
    ['ALARM("a") OR', 'a state'],
    ['ALARM("a") & ALARM("b")', 'the end'],
  ])('refuses %s', (text, message) => {
    expect(() => parseAlarmRule(text)).toThrow(message);
  });

  it('says whom it asks', () => {
    expect(parseAlarmRule('ALARM("a") OR NOT OK(b)').alarms).toEqual(['a', 'b']);
  });
});
