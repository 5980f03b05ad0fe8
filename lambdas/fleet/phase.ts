import { createHash } from 'node:crypto';
import { MINUTE_MS } from '../time.ts';

/**
 * Whether it is the turn of a cluster for work done every `minutes`. Clusters have different, fixed minutes, so that a
 * fleet spreads its heavy work.
 *
 * @param tick milliseconds since the epoch
 */
export function isTurnOf(id: string, minutes: number, tick: number): boolean {
  return minutesSinceTurnOf(id, minutes, tick) === 0;
}

/**
 * Minutes since the turn of a cluster: 0 to `minutes` - 1.
 *
 * @param tick milliseconds since the epoch
 */
export function minutesSinceTurnOf(id: string, minutes: number, tick: number): number {
  const phase = createHash('sha256').update(id).digest().readUInt32BE() % minutes;
  return (Math.floor(tick / MINUTE_MS) - phase + minutes) % minutes;
}
