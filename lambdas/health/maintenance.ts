/** When a cluster is expected not to be as it should. It hides what `ALARMS` says it explains, and nothing else. */
export interface MaintenanceWindow {
  /** Globs over ids and names of clusters. */
  readonly clusters: readonly string[];
  readonly reason?: string;
  readonly when: OnceWindow | WeeklyWindow;
}

export interface OnceWindow {
  /** RFC 3339. */
  readonly from: string;
  readonly until: string;
}

/** Every week. Across midnight where `until` is not after `from`. */
export interface WeeklyWindow {
  readonly days: readonly Weekday[];
  /** `02:00`, by the clock of `timeZone`. */
  readonly from: string;
  readonly until: string;
  /** IANA: `Europe/Berlin`. */
  readonly timeZone: string;
}

export const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
export type Weekday = (typeof WEEKDAYS)[number];

/**
 * The window that a cluster is in, the one that ends last; undefined when it is in none. Pure.
 *
 * @param now milliseconds since the epoch
 */
export function maintenanceOf(
  _cluster: { readonly id: string; readonly name?: string },
  _windows: readonly MaintenanceWindow[],
  _now: number,
): { readonly until: string; readonly reason?: string } | undefined {
  throw new Error('not built');
}
