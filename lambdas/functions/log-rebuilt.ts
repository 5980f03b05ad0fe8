import { STATE_KEYS, type StateObject } from '../fleet/state-keys.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';

/** Logged once, by the writer of the object that took the place of an unreadable one. */
export function logRebuilt(object: StateObject, logger: Telemetry['logger']): void {
  logger.warn('state rebuilt', {
    object: STATE_KEYS[object],
    problem: 'it was not what this version of certmarshal writes there',
    remedy: 'Nothing after a deploy of another version. Otherwise find out who else writes to the bucket.',
  });
}
