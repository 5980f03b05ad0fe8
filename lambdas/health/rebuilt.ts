import { MINUTE_MS } from '../time.ts';

/** Sweeps come each minute, audits and discovery within ten. Milliseconds. */
const QUIET_MS = 20 * MINUTE_MS;

/** A state object that may have been lost. */
export interface Rebuilt {
  /** When it was made without an earlier one. */
  readonly rebuiltAt?: string | undefined;
}

/**
 * Whether it was rebuilt so lately that it may lack what was there before.
 *
 * @param now milliseconds since the epoch
 */
export function isJustRebuilt(object: Rebuilt | undefined, now: number): boolean {
  return object?.rebuiltAt !== undefined && now - Date.parse(object.rebuiltAt) < QUIET_MS;
}
