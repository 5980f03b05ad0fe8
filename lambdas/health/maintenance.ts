import { matchesGlob } from '../approval/selection.ts';
import { endOfWindow, type OnceWindow, type WeeklyWindow } from '../window/window.ts';

/** A time when a cluster is expected to be unhealthy. It hides what `ALARMS` says it explains, and nothing else. */
export interface MaintenanceWindow {
  /** Globs over ids and names of clusters. */
  readonly clusters: readonly string[];
  readonly reason?: string;
  readonly when: OnceWindow | WeeklyWindow;
}

export interface OpenWindow extends Pick<MaintenanceWindow, 'clusters' | 'reason'> {
  /** Milliseconds since the epoch. */
  readonly until: number;
}

/**
 * The open windows, the one with the latest end first; computed once for all clusters. A window with an invalid time or
 * zone is never open. Pure.
 *
 * @param now milliseconds since the epoch
 */
export function openWindows(windows: readonly MaintenanceWindow[], now: number): readonly OpenWindow[] {
  return windows
    .flatMap(({ clusters, reason, when }) => {
      const until = endOfWindow(when, now);
      return until === undefined ? [] : [{ clusters, until, reason }];
    })
    .toSorted((a, b) => b.until - a.until);
}

/**
 * The first open window that selects a cluster. Pure.
 *
 * @param open from {@link openWindows}
 */
export function coveredBy(
  { id, name = id }: { readonly id: string; readonly name?: string },
  open: readonly OpenWindow[],
): { readonly until: string; readonly reason?: string } | undefined {
  const found = open.find(({ clusters }) => clusters.some((glob) => matchesGlob(glob, id) || matchesGlob(glob, name)));
  if (found === undefined) return undefined;
  const { until, reason } = found;
  return { until: new Date(until).toISOString(), reason };
}
