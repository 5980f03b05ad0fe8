import { parseDuration } from '../../../lambdas/config/duration.ts';
import {
  DEFAULT_APPROVALS,
  DEFAULT_BOOTSTRAP_GROUPS,
  MAX_APPROVALS,
  MAX_NODES,
  MAX_WINDOW_MS,
  type RecoveryWindow,
  windowProblem,
} from '../../../lambdas/contracts/recovery-window.ts';
import { printable } from '../../../lambdas/printable.ts';
import { date } from '../../../lambdas/words.ts';
import { UsageError } from '../../exit-codes.ts';
import { span } from '../../terminal/words.ts';

export interface RecoveryWindowOptions {
  /** `berlin-cp-1,berlin-cp-2`. */
  readonly nodes?: string;
  /** `30m`. */
  readonly for: string;
  readonly approvals?: string;
  readonly by: string;
  /** Groups of bootstrap tokens, in addition to `system:bootstrappers`. @default the group of kubeadm */
  readonly bootstrapGroup?: readonly string[];
}

/** A window that opens now, in whole seconds. */
export interface WindowOpening {
  readonly id: string;
  /** Id of the cluster in the fleet. */
  readonly cluster: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/**
 * The window that the options describe.
 *
 * @throws UsageError with all problems of the options
 */
export function recoveryWindow(options: RecoveryWindowOptions, { id, cluster, now }: WindowOpening): RecoveryWindow {
  const nodes = [...new Set((options.nodes ?? '').split(',').flatMap((node) => node.trim() || []))];
  const lengthMs = (parseDuration(options.for) ?? 0) * 1000;
  const approvals = options.approvals === undefined ? DEFAULT_APPROVALS : Number(options.approvals);
  const openedAt = Math.floor(now / 1000) * 1000;
  const badNodes = nodes.filter((node) => !/^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/.test(node));
  const problems = [
    nodes.length === 0 || nodes.length > MAX_NODES
      ? `--nodes takes 1 to ${MAX_NODES} names of control plane Nodes, with commas; got ${nodes.length}`
      : undefined,
    ...badNodes.map((node) => `--nodes "${printable(node, 100)}" is not a name that a Node can have`),
    lengthMs < 1000 || lengthMs > MAX_WINDOW_MS
      ? `--for takes a duration of at most 1h, for example 30m; got ${printable(options.for, 40)}`
      : undefined,
    !Number.isInteger(approvals) || approvals < 1 || approvals > MAX_APPROVALS
      ? `--approvals takes 1 to ${MAX_APPROVALS}, for each node; got ${printable(options.approvals ?? '', 40)}`
      : undefined,
    options.by.trim() === '' ? '--by takes who opens it, for the record' : undefined,
  ].filter((problem) => problem !== undefined);
  const window: RecoveryWindow = {
    id,
    cluster,
    nodes,
    openedAt: rfc3339(openedAt),
    until: rfc3339(openedAt + Math.min(Math.max(lengthMs, 1000), MAX_WINDOW_MS)),
    by: printable(options.by, 300),
    approvals,
    bootstrapGroups: options.bootstrapGroup ?? DEFAULT_BOOTSTRAP_GROUPS,
  };
  const other = problems.length === 0 ? windowProblem(window) : undefined;
  if (other !== undefined) problems.push(`This is not a recovery window: ${other}`);
  if (problems.length > 0) throw new UsageError(problems.join('\n'));
  return window;
}

/** `30 min, until 2026-11-22 05:31 UTC`: of the whole window. */
export function lengthOf({ openedAt, until }: RecoveryWindow): string {
  const [from, to] = [Date.parse(openedAt), Date.parse(until)];
  return `${span(to - from)}, until ${date(to)}`;
}

function rfc3339(at: number): string {
  return new Date(at).toISOString().replace('.000Z', 'Z');
}
