import { createHash } from 'node:crypto';
import { word } from '../command.ts';
import type { PastRollout } from '../contracts/rollout-ledger.ts';
import type { HoldReason } from '../contracts/rollout-summary.ts';
import { trustedSince } from '../eks-successor.ts';
import { printable } from '../printable.ts';
import type { ObservedAuthority, ObservedEksNode, ObservedNodeGroup, ObservedUpdate } from '../resources/eks.ts';
import type { NodeKind } from '../resources/node.ts';
import type { RolloutState } from '../tables/rollout-states.ts';
import { MINUTE_MS } from '../time.ts';
import { compare, counted, date, firstOf } from '../words.ts';
import type { RolloutHistory } from './history.ts';
import { nextWindowOf } from './next-window.ts';
import { deadlineOf, isUpdating, type NodeGroupCheck, nodeGroupChecksOf } from './node-group-checks.ts';
import type { ObservedNodeGroups } from './observed-node-groups.ts';
import type { RolloutPolicy } from './policy.ts';

/** The next action for the node groups of one EKS cluster. */
export type NodeGroupStep = NodeGroupNothing | NodeGroupHold | NodeGroupAsk | NodeGroupAct;

interface Planned {
  readonly state: Extract<
    RolloutState,
    'off' | 'idle' | 'waiting' | 'refused' | 'assist' | 'ready' | 'rolling' | 'verifying' | 'held'
  >;
  /** The whole story in one sentence, without a full stop. */
  readonly message: string;
  /** Every check that was made, in order. */
  readonly checks: readonly NodeGroupCheck[];
  /** Left to a person in any case. */
  readonly asks: readonly NodeGroupRequest[];
  /** The latest time for an update to begin. Milliseconds since the epoch. */
  readonly deadline?: number;
  /** When a maintenance window opens next, if there are any and none is open. */
  readonly nextWindow?: number;
  /** Ids of finished updates, to be recorded. */
  readonly ended: readonly string[];
}

export interface NodeGroupNothing extends Planned {
  readonly kind: 'nothing';
}

export interface NodeGroupHold extends Planned {
  readonly kind: 'hold';
  /** All reasons. Never empty. */
  readonly reasons: readonly HoldReason[];
}

export interface NodeGroupAsk extends Planned {
  readonly kind: 'ask';
  /** The first of `asks`. */
  readonly command: string;
}

/** One call of `UpdateNodegroupVersion`: latest image of the same Kubernetes version, never forced. */
export interface NodeGroupAct extends Planned {
  readonly kind: 'act';
  /** Name in EKS. */
  readonly cluster: string;
  readonly nodegroup: string;
  /** The same for every try, which EKS deduplicates. Also the id of the rollout. */
  readonly clientRequestToken: string;
}

export interface NodeGroupRequest {
  /** `node group blue`, `3 self-managed Nodes (a, b, c)` */
  readonly object: string;
  readonly message: string;
  readonly command: string;
}

/**
 * Why node groups are no longer updated automatically, besides checks. Each has a section of
 * `docs/runbooks/rollouts.md`.
 */
export const NODE_GROUP_HOLD_IDS = {
  'successor-activated': {
    title: 'The successor of the cluster CA is active, and Nodes may not know it',
    remedy: 'Revert the activation while EKS allows it, or replace these Nodes now and watch them',
  },
  'node-group-update-failed': {
    title: 'The update of a node group failed',
    remedy: 'Fix what EKS names, then update it yourself',
  },
  'node-group-still-old': {
    title: 'A node group was updated, but still has old Nodes',
    remedy: 'Replace them one by one; certmarshal does not update a node group twice for one successor',
  },
  'node-group-not-updated': {
    title: 'EKS was asked to update a node group, but made no update',
    remedy:
      'Update it yourself and see what EKS says; where it says nothing and updates nothing, replace its Nodes one by one',
  },
} as const satisfies Record<string, { readonly title: string; readonly remedy: string }>;
export type NodeGroupHoldId = keyof typeof NODE_GROUP_HOLD_IDS;

/** Section of `docs/runbooks/rollouts.md` for work left to a person. */
export const NODES_BY_HAND = 'nodes-by-hand';

/** How long a try without an update is retried. Then it counts as failed. */
const TRY_MS = 60 * MINUTE_MS;
/** How long Nodes of deleted instances may stay. */
const SETTLE_MS = 15 * MINUTE_MS;
/** Clock skew between EKS and us. */
const CLOCK_MS = 5 * MINUTE_MS;
const ID_PREFIX = 'ng-';
/** 92 bits. */
const ID_DIGITS = 23;

/**
 * The next step towards node groups that trust the successor of their cluster's CA. A node learns the CAs when it is
 * created: an older one loses the API server when EKS activates the successor. Pure: no I/O, no clock, and a value for
 * every input.
 *
 * Source: Amazon EKS user guide, on the rotation of the certificate authority; API reference, UpdateNodegroupVersion.
 *
 * @param policy undefined if fleet.yaml has no entry for the cluster
 * @param now milliseconds since the epoch
 */
export function planNodeGroups(
  observed: ObservedNodeGroups,
  policy: RolloutPolicy | undefined,
  history: RolloutHistory,
  now: number,
): NodeGroupStep {
  const { cluster, groups, unread } = observed;
  const successor = successorOf(observed.authorities);
  const tries = triesOf(observed, successor, history, now);
  const ended = tries.filter(({ state }) => state === 'over').map(({ past }) => past.id);
  const base = { checks: [], asks: [], ended };

  if (policy?.nodeGroups !== true && successor === undefined)
    return { ...base, kind: 'nothing', state: 'off', message: 'nodeGroups is not true for the cluster' };
  if (successor === undefined) {
    const [first] = unread;
    if (first === undefined)
      return { ...base, kind: 'nothing', state: 'idle', message: 'the CA of the cluster has no successor' };
    const { object, message, remedy } = first;
    const reason = { id: 'everything-read', object, message, remedy };
    return {
      ...base,
      kind: 'hold',
      state: 'refused',
      message: `not everything could be read: ${message}`,
      reasons: [reason],
    };
  }

  const old = observed.nodes.filter((node) => isOld(node, successor));
  const known = new Map(groups.map((group) => [group.name, group]));
  const affected = affectedGroups(observed);
  const ofPeople = affected.filter(
    ({ amiType, launchTemplate }) => amiType === 'CUSTOM' || launchTemplate !== undefined,
  );
  const due = affected.filter((group) => !ofPeople.includes(group));
  const open = tries.find(({ state }) => state === 'open');
  const candidate = due.find(({ name }) => name === open?.group?.name) ?? due[0];
  const id = candidate === undefined ? '' : tokenOf(observed, candidate, successor);
  const checks = nodeGroupChecksOf({
    observed,
    successor,
    due,
    policy,
    history: {
      ...history,
      rollouts: history.rollouts.map((past) => (ended.includes(past.id) ? over(past, now) : past)),
    },
    id,
    now,
  });
  const deadline = deadlineOf(successor, policy);
  const nextWindow = policy === undefined ? undefined : nextWindowOf(policy, now);
  const asks = [
    ...ofPeople.map((group) => byOwner(group, observed)),
    ...ownersOf(old, known).map(([kind, nodes]) => OWNERS[kind](nodes, observed)),
  ];
  const planned = {
    checks,
    asks,
    ended,
    deadline,
    nextWindow,
  };
  const story = storyOf(old, due, successor);

  const lacks = checks.find(({ id: check, passed }) => check.startsWith('opted-in') && !passed);
  // An unreadable tag is not a missing one.
  const unknownMode = lacks?.id === 'opted-in-by-owner' && cluster.status === undefined && unread.length > 0;
  if (lacks !== undefined && !unknownMode)
    return { ...planned, asks: [], kind: 'nothing', state: 'off', message: `${story}; ${lacks.found}` };

  const held = reasonsToHold({ observed, successor, old, due, tries, now });
  if (held.length > 0) {
    const message = `${story}; ${held.map((reason) => reason.message).join('; ')}`;
    return { ...planned, kind: 'hold', state: 'held', message, reasons: held };
  }
  const busy = groups.find(isUpdating);
  if (busy !== undefined && due.length > 0) {
    const state = due.includes(busy) ? 'rolling' : 'waiting';
    return { ...planned, kind: 'nothing', state, message: `${story}; node group ${busy.name} is being changed` };
  }
  if (due.some((group) => lastUpdate(group, successor) !== undefined))
    return {
      ...planned,
      kind: 'nothing',
      state: 'verifying',
      message: `${story}; their update is done, and they are being removed`,
    };

  const failing = checks.filter(({ passed }) => !passed);
  const refusing = failing.filter(({ passing }) => passing !== true);
  if (refusing.length > 0 && (due.length > 0 || unread.length > 0)) {
    const reasons = refusing.map(({ id: check, object, found, remedy = '' }) => ({
      id: check,
      object,
      message: found,
      remedy,
    }));
    const message = `${story}; ${refusing.map(({ found }) => found).join('; ')}`;
    return { ...planned, kind: 'hold', state: 'refused', message, reasons };
  }
  if (candidate === undefined) {
    const [ask] = asks;
    return ask === undefined
      ? { ...planned, kind: 'nothing', state: 'idle', message: story }
      : { ...planned, kind: 'ask', state: 'assist', message: `${story}; ${ask.message}`, command: ask.command };
  }
  const [waiting] = failing;
  if (waiting !== undefined)
    return { ...planned, kind: 'nothing', state: 'waiting', message: `${story}; ${waiting.found}` };
  return {
    ...planned,
    kind: 'act',
    state: 'ready',
    message: `${story}; node group ${candidate.name} is updated, which may also bring a newer image of Kubernetes ${candidate.version ?? ''} than ${printable(candidate.releaseVersion ?? 'its own', 80)}`,
    cluster: cluster.name,
    nodegroup: candidate.name,
    clientRequestToken: id,
  };
}

/** Names of node groups with nodes that may not trust the successor: only their updates matter. */
export function affectedGroups<G extends Pick<ObservedNodeGroup, 'name'>>({
  authorities,
  nodes,
  groups,
}: Pick<ObservedNodeGroups, 'authorities' | 'nodes'> & { readonly groups: readonly G[] }): readonly G[] {
  const successor = successorOf(authorities);
  if (successor === undefined) return [];
  const old = nodes.filter((node) => node.kind === 'managed' && isOld(node, successor));
  const names = new Set(old.map(({ nodegroup }) => nodegroup));
  return groups.filter(({ name }) => names.has(name)).toSorted((a, b) => compare(a.name, b.name));
}

/** The exact command for people, with names of EKS only. */
function updateCommand(
  { name, region }: Pick<ObservedNodeGroups['cluster'], 'name' | 'region'>,
  nodegroup: string,
): string {
  return `aws eks update-nodegroup-version --cluster-name ${word(name, 'CLUSTER')} --nodegroup-name ${word(nodegroup, 'NODEGROUP')} --region ${word(region, 'REGION')}`;
}

/** The successor of two CAs, before or after its activation. Without one nothing else has to be read. */
export function successorOf(authorities: readonly ObservedAuthority[]): ObservedAuthority | undefined {
  if (authorities.length < 2) return undefined;
  const [newest] = authorities.toSorted(
    (a, b) => b.createdAt - a.createdAt || Number(a.signingStatus === 'IN_USE') - Number(b.signingStatus === 'IN_USE'),
  );
  return newest?.distributionStatus === 'DELETING' ? undefined : newest;
}

/** Except nodes that are being deleted. A node without a time is old. */
function isOld({ createdAt, deleting }: ObservedEksNode, successor: ObservedAuthority): boolean {
  return !deleting && !(createdAt >= trustedSince(successor.createdAt));
}

/** The newest update since then that replaced all nodes, or should have, by anyone. */
function lastUpdate({ updates }: ObservedNodeGroup, successor: ObservedAuthority): ObservedUpdate | undefined {
  return updates
    .filter(({ type, createdAt }) => type === 'VersionUpdate' && createdAt >= trustedSince(successor.createdAt))
    .toSorted((a, b) => b.createdAt - a.createdAt)[0];
}

/** 26 characters of `[a-z0-9-]`. Another successor, or another group of the same name, is another update. */
function tokenOf(
  { cluster }: ObservedNodeGroups,
  { name, createdAt }: ObservedNodeGroup,
  { id }: ObservedAuthority,
): string {
  const what = JSON.stringify([cluster.account, cluster.region, cluster.name, name, createdAt, id]);
  return `${ID_PREFIX}${createHash('sha256').update(what).digest('hex').slice(0, ID_DIGITS)}`;
}

/** A begun update, from the ledger. */
interface Try {
  readonly past: PastRollout;
  /** Absent if it was deleted. */
  readonly group?: ObservedNodeGroup;
  /** `open`: unknown whether EKS has it; `running`; `over` is to be recorded, `ended` is recorded. */
  readonly state: 'open' | 'running' | 'over' | 'ended';
  /** EKS has an update for it. */
  readonly seen: boolean;
}

function triesOf(
  observed: ObservedNodeGroups,
  successor: ObservedAuthority | undefined,
  { rollouts }: RolloutHistory,
  now: number,
): readonly Try[] {
  const affected = new Set(affectedGroups(observed));
  const groups = new Map(
    successor === undefined ? [] : observed.groups.map((group) => [tokenOf(observed, group, successor), group]),
  );
  return rollouts
    .filter(({ id, cluster }) => cluster === observed.cluster.id && id.startsWith(ID_PREFIX))
    .map((past) => {
      const group = groups.get(past.id);
      if (group === undefined) {
        // Gone, or not read.
        const gone = observed.unread.length === 0;
        return { past, seen: false, state: past.endedAt !== undefined ? 'ended' : gone ? 'over' : 'running' };
      }
      const seen = group.updates.some(
        ({ type, createdAt }) => type === 'VersionUpdate' && createdAt >= past.startedAt - CLOCK_MS,
      );
      if (past.endedAt !== undefined) return { past, group, seen, state: 'ended' };
      if (isUpdating(group)) return { past, group, seen, state: 'running' };
      // Without old nodes there is nothing left to try, no matter who replaced them.
      const isOver = seen || !affected.has(group) || now - past.startedAt > TRY_MS;
      return { past, group, seen, state: isOver ? 'over' : 'open' };
    });
}

const over = (past: PastRollout, now: number): PastRollout => ({ ...past, endedAt: past.endedAt ?? now });

const hold = (id: NodeGroupHoldId, object: string, message: string): readonly HoldReason[] => [
  { id, object, message, remedy: NODE_GROUP_HOLD_IDS[id].remedy },
];

function reasonsToHold({
  observed: { cluster },
  successor,
  old,
  due,
  tries,
  now,
}: {
  readonly observed: ObservedNodeGroups;
  readonly successor: ObservedAuthority;
  readonly old: readonly ObservedEksNode[];
  readonly due: readonly ObservedNodeGroup[];
  readonly tries: readonly Try[];
  readonly now: number;
}): readonly HoldReason[] {
  const lost = old.filter(({ kind }) => kind !== 'auto-mode' && kind !== 'fargate');
  if (successor.signingStatus !== 'NOT_USED') {
    if (lost.length === 0) return [];
    const active = successor.signingStatus === 'IN_USE' ? 'active' : 'being activated';
    const object = `EKS certificate authority ${printable(successor.id, 80)}`;
    return hold(
      'successor-activated',
      object,
      `the successor is ${active}, and ${counted(lost.length, 'Node')} (${namesOf(lost)}) may not know it`,
    );
  }
  return due.flatMap((group): readonly HoldReason[] => {
    if (isUpdating(group)) return [];
    const object = `node group ${group.name}`;
    const update = lastUpdate(group, successor);
    const mine = tries.filter((one) => one.group === group);
    if (update === undefined) {
      const inVain = mine.some(({ state, seen }) => !seen && (state === 'ended' || state === 'over'));
      return inVain ? hold('node-group-not-updated', object, NODE_GROUP_HOLD_IDS['node-group-not-updated'].title) : [];
    }
    if (update.status !== 'Successful') {
      const why = update.errors.length === 0 ? '' : `: ${firstOf(update.errors)}`;
      const command = updateCommand(cluster, group.name);
      return hold(
        'node-group-update-failed',
        object,
        `its update ${printable(update.id, 60)} is ${printable(update.status, 30)}${why}; repeat it by hand: ${command}`,
      );
    }
    // The end of an update is unknown: if it was not ours, its beginning is used.
    const ends = mine.map(({ past }) => past.endedAt ?? now);
    if (now - Math.max(update.createdAt, ...ends) < SETTLE_MS) return [];
    return hold(
      'node-group-still-old',
      object,
      `its update ${printable(update.id, 60)} is done, but some of its Nodes are still older`,
    );
  });
}

type Owned = Extract<NodeKind, 'hybrid' | 'karpenter' | 'self-managed'>;

/** Nodes that EKS does not replace, by who replaces them. */
function ownersOf(
  old: readonly ObservedEksNode[],
  groups: ReadonlyMap<string, ObservedNodeGroup>,
): readonly (readonly [Owned, readonly ObservedEksNode[]])[] {
  const kinds = ['self-managed', 'karpenter', 'hybrid'] as const;
  // A kubelet writes this label itself: a group unknown to EKS does not count.
  const kindOf = ({ kind, nodegroup = '' }: ObservedEksNode): NodeKind =>
    kind === 'managed' && !groups.has(nodegroup) ? 'self-managed' : kind;
  return kinds.flatMap((kind) => {
    const nodes = old.filter((node) => kindOf(node) === kind);
    return nodes.length === 0 ? [] : [[kind, nodes] as const];
  });
}

const OWNERS: Readonly<
  Record<Owned, (nodes: readonly ObservedEksNode[], observed: ObservedNodeGroups) => NodeGroupRequest>
> = {
  'self-managed': (nodes, { cluster }) => ({
    object: `${counted(nodes.length, 'self-managed Node')} (${namesOf(nodes)})`,
    message: 'give their launch template both CAs in its user data, then refresh their Auto Scaling group',
    command: `aws autoscaling start-instance-refresh --auto-scaling-group-name AUTO_SCALING_GROUP --region ${word(cluster.region, 'REGION')}`,
  }),
  karpenter: (nodes) => ({
    object: `${counted(nodes.length, 'Node')} of Karpenter (${namesOf(nodes)})`,
    message: 'let them drift: change the template of their NodePool, which keeps to its disruption budgets',
    command: 'kubectl get nodeclaims.karpenter.sh --sort-by=.metadata.creationTimestamp',
  }),
  hybrid: (nodes) => ({
    object: `${counted(nodes.length, 'hybrid Node')} (${namesOf(nodes)})`,
    message: 'run nodeadm init on them again, one after the other',
    command: 'kubectl get nodes -l eks.amazonaws.com/compute-type=hybrid --sort-by=.metadata.creationTimestamp',
  }),
};

/** EKS uses a launch template with the permissions of the caller, and certmarshal may not launch instances. */
function byOwner(
  { name, amiType, launchTemplate = '' }: ObservedNodeGroup,
  { cluster }: ObservedNodeGroups,
): NodeGroupRequest {
  const [object, command] = [`node group ${name}`, updateCommand(cluster, name)];
  if (amiType !== 'CUSTOM')
    return {
      object,
      message: `${object} has a launch template of its own, and updating it requires the right to launch instances: update it yourself`,
      command,
    };
  return {
    object,
    message: `${object} has an image of its own: make a new version of its launch template, and update to that`,
    command: `${command} --launch-template id=${word(launchTemplate, 'LAUNCH_TEMPLATE')},version=VERSION`,
  };
}

function namesOf(nodes: readonly ObservedEksNode[]): string {
  return firstOf(nodes.map(({ name }) => printable(name, 80)).toSorted(compare));
}

function storyOf(
  old: readonly ObservedEksNode[],
  due: readonly ObservedNodeGroup[],
  successor: ObservedAuthority,
): string {
  const by = `the successor of the cluster CA of ${date(successor.createdAt)}`;
  const own = old.filter(({ kind }) => kind === 'auto-mode' || kind === 'fargate').length;
  const others = old.length - own;
  const byItself = own === 0 ? '' : `; EKS replaces ${counted(own, 'Node')} of Auto Mode or Fargate automatically`;
  if (others === 0) return `no Node that a person has to replace is older than ${by}${byItself}`;
  const where =
    due.length === 0 ? '' : ` in ${counted(due.length, 'node group')} (${firstOf(due.map(({ name }) => name))})`;
  return `${counted(others, 'Node')}${where} may be older than ${by}${byItself}`;
}
