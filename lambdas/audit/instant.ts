import { instant, LAST_INSTANT } from '../time.ts';

/** A time out of an object of a cluster in milliseconds since the epoch; undefined when it is no RFC 3339 time since 1970. */
export function instantOf(value: unknown): number | undefined {
  const at = typeof value === 'string' && value.length <= 40 ? instant(value) : undefined;
  return at !== undefined && at >= 0 && at <= LAST_INSTANT ? at : undefined;
}

/** RFC 3339; a time that it cannot write becomes the last one that it can. */
export function timestamp(at: number): string {
  return new Date(Math.min(at, LAST_INSTANT)).toISOString();
}
