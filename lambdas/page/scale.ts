import { DAY_MS } from '../time.ts';

/** Positions on the track, in percent of its width. */
const ENDED = { from: 0, until: 8 } as const;
const AHEAD = { from: 10, until: 89 } as const;
const LATER = { from: 92, until: 100 } as const;
const DAYS = 365;
/** Below it a day has the same width everywhere; above it the track is logarithmic. */
const NEAR_DAYS = 10;

export const ZONES = { ended: ENDED, ahead: AHEAD, later: LATER } as const;
export const TICKS = [7, 30, 90, 180, 365] as const;

/**
 * The position of a time in percent: expired ones at the left edge, those within a year in between, with much room for
 * the near future, and later ones at the right edge. Pure, and never decreasing in `at`.
 *
 * @param at as `now`, milliseconds since the epoch
 */
export function position(at: number, now: number): number {
  const days = (at - now) / DAY_MS;
  if (days <= 0) return (ENDED.from + ENDED.until) / 2;
  if (days > DAYS) return (LATER.from + LATER.until) / 2;
  return AHEAD.from + (Math.asinh(days / NEAR_DAYS) / Math.asinh(DAYS / NEAR_DAYS)) * (AHEAD.until - AHEAD.from);
}

/** For an attribute: `12.5%`. */
export function share(percent: number): string {
  return `${Math.round(percent * 100) / 100}%`;
}
