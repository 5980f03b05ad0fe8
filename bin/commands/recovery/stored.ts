import {
  MAX_REPLACED,
  MAX_WINDOWS,
  type RecoveryWindow,
  type StoredWindow,
} from '../../../lambdas/contracts/recovery-window.ts';
import { openWindowOf } from '../../../lambdas/recovery/open-window.ts';

/** How long a window that is over is kept, for `certmarshal recovery list`. */
const KEPT_MS = 24 * 60 * 60_000;

/** What is written in place of the windows that are there. */
export interface ChangedWindows {
  readonly windows: readonly StoredWindow[];
  /** The one that was opened or closed. */
  readonly window: StoredWindow;
}

/**
 * Adds a window, without those that were over for a day. The Lease of the cluster may still count for one that was closed early: the new one says so. Pure.
 *
 * @param now milliseconds since the epoch
 * @returns what is in the way: a window of this cluster that is open, or 100 windows that are
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
 * Closes the window of a cluster that is open. Pure.
 *
 * @param now milliseconds since the epoch
 * @param by ARN of who closes it
 * @returns undefined when none is
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

/** Also one that opens later, by the clock of this machine, is not over. */
export function isOver({ closed, until }: StoredWindow, now: number): boolean {
  return closed !== undefined || Date.parse(until) <= now;
}

/** `open`, `closed` by somebody, `ended` by itself, or `opens` later. Pure. */
export function stateOf(window: StoredWindow, now: number): 'open' | 'closed' | 'ended' | 'opens' {
  if (window.closed !== undefined) return 'closed';
  if (isOver(window, now)) return 'ended';
  return openWindowOf([window], window.cluster, now) === undefined ? 'opens' : 'open';
}
