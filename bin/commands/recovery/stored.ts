import {
  MAX_REPLACED,
  MAX_WINDOWS,
  type RecoveryWindow,
  type StoredWindow,
} from '../../../lambdas/contracts/recovery-window.ts';
import { openWindowOf } from '../../../lambdas/recovery/open-window.ts';

/** Closed and ended windows are kept this long for `certmarshal recovery list`. Milliseconds. */
const KEPT_MS = 24 * 60 * 60_000;

/** Replaces the stored windows. */
export interface ChangedWindows {
  readonly windows: readonly StoredWindow[];
  /** The opened or closed window. */
  readonly window: StoredWindow;
}

/**
 * Adds a window, and drops those that ended over a day ago. The Lease of the cluster may still count for a window that
 * was closed early, so the new one lists it in `replaces`. Pure.
 *
 * @param now milliseconds since the epoch
 * @returns the new windows; `open`, an open window of this cluster; or `full` if 100 windows are open
 */
export function withOpened(
  windows: readonly StoredWindow[],
  window: RecoveryWindow,
  now: number,
): ChangedWindows | { readonly open: StoredWindow } | 'full' {
  const open = windows.find((other) => other.cluster === window.cluster && !isOver(other, now));
  if (open !== undefined) return { open };
  const replaces = windows
    .filter(
      ({ cluster, closed, until }) =>
        cluster === window.cluster && closed !== undefined && Date.parse(until) > Date.parse(window.openedAt),
    )
    .map(({ id }) => id)
    .slice(-MAX_REPLACED);
  const opened = replaces.length === 0 ? window : { ...window, replaces };
  const others = windows.filter((other) => !isOver(other, now));
  const room = MAX_WINDOWS - others.length - 1;
  if (room < 0) return 'full';
  const over = windows.filter((other) => isOver(other, now) && now - Date.parse(other.until) < KEPT_MS);
  const kept = over.slice(Math.max(0, over.length - room));
  return { windows: [...kept, ...others, opened], window: opened };
}

/**
 * Closes the open window of a cluster. Pure.
 *
 * @param now milliseconds since the epoch
 * @param by ARN of the user who closes it
 * @returns undefined if none is open
 */
export function withClosed(
  windows: readonly StoredWindow[],
  cluster: string,
  now: number,
  by: string,
): ChangedWindows | undefined {
  const open = windows.findLast((window) => window.cluster === cluster && !isOver(window, now));
  if (open === undefined) return undefined;
  const closed = { at: new Date(now).toISOString(), by };
  const changed = windows.map((window) =>
    window.cluster === cluster && !isOver(window, now) ? { ...window, closed } : window,
  );
  return { windows: changed, window: { ...open, closed } };
}

/** A window that opens later, by this machine's clock, is not over either. */
export function isOver({ closed, until }: StoredWindow, now: number): boolean {
  return closed !== undefined || Date.parse(until) <= now;
}

/** `open`, `closed` by a user, `ended` at its end time, or `opens` later. Pure. */
export function stateOf(window: StoredWindow, now: number): 'open' | 'closed' | 'ended' | 'opens' {
  if (window.closed !== undefined) return 'closed';
  if (isOver(window, now)) return 'ended';
  return openWindowOf([window], window.cluster, now) === undefined ? 'opens' : 'open';
}
