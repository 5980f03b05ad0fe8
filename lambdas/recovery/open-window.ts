import { isDnsName } from '../approval/names.ts';
import { instant } from '../approval/read-request.ts';
import { LONGEST_WINDOW_MS, MOST_APPROVALS, MOST_NODES, MOST_REPLACED, type RecoveryWindow } from './window.ts';

const ID = /^[a-z0-9-]{1,26}$/;
/** Source: Kubernetes, `BootstrapGroupPattern` (k8s.io/cluster-bootstrap/token/api). No other group comes with a bootstrap token. */
const BOOTSTRAP_GROUP = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/;
const MOST_GROUPS = 8;

/** What is wrong with a window, whoever wrote it; undefined when it is one. Pure. */
export function windowProblem(window: RecoveryWindow): string | undefined {
  const { id, nodes, approvals, bootstrapGroups, replaces = [] } = window;
  const [openedAt, until] = [instant(window.openedAt), instant(window.until)];
  if (!ID.test(id)) return 'its id is not 1 to 26 characters of a-z, 0-9 and -';
  if (openedAt === undefined || until === undefined) return 'openedAt or until is no RFC 3339 time';
  if (until <= openedAt) return 'it ends before it begins';
  if (until - openedAt > LONGEST_WINDOW_MS) return 'it is longer than an hour';
  if (nodes.length === 0 || nodes.length > MOST_NODES) return `it names ${nodes.length} nodes; 1 to ${MOST_NODES}`;
  if (!nodes.every(isDnsName)) return 'one of its nodes has a name that no Node can have';
  if (!Number.isInteger(approvals) || approvals < 1 || approvals > MOST_APPROVALS)
    return `approvals is not 1 to ${MOST_APPROVALS}`;
  if (bootstrapGroups.length > MOST_GROUPS || !bootstrapGroups.every((group) => BOOTSTRAP_GROUP.test(group)))
    return 'one of its bootstrapGroups is none that a bootstrap token can have (system:bootstrappers:…)';
  if (replaces.length > MOST_REPLACED || !replaces.every((other) => ID.test(other)) || replaces.includes(id))
    return `replaces is not up to ${MOST_REPLACED} ids of other windows`;
  return undefined;
}

/**
 * Why a window is not open; undefined when it is. From `openedAt` on, and at `until` no more. Pure.
 *
 * @param now milliseconds since the epoch
 */
export function closedBecause(window: RecoveryWindow, now: number): string | undefined {
  const problem = windowProblem(window);
  if (problem !== undefined) return `the window is no window: ${problem}`;
  const [openedAt = Infinity, until = 0] = [instant(window.openedAt), instant(window.until)];
  if (now < openedAt) return `it opens at ${window.openedAt}`;
  return now < until ? undefined : `it closed at ${window.until}`;
}
