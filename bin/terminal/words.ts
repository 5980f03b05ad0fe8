import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../lambdas/time.ts';

/** In the largest unit of which there is at least one. */
function inUnits(seconds: number): readonly [count: number, unit: 's' | 'min' | 'h' | 'd'] {
  if (seconds < 60) return [seconds, 's'];
  if (seconds < 3600) return [Math.floor(seconds / 60), 'min'];
  return seconds < 86_400 ? [Math.floor(seconds / 3600), 'h'] : [Math.floor(seconds / 86_400), 'd'];
}

/** `3 min ago`, `41 s ago`. */
export function ago(seconds: number): string {
  return `${inUnits(Math.max(0, Math.round(seconds))).join(' ')} ago`;
}

/** `1.3 s` or `850 ms`. */
export function took(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

/**
 * `41 s`, `3 min`, `5 h`, `12 d`, `8.7 y`: a past or future time span. Rounded down: a reader must never believe there
 * is more time left than there is.
 */
export function span(ms: number): string {
  const length = Math.abs(ms);
  if (length < MINUTE_MS) return `${Math.floor(length / 1000)} s`;
  if (length < HOUR_MS) return `${Math.floor(length / MINUTE_MS)} min`;
  if (length < 2 * DAY_MS) return `${Math.floor(length / HOUR_MS)} h`;
  const days = Math.floor(length / DAY_MS);
  return days < 2 * 365 ? `${days} d` : `${Math.floor((days / 365.25) * 10) / 10} y`;
}

/** `2026-12-03` from RFC 3339; years after 9999 keep their sign. */
export function day(time: string): string {
  return time.split('T', 1)[0] ?? time;
}

/** `2026-12-03` from milliseconds since the epoch; `no day` for a time that `Date` cannot represent. */
export function dayOf(time: number): string {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? 'no day' : day(date.toISOString());
}

/** Capitalizes the first letter. */
export function sentence(words: string): string {
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

export function joined(parts: readonly (string | false | undefined)[], separator = ', '): string {
  return parts.filter((part) => typeof part === 'string').join(separator);
}
