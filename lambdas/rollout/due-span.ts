import { DAY_MS } from '../expiry/words.ts';
import { endOfWindow, nextOpening } from '../window/window.ts';
import type { Lead, RolloutPolicy } from './policy.ts';

/** Milliseconds since the epoch. */
export interface Ending {
  readonly end: number;
  /** How long it lives. */
  readonly life: number;
}

/** In which the schedule may begin, for something that ends. Of certificates that machines show: `rolloutSpan`. */
export function spanOf(
  { end, life }: Ending,
  { begin, stop }: RolloutPolicy,
): { readonly from: number; readonly until: number } {
  const lead = ({ days, share }: Lead) => Math.min(days * DAY_MS, life > 0 ? share * life : Number.POSITIVE_INFINITY);
  return { from: end - lead(begin), until: end - lead(stop) };
}

/** When a maintenance window opens next; undefined where there is none, or one is open. */
export function nextWindowOf({ windows }: RolloutPolicy, now: number): number | undefined {
  if (windows.some((window) => endOfWindow(window, now) !== undefined)) return undefined;
  const opens = windows.flatMap((window) => nextOpening(window, now) ?? []);
  return opens.length === 0 ? undefined : Math.min(...opens);
}
