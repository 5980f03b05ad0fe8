import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatDuration, parseDuration } from '../../../lambdas/config/duration.ts';

describe('parseDuration', () => {
  it.each([
    ['0s', 0],
    ['90s', 90],
    ['15m', 900],
    ['2h', 7200],
    ['366d', 31_622_400],
    ['999999999d', 86_399_999_913_600],
  ])('reads %s as %d seconds', (text, seconds) => {
    expect(parseDuration(text)).toBe(seconds);
  });

  it.each([
    '',
    's',
    '5',
    '1.5h',
    '-1s',
    '+1s',
    '01s',
    '1h30m',
    '1 m',
    ' 1m',
    '1m\n',
    '1M',
    '1w',
    '1000000000s',
    '1e3s',
  ])('refuses %j', (text) => {
    expect(parseDuration(text)).toBeUndefined();
  });
});

describe('formatDuration', () => {
  it.each([
    [0, '0s'],
    [59, '59s'],
    [90, '90s'],
    [900, '15m'],
    [7200, '2h'],
    [86_400, '1d'],
    [90_000, '25h'],
  ])('writes %d seconds as %s', (seconds, text) => {
    expect(formatDuration(seconds)).toBe(text);
  });

  it('writes what parseDuration reads back', () => {
    fc.assert(
      fc.property(fc.nat({ max: 999_999_999 }), (seconds) => {
        expect(parseDuration(formatDuration(seconds))).toBe(seconds);
      }),
      { seed: 1 },
    );
  });
});
