import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  formatHoldMark,
  formatRolloutMark,
  type HoldMark,
  parseHoldMark,
  parseRolloutMark,
  type RolloutMark,
} from '../../../lambdas/contracts/rollout-mark.ts';

const MARK: RolloutMark = {
  id: '20261128-3f9a0c12d4',
  start: '2026-11-28T02:29:55Z',
  reason: 'kube-apiserver ends in 40 days',
  trigger: 'schedule',
};
const HOLD: HoldMark = {
  id: '20261128-3f9a0c12d4',
  at: '2026-11-28T03:29:55Z',
  reason: 'stuck',
  message: 'Machine berlin-prod-4: nothing moved for 45 minutes',
};

const id = fc.stringMatching(/^[a-z0-9-]{1,26}$/);
const start = fc
  .date({ min: new Date(0), max: new Date(8e12), noInvalidDate: true })
  .map((date) => date.toISOString().replace(/\.\d+Z$/, 'Z'));
const words = fc.string({ unit: 'binary', maxLength: 3000 });
const runs = { seed: 20_261_122, numRuns: 300 };

describe('the annotation that says which rollout goes on', () => {
  it('is one line of JSON', () => {
    expect(formatRolloutMark(MARK)).toBe(
      '{"id":"20261128-3f9a0c12d4","start":"2026-11-28T02:29:55Z","reason":"kube-apiserver ends in 40 days","trigger":"schedule"}',
    );
    const aborted = { ...MARK, abortedAt: '2026-11-28T03:00:00Z' };
    expect(parseRolloutMark(formatRolloutMark(aborted))).toEqual(aborted);
  });

  it('is read as it was written, whatever the reason was', () => {
    const mark = fc.record({ id, start, reason: words, trigger: fc.constantFrom('schedule', 'person') });
    fc.assert(
      fc.property(mark, (written) => {
        const once = parseRolloutMark(formatRolloutMark(written));
        expect(once).toMatchObject({ id: written.id, start: written.start, trigger: written.trigger });
        if (once === 'unreadable') return;
        expect(parseRolloutMark(formatRolloutMark(once))).toEqual(once);
      }),
      runs,
    );
  });

  it('keeps as much of a reason that is too long as can be read again when it had to be made printable', () => {
    const reason = 'a'.repeat(1_201);
    expect(parseRolloutMark(formatRolloutMark({ ...MARK, reason }))).toEqual({
      ...MARK,
      reason: `${'a'.repeat(599)}…`,
    });
  });

  it.each([
    [4_096, MARK],
    [4_097, 'unreadable'],
  ])('may have %d characters or not', (length, expected) => {
    expect(parseRolloutMark(formatRolloutMark(MARK).padEnd(length))).toEqual(expected);
  });

  it.each([
    ['nothing', undefined],
    ['an object', MARK],
    ['no JSON', '{'],
    ['a list', '[]'],
    ['null', 'null'],
    ['a text', '"a"'],
    ['no id', JSON.stringify({ ...MARK, id: undefined })],
    ['a long id', JSON.stringify({ ...MARK, id: 'a'.repeat(27) })],
    ['an id that a shell reads', JSON.stringify({ ...MARK, id: '$(x)' })],
    ['a start that is no time', JSON.stringify({ ...MARK, start: 'yesterday' })],
    ['a start before 1970', JSON.stringify({ ...MARK, start: '1969-12-31T23:59:59Z' })],
    ['a start that Kubernetes cannot keep', JSON.stringify({ ...MARK, start: '2026-11-28T02:29:55.001Z' })],
    ['another trigger', JSON.stringify({ ...MARK, trigger: 'cron' })],
    ['a reason that draws on a terminal', JSON.stringify({ ...MARK, reason: '\u{1b}[2J' })],
    ['a reason that is too long', JSON.stringify({ ...MARK, reason: 'a'.repeat(1201) })],
    ['an end that is no time', JSON.stringify({ ...MARK, abortedAt: null })],
    ['a field that nobody knows', JSON.stringify({ ...MARK, force: true })],
    ['a prototype', JSON.stringify(MARK).replace('{', '{"__proto__":{},')],
    ['more than it ever is', ' '.repeat(4097) + JSON.stringify(MARK)],
  ])('cannot be read with %s', (_, value) => {
    expect(parseRolloutMark(value)).toBe('unreadable');
  });
});

describe('the annotation that holds a rollout', () => {
  it('is read as it was written, whatever the message was', () => {
    expect(parseHoldMark(formatHoldMark(HOLD))).toEqual(HOLD);
    const hold = fc.record({ id, at: start, reason: fc.constantFrom('stuck', 'paused'), message: words });
    fc.assert(
      fc.property(hold, (written) => {
        const once = parseHoldMark(formatHoldMark(written));
        expect(once).toMatchObject({ id: written.id, at: written.at, reason: written.reason });
      }),
      runs,
    );
  });

  it.each([
    ['no JSON', 'true or false'],
    ['no message', JSON.stringify({ ...HOLD, message: undefined })],
    ['a reason that is no page', JSON.stringify({ ...HOLD, reason: '../x' })],
    ['a time that is none', JSON.stringify({ ...HOLD, at: 1 })],
    ['a field that nobody knows', JSON.stringify({ ...HOLD, until: HOLD.at })],
  ])('cannot be read with %s', (_, value) => {
    expect(parseHoldMark(value)).toBe('unreadable');
  });

  it('never throws', () => {
    fc.assert(
      fc.property(fc.oneof(fc.anything(), fc.json(), fc.string()), (value) => {
        expect(parseHoldMark(value)).toBe('unreadable');
        expect(parseRolloutMark(value)).toBe('unreadable');
      }),
      runs,
    );
  });
});
