import { MINUTE_MS } from '../time.ts';

/** Sweeps come each minute, audits and discovery within ten. Milliseconds. */
const QUIET_MS = 20 * MINUTE_MS;

/**
 * Whether registry or index were rebuilt so lately that they may lack what was there before.
 *
 * @param rebuiltAt RFC 3339, when the object was made without an earlier one
 * @param now milliseconds since the epoch
 */
export function isJustRebuilt(rebuiltAt: string | undefined, now: number): rebuiltAt is string {
  return rebuiltAt !== undefined && now - Date.parse(rebuiltAt) < QUIET_MS;
}
