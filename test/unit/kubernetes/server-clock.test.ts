import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { describeSkew, serverClock } from '../../../lambdas/kubernetes/server-clock.ts';

const NOON = Date.UTC(2026, 0, 1, 12);
const dateAt = (time: number) => new Date(time).toUTCString();

describe('serverClock', () => {
  it.each([
    ['the same', 0, 0],
    ['ahead', 600_000, 600_000],
    ['behind', -600_000, -599_001],
  ])('of a server that is %s', (_, offset, skewMs) => {
    expect(serverClock(dateAt(NOON + offset), NOON, NOON)).toEqual({ skewMs });
  });

  it.each([undefined, '', 'now', '2026-01-01T12:00:00Z', 'Thu, 41 Jan 2026 12:00:00 GMT', `${dateAt(NOON)}x`])(
    'is unknown by %j',
    (header) => {
      expect(serverClock(header, NOON, NOON)).toBeUndefined();
    },
  );

  it('never tells more skew than there is, however long the answer takes', () => {
    const offset = fc.integer({ min: -86_400_000, max: 86_400_000 });
    const wait = fc.integer({ min: 0, max: 60_000 });
    fc.assert(
      fc.property(offset, wait, wait, (skew, there, back) => {
        const date = dateAt(NOON + there + skew);
        const { skewMs } = serverClock(date, NOON, NOON + there + back) ?? { skewMs: Number.NaN };
        expect(skewMs === 0 || Math.sign(skewMs) === Math.sign(skew)).toBe(true);
        expect(Math.abs(skewMs)).toBeLessThanOrEqual(Math.abs(skew));
        // And not much less than there is, once the time under way and the second of the header are taken off.
        expect(Math.abs(skewMs)).toBeGreaterThanOrEqual(Math.abs(skew) - there - back - 1_000);
      }),
      { seed: 42 },
    );
  });
});

it.each([
  [undefined, undefined],
  [{ skewMs: 60_000 }, undefined],
  [{ skewMs: -60_001 }, 'its clock is 60 s behind ours'],
  [{ skewMs: 90_400 }, 'its clock is 90 s ahead of ours'],
  [{ skewMs: 3_600_000 }, 'its clock is 60 min ahead of ours'],
])('describeSkew(%j)', (clock, expected) => {
  expect(describeSkew(clock)).toBe(expected);
});
