import { closedBecause, windowProblem } from '../recovery/open-window.ts';
import { MOST_NODES, type RecoveryWindow } from '../recovery/window.ts';
import { count, fields, list, matching, type Read, reading, ShapeError, text, versionOf } from './shape.ts';
import { CLUSTER_ID } from './target.ts';

/** Somebody opens one window, or a few. */
const MOST_WINDOWS = 100;
const MOST_GROUPS = 8;

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
  };
  const problem = windowProblem(window);
  if (problem !== undefined) throw new ShapeError(`${path} is no window: ${problem}`);
  return window;
};

/**
 * Reads `recovery.json` of the state bucket, which `certmarshal recovery open` writes. Pure.
 *
 * @returns undefined when it is not what that writes: then no window is open
 */
export function parseRecoveryWindows(value: unknown): readonly RecoveryWindow[] | undefined {
  const read = reading(() => {
    const stored = fields(value, 'the windows');
    versionOf(stored, 1);
    return list(readRecoveryWindow, MOST_WINDOWS)(stored['windows'], 'windows');
  });
  return read.ok ? read.value : undefined;
}

/** The window of a cluster that is open; of two, the one that was opened last. Pure. @param now milliseconds since the epoch */
export function openWindowOf(windows: readonly RecoveryWindow[], id: string, now: number): RecoveryWindow | undefined {
  return windows
    .filter((window) => window.cluster === id && closedBecause(window, now) === undefined)
    .toSorted((a, b) => Date.parse(b.openedAt) - Date.parse(a.openedAt))[0];
}
