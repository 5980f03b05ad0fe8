import * as z from 'zod/mini';
import { isDnsName } from '../names.ts';
import { instant } from '../time.ts';
import { type Contract, list, read, text } from './contract.ts';
import { ClusterId, Count, Time } from './values.ts';

export const MAX_WINDOW_MS = 60 * 60_000;
export const MAX_NODES = 9;
export const MAX_APPROVALS = 5;
export const MAX_REPLACED = 8;
/** Most windows: people open one or a few; past ones are kept for a day. */
export const MAX_WINDOWS = 100;
const MAX_GROUPS = 8;
export const DEFAULT_APPROVALS = 2;
/** Source: kubeadm, `DefaultKubeadmNodeTokenGroup`. */
export const DEFAULT_BOOTSTRAP_GROUPS = ['system:bootstrappers:kubeadm:default-node-token'] as const;

const ID = /^[a-z0-9-]{1,26}$/;
/**
 * Source: Kubernetes, `BootstrapGroupPattern` (k8s.io/cluster-bootstrap/token/api). Bootstrap tokens have no other
 * groups.
 */
const BOOTSTRAP_GROUP = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/;

const WindowFields = z.object({
  /** 26 characters or fewer of `[a-z0-9-]`. */
  id: text(300),
  /** Id of the cluster in the fleet. */
  cluster: ClusterId,
  /** Names of Nodes of the control plane. 1 to 9. */
  nodes: list(text(300), MAX_NODES),
  /** RFC 3339. At most an hour between the two. */
  openedAt: text(300),
  until: text(300),
  /** ARN or user name of the person who opened it, for the record. */
  by: text(2_048),
  /** Approvals for each node. 1 to 5. */
  approvals: Count,
  /** Groups of a bootstrapper besides `system:bootstrappers` and `system:authenticated`: exactly these. */
  bootstrapGroups: list(text(300), MAX_GROUPS),
  /**
   * Ids of windows of this cluster that a person closed early, whose approvals do not count here. At most 8. @default
   * none
   */
  replaces: z.optional(list(text(300), MAX_REPLACED)),
});

/**
 * A window in which client certificates of control plane kubelets may be approved, because the cluster was down when
 * they expired. A person opens it on purpose; it closes automatically.
 */
export const RecoveryWindow = WindowFields.check(checkWindow);
export type RecoveryWindow = Contract<typeof WindowFields>;

/** A window in `recovery.json` of the state bucket. */
const StoredWindow = z
  .extend(WindowFields, {
    /** A person closed it early. `by` is an ARN. */
    closed: z.optional(z.object({ at: Time, by: text(2_048) })),
  })
  .check(checkWindow);
export type StoredWindow = Contract<typeof StoredWindow>;

const RecoveryWindows = z.object({ version: z.literal(1), windows: list(StoredWindow, MAX_WINDOWS) });

/**
 * Reads `recovery.json` of the state bucket, written by `certmarshal recovery open` and `close`. Pure.
 *
 * @returns undefined if invalid: then no window is open
 */
export function parseRecoveryWindows(value: unknown): readonly StoredWindow[] | undefined {
  const windows = read(RecoveryWindows, value);
  return windows.ok ? windows.value.windows : undefined;
}

/** The problem of a window by any writer; undefined if valid. Pure. */
export function windowProblem(window: RecoveryWindow): string | undefined {
  const { id, nodes, approvals, bootstrapGroups, replaces = [] } = window;
  const [openedAt, until] = [instant(window.openedAt), instant(window.until)];
  if (!ID.test(id)) return 'its id is not 1 to 26 characters of a-z, 0-9 and -';
  if (openedAt === undefined || until === undefined) return 'openedAt or until is not an RFC 3339 time';
  if (until <= openedAt) return 'it ends before it begins';
  if (until - openedAt > MAX_WINDOW_MS) return 'it is longer than an hour';
  if (nodes.length === 0 || nodes.length > MAX_NODES) return `it names ${nodes.length} nodes; 1 to ${MAX_NODES}`;
  if (!nodes.every(isDnsName)) return 'one of its nodes has a name that no Node can have';
  if (!Number.isInteger(approvals) || approvals < 1 || approvals > MAX_APPROVALS)
    return `approvals is not 1 to ${MAX_APPROVALS}`;
  if (bootstrapGroups.length > MAX_GROUPS || !bootstrapGroups.every((group) => BOOTSTRAP_GROUP.test(group)))
    return 'one of its bootstrapGroups is not one that a bootstrap token can have (system:bootstrappers:…)';
  if (replaces.length > MAX_REPLACED || !replaces.every((other) => ID.test(other)) || replaces.includes(id))
    return `replaces is not up to ${MAX_REPLACED} ids of other windows`;
  return undefined;
}

function checkWindow({ value, issues }: z.core.ParsePayload<RecoveryWindow>): void {
  const problem = windowProblem(value);
  if (problem !== undefined)
    issues.push({ code: 'custom', input: value, message: `is not a valid window: ${problem}` });
}

/** The approvals of a window so far: an annotation of the Lease of recoveries. */
export const RecoveryRecord = z.object({
  /** Id of the window. */
  window: z.string(),
  /** When it closes. */
  until: z.string().check(z.refine((until) => instant(until) !== undefined)),
  /** By node. An invalid count is kept too: it allows nothing more. */
  approvals: z.record(z.string(), z.unknown()),
});
export type RecoveryRecord = Contract<typeof RecoveryRecord>;
