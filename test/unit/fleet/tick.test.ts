import { describe, expect, it } from 'vitest';
import { tickAt, tickOf } from '../../../lambdas/fleet/tick.ts';

const NOW = Date.parse('2026-11-21T10:02:17.250Z');
const MINUTE = Date.parse('2026-11-21T10:02:00Z');

describe('tickOf', () => {
  it.each([
    ['the minute it was scheduled for, however late it comes', '2026-11-21T10:01:00Z', MINUTE - 60_000],
    ['the same minute for every delivery', '2026-11-21T10:02:00Z', MINUTE],
    ['a whole minute, whatever the seconds', '2026-11-21T10:02:59.999Z', MINUTE],
    ['the minute it was scheduled for, five minutes later', '2026-11-21T09:57:17.250Z', MINUTE - 5 * 60_000],
    ['the current minute, more than five minutes later', '2026-11-21T09:57:17.249Z', MINUTE],
    ['the current minute for a placeholder', '<aws.scheduler.scheduled-time>', MINUTE],
    ['the current minute for a time far away', '2020-01-01T00:00:00Z', MINUTE],
    ['the current minute for a time to come', '2036-01-01T00:00:00Z', MINUTE],
    ['the current minute without text', 1_795_000_000_000, MINUTE],
  ])('is %s', (_, tick, expected) => {
    expect(tickOf({ tick }, NOW)).toBe(expected);
  });

  it.each([undefined, null, 'text', 7, {}, []])('is the current minute for the event %j', (event) => {
    expect(tickOf(event, NOW)).toBe(MINUTE);
  });
});

describe('tickAt', () => {
  it.each([
    [MINUTE - 60_000, MINUTE - 60_000],
    [NOW + 5 * 60_000, MINUTE + 5 * 60_000],
    [NOW - 5 * 60_000 - 1, MINUTE],
    [NOW + 5 * 60_000 + 1, MINUTE],
    [Number.NEGATIVE_INFINITY, MINUTE],
    [0, MINUTE],
  ])('gives for %d the minute of it, or the current one when it is far away', (time, expected) => {
    expect(tickAt(time, NOW)).toBe(expected);
  });
});
