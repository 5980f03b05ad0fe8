import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { endOfWindow, nextOpening, openFor, WEEKDAYS, type WeeklyWindow } from '../../../lambdas/window/window.ts';

const at = (text: string) => Date.parse(text);
const shown = (time: number | undefined) => (time === undefined ? undefined : new Date(time).toISOString());

const SATURDAY_NIGHT: WeeklyWindow = { days: ['sat'], from: '02:00', until: '06:00', timeZone: 'Europe/Berlin' };
const ONCE = { from: '2026-12-05T20:00:00+01:00', until: '2026-12-05T23:00:00+01:00' };

describe('a window of time', () => {
  it.each([
    ['before it', '2026-11-27T12:00:00Z', undefined, '2026-11-28T01:00:00.000Z'],
    ['at its first moment', '2026-11-28T01:00:00Z', '2026-11-28T05:00:00.000Z', '2026-12-05T01:00:00.000Z'],
    ['in its last second', '2026-11-28T04:59:59Z', '2026-11-28T05:00:00.000Z', '2026-12-05T01:00:00.000Z'],
    ['when it is over', '2026-11-28T05:00:00Z', undefined, '2026-12-05T01:00:00.000Z'],
    ['over the change to summer', '2026-03-28T12:00:00Z', undefined, '2026-04-04T00:00:00.000Z'],
  ])('every week, %s', (_, now, end, next) => {
    expect(shown(endOfWindow(SATURDAY_NIGHT, at(now)))).toBe(end);
    expect(shown(nextOpening(SATURDAY_NIGHT, at(now)))).toBe(next);
  });

  it.each([
    ['before it', '2026-12-05T18:59:59Z', undefined, '2026-12-05T19:00:00.000Z'],
    ['in it', '2026-12-05T19:00:00Z', '2026-12-05T22:00:00.000Z', undefined],
    ['after it', '2026-12-05T22:00:00Z', undefined, undefined],
  ])('once, %s', (_, now, end, next) => {
    expect(shown(endOfWindow(ONCE, at(now)))).toBe(end);
    expect(shown(nextOpening(ONCE, at(now)))).toBe(next);
  });

  it.each([
    ['all of it where there are none', [], 24 * 7, 24 * 7],
    ['what one is open, and ends in it', [SATURDAY_NIGHT], 3, 3],
    ['each of them', [SATURDAY_NIGHT], 24 * 14, 8],
    ['no more than is enough', [SATURDAY_NIGHT], 24 * 300, 12],
    ['what two are open at once, once', [SATURDAY_NIGHT, { ...SATURDAY_NIGHT, until: '05:00' }], 24 * 7, 4],
    ['what is once, too', [SATURDAY_NIGHT, ONCE], 24 * 14, 11],
    ['nothing where none ever opens', [{ ...SATURDAY_NIGHT, timeZone: 'Europe/Atlantis' }], 24 * 7, 0],
    ['nothing of a time that was not', [], -1, 0],
    ['nothing of what is no time', [SATURDAY_NIGHT], Number.NaN, 0],
  ])('counts %s', (_, windows, hours, expected) => {
    const from = at('2026-11-28T01:00:00Z');
    const until = from + hours * 3_600_000;
    expect(openFor(windows, { from, until }, 9 * 3_600_000)).toBe(expected * 3_600_000);
  });

  it('never opens when its zone or a time makes no sense', () => {
    for (const window of [
      { ...SATURDAY_NIGHT, timeZone: 'Europe/Atlantis' },
      { ...SATURDAY_NIGHT, from: '25:00' },
      { from: 'yesterday', until: 'tomorrow' },
    ]) {
      expect(endOfWindow(window, at('2026-11-28T02:00:00Z'))).toBeUndefined();
      expect(nextOpening(window, at('2026-11-28T02:00:00Z'))).toBeUndefined();
    }
  });

  it('is closed until the next opening, and open then', () => {
    const time = fc.integer({ min: 0, max: 24 * 60 - 1 }).map((minute) => {
      const [hours, minutes] = [Math.floor(minute / 60), minute % 60];
      return `${String(hours).padStart(2, '0')}:${String(minutes).padStart(2, '0')}`;
    });
    const weekly = fc.record({
      days: fc.uniqueArray(fc.constantFrom(...WEEKDAYS), { minLength: 1 }),
      from: time,
      until: time,
      timeZone: fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kolkata'),
    });
    const now = fc.integer({ min: at('2026-01-01T00:00:00Z'), max: at('2027-12-31T00:00:00Z') });
    fc.assert(
      fc.property(weekly, now, fc.double({ min: 0, max: 1, noNaN: true }), (window, moment, share) => {
        const opens = nextOpening(window, moment);
        if (opens === undefined) throw new Error('a weekly window always opens again');
        expect(opens).toBeGreaterThan(moment);
        expect(opens - moment).toBeLessThanOrEqual(8 * 86_400_000);
        expect(endOfWindow(window, opens)).toBeGreaterThan(opens);
        const end = endOfWindow(window, moment);
        // Between its end (or now, when it is closed) and the next opening it is closed.
        const from = Math.max(moment, end ?? moment);
        const between = Math.max(from, from + Math.floor((opens - 1 - from) * share));
        const isClosed = between >= opens || endOfWindow(window, between) === undefined;
        expect(isClosed).toBe(true);
      }),
      { seed: 11, numRuns: 300 },
    );
  });
});
