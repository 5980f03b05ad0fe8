import { closedBecause, windowProblem } from '../recovery/open-window.ts';
import { MOST_NODES, MOST_REPLACED, type RecoveryWindow } from '../recovery/window.ts';
import {
  count,
  fields,
  list,
  matching,
  optional,
  present,
  type Read,
  reading,
  ShapeError,
  text,
  time,
  versionOf,
} from './shape.ts';
import { CLUSTER_ID } from './target.ts';

/** Somebody opens one window, or a few; those that are over are kept for a day, for people. */
export const MOST_WINDOWS = 100;
const MOST_GROUPS = 8;

/** A window in `recovery.json` of the state bucket. */
export interface StoredWindow extends RecoveryWindow {
  /** Somebody closed it before its end. `at` is RFC 3339, `by` an ARN. */
  readonly closed?: { readonly at: string; readonly by: string };
}

/** @throws ShapeError */
export const readRecoveryWindow: Read<RecoveryWindow> = (value, path) => {
  const fieldsOf = fields(value, path);
  const short = text(300);
  const window = {
    id: short(fieldsOf['id'], `${path}.id`),
    cluster: matching(CLUSTER_ID, 'the id of a cluster')(fieldsOf['cluster'], `${path}.cluster`),
    nodes: list(short, MOST_NODES)(fieldsOf['nodes'], `${path}.nodes`),
    openedAt: short(fieldsOf['openedAt'], `${path}.openedAt`),
    until: short(fieldsOf['until'], `${path}.until`),
    by: text(2_048)(fieldsOf['by'], `${path}.by`),
    approvals: count(fieldsOf['approvals'], `${path}.approvals`),
    bootstrapGroups: list(short, MOST_GROUPS)(fieldsOf['bootstrapGroups'], `${path}.bootstrapGroups`),
    ...present({ replaces: optional(list(short, MOST_REPLACED))(fieldsOf['replaces'], `${path}.replaces`) }),
  };
  const problem = windowProblem(window);
  if (problem !== undefined) throw new ShapeError(`${path} is no window: ${problem}`);
  return window;
};

const readClosed: Read<NonNullable<StoredWindow['closed']>> = (value, path) => {
  const closed = fields(value, path);
  return { at: time(closed['at'], `${path}.at`), by: text(2_048)(closed['by'], `${path}.by`) };
};

const readStoredWindow: Read<StoredWindow> = (value, path) => ({
  ...readRecoveryWindow(value, path),
  ...present({ closed: optional(readClosed)(fields(value, path)['closed'], `${path}.closed`) }),
});

/**
 * Reads `recovery.json` of the state bucket, which `certmarshal recovery open` and `close` write. Pure.
 *
 * @returns undefined when it is not what they write: then no window is open
 */
export function parseRecoveryWindows(value: unknown): readonly StoredWindow[] | undefined {
  const read = reading(() => {
    const stored = fields(value, 'the windows');
    versionOf(stored, 1);
    return list(readStoredWindow, MOST_WINDOWS)(stored['windows'], 'windows');
  });
  return read.ok ? read.value : undefined;
}

/** The window of a cluster that is open; of two, the one that was opened last. Pure. @param now milliseconds since the epoch */
export function openWindowOf(windows: readonly StoredWindow[], id: string, now: number): StoredWindow | undefined {
  return windows
    .filter(
      (window) => window.cluster === id && window.closed === undefined && closedBecause(window, now) === undefined,
    )
    .toSorted((a, b) => Date.parse(b.openedAt) - Date.parse(a.openedAt))[0];
}
