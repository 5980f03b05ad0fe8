import { type RecoveryWindow, type StoredWindow, windowProblem } from '../contracts/recovery-window.ts';
import { instant } from '../time.ts';

/**
 * Why a window is not open for a cluster; undefined if it is: from `openedAt`, until before `until`. Pure.
 *
 * @param id of the cluster in the fleet
 * @param now milliseconds since the epoch
 */
export function closedBecause(window: RecoveryWindow, id: string, now: number): string | undefined {
  if (window.cluster !== id) return 'it is for another cluster';
  const problem = windowProblem(window);
  if (problem !== undefined) return `the window is not valid: ${problem}`;
  const [openedAt = Infinity, until = 0] = [instant(window.openedAt), instant(window.until)];
  if (now < openedAt) return `it opens at ${window.openedAt}`;
  return now < until ? undefined : `it closed at ${window.until}`;
}

/** The open window of a cluster; of two, the one opened last. Pure. @param now milliseconds since the epoch */
export function openWindowOf(windows: readonly StoredWindow[], id: string, now: number): StoredWindow | undefined {
  return windows
    .filter((window) => window.closed === undefined && closedBecause(window, id, now) === undefined)
    .toSorted((a, b) => Date.parse(b.openedAt) - Date.parse(a.openedAt))[0];
}
