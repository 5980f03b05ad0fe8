import { printable } from '../printable.ts';
import { OPT_IN, OPT_IN_ANNOTATION } from '../resources/annotations.ts';
import type { ObservedAuthority, ObservedNodeGroup } from '../resources/eks.ts';
import { DAY_MS } from '../time.ts';
import { endOfWindow } from '../window/window.ts';
import { compare, counted, date, firstOf, span } from '../words.ts';
import type { RolloutHistory } from './history.ts';
import { nextWindowOf } from './next-window.ts';
import type { ObservedNodeGroups } from './observed-node-groups.ts';
import { DEFAULT_ROLLOUT_POLICY, type RolloutPolicy } from './policy.ts';
import type { RolloutCheck } from './step.ts';
import { hasTurn } from './turn.ts';

/** Preconditions of an update of a node group. Each has a section of `docs/runbooks/rollouts.md`. */
export const NODE_GROUP_CHECK_IDS = [
  'opted-in-by-fleet',
  'opted-in-by-owner',
  'everything-read',
  'successor-distributed',
  'not-too-late',
  'maintenance-window',
  'fleet-budget',
  'eks-cluster-settled',
  'one-node-group',
  'node-group-healthy',
  'node-group-version',
  'node-group-surge',
] as const;
export type NodeGroupCheckId = (typeof NODE_GROUP_CHECK_IDS)[number];

export interface NodeGroupCheck extends Omit<RolloutCheck, 'id'> {
  readonly id: NodeGroupCheckId;
}

export interface NodeGroupQuestion {
  readonly observed: ObservedNodeGroups;
  /** The CA that nodes must trust before it is activated. */
  readonly successor: ObservedAuthority;
  /** Groups that need an update, and that EKS can update. */
  readonly due: readonly ObservedNodeGroup[];
  /** Absent if fleet.yaml has no entry for the cluster. */
  readonly policy: RolloutPolicy | undefined;
  readonly history: RolloutHistory;
  /** Id of the planned update: a try with an unknown result does not block itself. */
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/**
 * When it is too late to begin: `stop` before the first activation that EKS announces. Undefined if it announces none.
 *
 * @returns milliseconds since the epoch
 */
export function deadlineOf(
  { createdAt, firstAutoActivation, finalAutoActivation }: ObservedAuthority,
  { stop }: Pick<RolloutPolicy, 'stop'> = DEFAULT_ROLLOUT_POLICY,
): number | undefined {
  const named = [firstAutoActivation, finalAutoActivation].filter((at) => at !== undefined);
  if (named.length === 0) return undefined;
  const activation = Math.min(...named);
  return activation - Math.min(stop.days * DAY_MS, stop.share * Math.max(0, activation - createdAt));
}

/** All checks, passed ones included, in the order of `NODE_GROUP_CHECK_IDS`. Pure; never throws. */
export function nodeGroupChecksOf(question: NodeGroupQuestion): readonly NodeGroupCheck[] {
  return NODE_GROUP_CHECK_IDS.map((id) => ({ id, ...CHECKS[id](question) }));
}

type Checked = Omit<NodeGroupCheck, 'id'>;
const passed = (found: string): Checked => ({ passed: true, found });
const failed = (found: string, remedy: string, more: Partial<Checked> = {}): Checked => ({
  passed: false,
  found,
  remedy,
  ...more,
});
const passing = (found: string, remedy: string): Checked => failed(found, remedy, { passing: true });

const CHECKS: Readonly<Record<NodeGroupCheckId, (question: NodeGroupQuestion) => Checked>> = {
  'opted-in-by-fleet': ({ policy }) =>
    policy === undefined
      ? failed('no entry of fleet.yaml names the cluster', 'Add it to rollouts.clusters, with nodeGroups: true.')
      : policy.nodeGroups
        ? passed('nodeGroups is true for the cluster')
        : failed('nodeGroups is not true for the cluster', 'Set nodeGroups: true in its entry of rollouts.clusters.'),

  'opted-in-by-owner': ({ observed: { cluster } }) =>
    cluster.mode === OPT_IN
      ? passed(`the cluster has the tag ${OPT_IN_ANNOTATION}=${OPT_IN}`)
      : failed(
          cluster.mode === undefined
            ? `the cluster has no tag ${OPT_IN_ANNOTATION}`
            : `the tag ${OPT_IN_ANNOTATION} is “${printable(cluster.mode, 60)}”`,
          `The owner of the cluster sets the tag ${OPT_IN_ANNOTATION}=${OPT_IN} on it.`,
        ),

  'everything-read': ({ observed: { unread } }) => {
    const [first] = unread;
    if (first === undefined) return passed('cluster, CAs, node groups, updates and Nodes were read');
    const more = unread.length - 1;
    return failed(
      `${printable(first.object)}: ${printable(first.message)}${more === 0 ? '' : ` (and ${more} more)`}`,
      printable(first.remedy),
    );
  },

  'successor-distributed': ({ successor: { id, distributionStatus } }) => {
    const shown = printable(id, 60);
    if (distributionStatus === 'COMPLETE') return passed(`the CA ${shown} is distributed`);
    return distributionStatus === 'IN_PROGRESS'
      ? passing(`EKS distributes the CA ${shown}`, 'Wait: nodes that are made now may not know it yet.')
      : failed(
          `the distribution of the CA ${shown} is ${distributionStatus}`,
          'Find out with aws eks describe-certificate-authority, or open a case with AWS Support.',
        );
  },

  'not-too-late': ({ successor, policy, now }) => {
    const deadline = deadlineOf(successor, policy);
    if (deadline === undefined) return passed('EKS gives no date for its activation');
    // Not the other way round: an invalid time is too late.
    if (now < deadline) return passed(`${span(deadline - now)} left, until ${date(deadline)}`);
    return failed(
      `it had to begin before ${date(deadline)}`,
      'Update the node groups yourself, now, and watch it: nodes that are left lose the API server at the activation.',
    );
  },

  'maintenance-window': ({ policy, now }) => {
    const windows = policy?.windows ?? [];
    if (windows.length === 0) return passed('none is set');
    if (windows.some((window) => endOfWindow(window, now) !== undefined)) return passed('one is open');
    const next = policy === undefined ? undefined : nextWindowOf(policy, now);
    return next === undefined
      ? failed('none is open, and none opens again', 'Add one to the entry of the cluster in fleet.yaml.')
      : passing(`none is open; the next one opens ${date(next)}`, 'Wait for it.');
  },

  'fleet-budget': ({ history: { rollouts, limits, unread }, id, now }) => {
    if (unread !== undefined)
      return failed(`what the fleet did before cannot be read: ${printable(unread)}`, 'Fix that first.');
    const others = rollouts.filter((rollout) => rollout.id !== id);
    const open = others.filter((past) => hasTurn(past, now));
    if (open.length >= limits.atOnce) {
      const names = [...new Set(open.map(({ cluster }) => printable(cluster, 80)))].toSorted(compare);
      return passing(`${counted(open.length, 'rollout')} of the fleet run (${firstOf(names)})`, 'Wait for its turn.');
    }
    const last = Math.max(Number.NEGATIVE_INFINITY, ...others.map(({ startedAt }) => startedAt));
    return now - last < limits.pauseMs
      ? passing(`the last start was ${span(now - last)} ago`, `Wait until ${date(last + limits.pauseMs)}.`)
      : passed('there is room for one');
  },

  'eks-cluster-settled': ({ observed: { cluster } }) => {
    const running = cluster.updates.find(({ status }) => status === 'InProgress');
    if (running !== undefined)
      return passing(`EKS runs a ${printable(running.type, 60)} of the cluster`, 'Wait until it is done.');
    if (cluster.status === 'ACTIVE') return passed('the cluster is ACTIVE');
    const found = `the cluster is ${printable(cluster.status ?? 'not read', 40)}`;
    return cluster.status === 'UPDATING'
      ? passing(found, 'Wait until it is done.')
      : failed(found, 'Find out why with aws eks describe-cluster.');
  },

  'one-node-group': ({ observed: { groups } }) => {
    const busy = groups.filter(isUpdating).map(({ name }) => name);
    return busy.length === 0
      ? passed('no node group is being changed')
      : passing(`${counted(busy.length, 'node group')} (${firstOf(busy)}) being changed`, 'Wait until it is done.');
  },

  'node-group-healthy': ({ due }) => {
    const ill = due.find(({ status, issues }) => issues.length > 0 || (status !== 'ACTIVE' && status !== 'UPDATING'));
    if (ill === undefined) return passed(`${counted(due.length, 'node group')} healthy`);
    const { name, status, issues } = ill;
    return failed(
      `it is ${printable(status, 40)}${issues.length === 0 ? '' : `, with ${firstOf(issues)}`}`,
      'Find out why with aws eks describe-nodegroup, which shows health.issues.',
      { object: `node group ${name}` },
    );
  },

  // Two pages of the documentation disagree about a version difference: the call keeps the group's version, or takes
  // the cluster's.
  'node-group-version': ({ observed: { cluster }, due }) => {
    const other = due.find(({ version }) => version === undefined || version !== cluster.version);
    if (other === undefined)
      return passed(`all have Kubernetes ${printable(cluster.version ?? '', 20)} of the cluster`);
    return failed(
      `it has Kubernetes ${printable(other.version ?? 'unknown', 20)}, the cluster ${printable(cluster.version ?? 'unknown', 20)}: the update might change it`,
      'Upgrade it yourself: that replaces its nodes too.',
      { object: `node group ${other.name}` },
    );
  },

  'node-group-surge': ({ due, policy }) => {
    const minimal = due.find(({ strategy }) => strategy === 'MINIMAL');
    if (minimal === undefined) return passed('new nodes come before old ones go');
    if (policy?.accepted.includes('no-surge') === true) return passed('nodes may go before their successors come');
    return failed(
      'its update strategy is MINIMAL: nodes go before their successors come',
      'Set it to DEFAULT, or add no-surge to accepted in its entry of fleet.yaml.',
      { object: `node group ${minimal.name}` },
    );
  },
};

/** It is being changed: an update, a new size, its creation or its deletion. */
export function isUpdating({ status, updates }: ObservedNodeGroup): boolean {
  return (
    status === 'UPDATING' ||
    status === 'CREATING' ||
    status === 'DELETING' ||
    updates.some((update) => update.status === 'InProgress')
  );
}
