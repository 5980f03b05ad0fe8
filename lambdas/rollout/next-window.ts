import { endOfWindow, nextOpening } from '../window/window.ts';
import type { RolloutPolicy } from './policy.ts';

/**
 * When a maintenance window opens next; undefined if one is open, there are none, or none opens again. Pure.
 *
 * @param now milliseconds since the epoch, as is the result
 */
export function nextWindowOf({ windows }: Pick<RolloutPolicy, 'windows'>, now: number): number | undefined {
  if (windows.some((window) => endOfWindow(window, now) !== undefined)) return undefined;
  const opens = windows.flatMap((window) => nextOpening(window, now) ?? []);
  return opens.length === 0 ? undefined : Math.min(...opens);
}
