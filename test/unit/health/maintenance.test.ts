import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { coveredBy, type MaintenanceWindow, openWindows } from '../../../lambdas/health/maintenance.ts';
import { localTime, momentsOf } from '../../../lambdas/window/local-time.ts';
import { WEEKDAYS, type WeeklyWindow } from '../../../lambdas/window/window.ts';
import { runs } from '../../runs.ts';

const BERLIN = { id: 'mgmt/eksa-system/berlin', name: 'berlin' };
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

function weekly(changed: Partial<WeeklyWindow> = {}): MaintenanceWindow {
  const when = { days: ['sun'], from: '02:00', until: '04:00', timeZone: 'Europe/Berlin', ...changed } as const;
  return { clusters: ['*'], when };
}

const maintenanceOf = (
  cluster: { readonly id: string; readonly name?: string },
  windows: readonly MaintenanceWindow[],
  at: number,
) => coveredBy(cluster, openWindows(windows, at));
const untilOf = (window: MaintenanceWindow, at: string) => maintenanceOf(BERLIN, [window], Date.parse(at))?.until;

describe('the window that a cluster is in', () => {
  it.each([
    ['before', '2026-11-21T09:59:59.999Z', undefined],
    ['with its first moment', '2026-11-21T10:00:00.000Z', '2026-11-21T12:00:00.000Z'],
    ['with its last one', '2026-11-21T11:59:59.999Z', '2026-11-21T12:00:00.000Z'],
    ['at its end', '2026-11-21T12:00:00.000Z', undefined],
  ])('knows a single window: %s', (_when, at, until) => {
    const when = { from: '2026-11-21T11:00:00+01:00', until: '2026-11-21T12:00:00Z' };
    expect(untilOf({ clusters: ['*'], when }, at)).toBe(until);
  });

  it.each([
    ['Saturday', '2026-11-21T01:30:00Z', undefined],
    ['Sunday in winter', '2026-11-22T01:00:00Z', '2026-11-22T03:00:00.000Z'],
    ['Sunday in summer', '2026-07-05T00:00:00Z', '2026-07-05T02:00:00.000Z'],
    ['Sunday in summer, by the clock of winter', '2026-07-05T02:00:00Z', undefined],
  ])('knows a weekly one by the clock of its zone: %s', (_when, at, until) => {
    expect(untilOf(weekly(), at)).toBe(until);
  });

  it.each([
    // 2026-03-29: 02:00 CET is 03:00 CEST, at 01:00 UTC.
    ['set forward over its beginning', { from: '02:30', until: '04:00' }, '2026-03-29T00:59:59Z', undefined],
    ['', { from: '02:30', until: '04:00' }, '2026-03-29T01:00:00Z', '2026-03-29T02:00:00.000Z'],
    ['set forward over its end', { from: '01:00', until: '02:30' }, '2026-03-29T00:59:59Z', '2026-03-29T01:00:00.000Z'],
    ['', { from: '01:00', until: '02:30' }, '2026-03-29T01:00:00Z', undefined],
    ['set forward over all of it', { from: '02:10', until: '02:50' }, '2026-03-29T01:00:00Z', undefined],
    ['set forward within it', { from: '01:00', until: '04:00' }, '2026-03-29T00:00:00Z', '2026-03-29T02:00:00.000Z'],
    // 2026-10-25: 03:00 CEST is 02:00 CET, at 01:00 UTC.
    ['set back over its beginning', { from: '02:30', until: '04:00' }, '2026-10-25T00:29:59Z', undefined],
    ['the first 02:30', { from: '02:30', until: '04:00' }, '2026-10-25T00:30:00Z', '2026-10-25T03:00:00.000Z'],
    ['between', { from: '02:30', until: '04:00' }, '2026-10-25T01:10:00Z', '2026-10-25T03:00:00.000Z'],
    ['set back over its end', { from: '01:00', until: '02:30' }, '2026-10-25T00:45:00Z', '2026-10-25T01:30:00.000Z'],
    ['the last 02:30', { from: '01:00', until: '02:30' }, '2026-10-25T01:30:00Z', undefined],
  ])('on the nights of the clock: %s %j at %s', (_night, times, at, until) => {
    expect(untilOf(weekly(times), at)).toBe(until);
  });

  it.each([
    ['Saturday, too early', '2026-11-21T21:59:00Z', undefined],
    ['Saturday', '2026-11-21T22:00:00Z', '2026-11-22T05:00:00.000Z'],
    ['Sunday', '2026-11-22T04:59:59Z', '2026-11-22T05:00:00.000Z'],
    ['Sunday evening', '2026-11-22T22:30:00Z', undefined],
  ])('goes across midnight: %s', (_when, at, until) => {
    expect(untilOf(weekly({ days: ['sat'], from: '23:00', until: '06:00' }), at)).toBe(until);
  });

  it('lasts a day where it ends as it begins', () => {
    const window = weekly({ days: ['sun'], from: '12:00', until: '12:00', timeZone: 'UTC' });
    expect(untilOf(window, '2026-11-23T11:59:00Z')).toBe('2026-11-23T12:00:00.000Z');
    expect(untilOf(window, '2026-11-23T12:00:00Z')).toBeUndefined();
  });

  it('is for the clusters that a glob fits by id or name, and says why', () => {
    const at = Date.parse('2026-11-22T02:00:00Z');
    const covers = (glob: string) => maintenanceOf(BERLIN, [{ ...weekly(), clusters: [glob], reason: 'rack 7' }], at);
    expect(covers('berl*')).toEqual({ until: '2026-11-22T03:00:00.000Z', reason: 'rack 7' });
    expect(covers('mgmt/*')).toBeDefined();
    expect(covers('mgmt')).toBeUndefined();
    expect(maintenanceOf(BERLIN, [], at)).toBeUndefined();
    const several = { ...weekly(), clusters: ['paris', 'berlin'] };
    expect(maintenanceOf(BERLIN, [several], at)).toEqual({ until: '2026-11-22T03:00:00.000Z' });
  });

  it('takes the one that ends last', () => {
    const longer = { ...weekly({ until: '05:00' }), reason: 'longer' };
    const at = Date.parse('2026-11-22T02:00:00Z');
    for (const windows of [
      [weekly(), longer],
      [longer, weekly()],
    ])
      expect(maintenanceOf(BERLIN, windows, at)?.reason).toBe('longer');
  });

  it.each([
    weekly({ timeZone: 'Europe/Atlantis' }),
    weekly({ from: '2:00' }),
    weekly({ until: '24:00' }),
    { clusters: ['*'], when: { from: 'soon', until: '2027-01-01T00:00:00Z' } },
    { clusters: ['*'], when: { from: '2020-01-01T00:00:00Z', until: 'later' } },
  ])('never explains anything by what makes no sense: %j', (window) => {
    expect(untilOf(window, '2026-11-22T02:00:00Z')).toBeUndefined();
  });
});

const ZONES = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'Australia/Lord_Howe',
  'Asia/Kathmandu',
  'Pacific/Kiritimati',
];
const anyMoment = fc.integer({ min: Date.UTC(2024, 0, 1), max: Date.UTC(2028, 0, 1) });
const anyTime = fc.nat({ max: 24 * 60 - 1 });
const clock = (minute: number) =>
  `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`;
const anyWindow = fc.record({
  days: fc.subarray([...WEEKDAYS]),
  from: anyTime,
  until: anyTime,
  timeZone: fc.constantFrom(...ZONES),
});

/** What a person would say who looks at the clock. */
function isShown(
  { days, from, until, timeZone }: { days: string[]; from: number; until: number; timeZone: string },
  now: number,
) {
  const parts = new Intl.DateTimeFormat('en-US', {
    timeZone,
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  }).formatToParts(now);
  const part = (name: string) => parts.find(({ type }) => type === name)?.value ?? '';
  const today = WEEKDAYS.findIndex((day) => day === part('weekday').toLowerCase());
  const minute = Number(part('hour')) * 60 + Number(part('minute'));
  const begins = days.includes(WEEKDAYS[today] ?? '');
  if (from < until) return begins && from <= minute && minute < until;
  return (begins && minute >= from) || (days.includes(WEEKDAYS[(today + 6) % 7] ?? '') && minute < until);
}

describe('a weekly window', () => {
  it('is open when the clock shows a time of it, and else only in the nights when that changes', () => {
    fc.assert(
      fc.property(anyWindow, anyMoment, (window, now) => {
        const { days, from, until, timeZone } = window;
        const when = { days, from: clock(from), until: clock(until), timeZone };
        const isOpen = openWindows([{ clusters: ['*'], when }], now).length > 0;
        const offsets = [-2 * DAY, 0, 2 * DAY].map((ms) => (localTime(now + ms, timeZone) ?? 0) - now - ms);
        const isShownOpen = isShown(window, now);
        const isNight = new Set(offsets).size > 1;
        expect(isOpen).toBe(isShownOpen || (isNight && isOpen));
      }),
      { numRuns: runs(500), seed: 11 },
    );
  });

  it('is open until just before the end that it says, and not with that end after it', () => {
    fc.assert(
      fc.property(anyWindow, anyMoment, (window, now) => {
        const when = { ...window, from: clock(window.from), until: clock(window.until) };
        const at = (moment: number) => openWindows([{ clusters: ['*'], when }], moment)[0]?.until;
        const until = at(now);
        fc.pre(until !== undefined);
        expect(until).toBeGreaterThan(now);
        expect(until - now).toBeLessThanOrEqual(DAY + HOUR);
        expect(at(until - 1)).toBeGreaterThanOrEqual(until);
        expect(at(until)).not.toBe(until);
      }),
      { numRuns: runs(250), seed: 12 },
    );
  });
});

describe('momentsOf', () => {
  it('is the inverse of localTime', () => {
    fc.assert(
      fc.property(anyMoment, fc.constantFrom(...ZONES), (moment, timeZone) => {
        const at = Math.floor(moment / MINUTE) * MINUTE;
        const found = momentsOf(localTime(at, timeZone) ?? 0, timeZone);
        expect([found?.first, found?.last]).toContain(at);
      }),
      { numRuns: runs(250), seed: 13 },
    );
  });

  it('knows no zone that does not exist', () => {
    expect(momentsOf(0, 'Europe/Atlantis')).toBeUndefined();
    expect(localTime(0, '')).toBeUndefined();
  });
});
