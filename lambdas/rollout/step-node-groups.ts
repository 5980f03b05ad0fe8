import type { EksAuditReader } from '../aws/eks-audit.ts';
import type { EksNodeGroups } from '../aws/eks-nodegroups.ts';
import { AwsError } from '../aws/errors.ts';
import { type Problem, problemOf } from '../contracts/problem.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { KubernetesError } from '../kubernetes/errors.ts';
import { listKind } from '../kubernetes/list.ts';
import { inTurns } from '../processor-time.ts';
import { OPT_IN_ANNOTATION } from '../resources/annotations.ts';
import type { ObservedEksNode } from '../resources/eks.ts';
import type { RolloutWritten } from './act.ts';
import { NO_HISTORY, type RolloutHistory } from './history.ts';
import { affectedGroups, type NodeGroupAct, type NodeGroupStep, planNodeGroups, successorOf } from './node-groups.ts';
import { type ObservedNodeGroups, readEksNode } from './observed-node-groups.ts';
import type { StepOptions } from './step-rollout.ts';

/** One EKS cluster, and the clients for its node groups. */
export interface NodeGroupTarget {
  /** Id in the fleet. */
  readonly id: string;
  /** Name in EKS. */
  readonly name: string;
  readonly account: string;
  readonly region: string;
  readonly workload: KubernetesClient;
  readonly authorities: EksAuditReader['authorities'];
  readonly nodeGroups: EksNodeGroups;
}

export interface NodeGroupWritten extends RolloutWritten {
  readonly kind: Exclude<RolloutWritten['kind'], 'locked'>;
}

/** The result of one step for the node groups of a cluster. */
export interface NodeGroupsStepped {
  readonly observed: ObservedNodeGroups;
  readonly step: NodeGroupStep;
  /** Absent if there was nothing to write, or writes are held. */
  readonly written?: NodeGroupWritten;
  /** Problems, for people: a rejected update, an unreadable ledger, a held update. */
  readonly problems: readonly Problem[];
  /** RFC 3339. */
  readonly at: string;
}

/** Four times the nodes that Kubernetes supports in a cluster. */
const MAX_NODES = 20_000;

/**
 * One step for the node groups of one EKS cluster: observe, plan, begin at most one update, report. Reads nothing
 * without an opt-in of fleet.yaml, and nodes, groups and updates only while the CA of the cluster has a successor.
 * Begins nothing without a ledger. Safe to repeat, to interrupt and to run concurrently. Rejects only for a bug.
 */
export async function stepNodeGroups(
  target: NodeGroupTarget,
  options: Omit<StepOptions, 'trigger'>,
): Promise<NodeGroupsStepped> {
  const { policy, ledger, holdWrites, clock, signal } = options;
  const at = new Date(clock()).toISOString();
  const problems: Problem[] = [];
  const history = await readHistory(ledger, problems, signal);
  const observed = policy?.nodeGroups === true ? await observeNodeGroups(target, signal) : nothingOf(target);
  const step = planNodeGroups(observed, policy, history, clock());
  const stepped = { observed, step, problems, at };

  if (holdWrites === undefined)
    for (const id of step.ended) await end(ledger, { id, cluster: target.id, at: clock() }, problems, signal);
  if (step.kind !== 'act') return stepped;
  const why =
    holdWrites ??
    (ledger === undefined ? 'the fleet has no memory here: only a deployed certmarshal updates' : undefined);
  if (why !== undefined) {
    const message = `not updated: ${why}`;
    problems.push({
      kind: 'held',
      object: `node group ${step.nodegroup}`,
      message,
      remedy: 'Nothing to do if that is intended.',
    });
    return stepped;
  }
  const before = history.rollouts.find(({ id }) => id === step.clientRequestToken);
  const claimedAt = before?.startedAt ?? clock();
  const claimed = before !== undefined || (await claim(ledger, target, step, claimedAt, problems, signal));
  if (claimed !== true) return { ...stepped, written: { kind: claimed === false ? 'overtaken' : 'failed' } };
  const written = await update(target, step, signal);
  if (written.problem !== undefined) problems.push(written.problem);
  if (written.kind !== 'written' && written.kind !== 'unknown') {
    // An update that did not begin is forgotten.
    const undone = { id: step.clientRequestToken, cluster: target.id, at: clock(), undone: { claimedAt } };
    await end(ledger, undone, problems, signal);
  }
  return { ...stepped, written };
}

/** Reads exactly what the next step depends on. Failed reads are in `unread`. */
async function observeNodeGroups(target: NodeGroupTarget, signal: AbortSignal): Promise<ObservedNodeGroups> {
  const unread: Problem[] = [];
  const read = async <T>(reading: Promise<T>, otherwise: T): Promise<T> => {
    try {
      return await reading;
    } catch (error) {
      unread.push(problemOf(known(error)));
      return otherwise;
    }
  };
  const eks = target.nodeGroups;
  const [described, authorities] = await Promise.all([
    read<Awaited<ReturnType<EksNodeGroups['cluster']>>>(eks.cluster(OPT_IN_ANNOTATION, signal), {}),
    read(target.authorities(signal), []),
  ]);
  const nothing = nothingOf(target);
  const cluster = { ...nothing.cluster, ...described };
  if (successorOf(authorities) === undefined) return { ...nothing, cluster, authorities, unread };

  const [nodes, named, updates] = await Promise.all([
    read(readNodes(target.workload, unread, signal), []),
    read(eks.nodeGroups(signal), []),
    read(eks.updates(undefined, signal), []),
  ]);
  const affected = new Set(affectedGroups({ authorities, nodes, groups: named }));
  const groups = await Promise.all(
    named.map(async (group) => ({
      ...group,
      updates: affected.has(group) ? await read(eks.updates(group.name, signal), []) : [],
    })),
  );
  return { cluster: { ...cluster, updates }, authorities, groups, nodes, unread };
}

const nothingOf = ({ id, name, account, region }: NodeGroupTarget): ObservedNodeGroups => ({
  cluster: { id, name, account, region, updates: [] },
  authorities: [],
  groups: [],
  nodes: [],
  unread: [],
});

/** @throws KubernetesError */
async function readNodes(
  client: KubernetesClient,
  unread: Problem[],
  signal: AbortSignal,
): Promise<readonly ObservedEksNode[]> {
  const nodes: ObservedEksNode[] = [];
  for await (const page of listKind(client, 'nodes', { signal })) {
    for await (const node of inTurns(page, readEksNode)) {
      if (typeof node === 'string')
        unread.push({
          kind: 'malformed',
          object: 'Nodes',
          message: node,
          remedy: 'Check it: kubectl get nodes -o yaml.',
        });
      else nodes.push(node);
    }
    if (nodes.length > MAX_NODES || unread.length > MAX_NODES) {
      const message = `there are more than ${MAX_NODES} Nodes`;
      unread.push({ kind: 'too-large', object: 'Nodes', message, remedy: 'Find out who creates so many of them.' });
      break;
    }
  }
  return nodes;
}

async function readHistory(
  ledger: StepOptions['ledger'],
  problems: Problem[],
  signal: AbortSignal,
): Promise<RolloutHistory> {
  if (ledger === undefined) return NO_HISTORY;
  try {
    const history = await ledger.read(signal);
    problems.push(...(history.problems ?? []));
    return history;
  } catch (error) {
    const problem = problemOf(known(error));
    problems.push(problem);
    return { ...NO_HISTORY, unread: problem.message };
  }
}

/** @returns undefined if it could not be recorded */
async function claim(
  ledger: StepOptions['ledger'],
  { id: cluster }: NodeGroupTarget,
  { clientRequestToken: id }: NodeGroupAct,
  at: number,
  problems: Problem[],
  signal: AbortSignal,
): Promise<boolean | undefined> {
  try {
    return await ledger?.claim({ id, cluster, trigger: 'schedule', at }, signal);
  } catch (error) {
    problems.push(problemOf(known(error)));
    return undefined;
  }
}

async function end(
  ledger: StepOptions['ledger'],
  rollout: Parameters<NonNullable<StepOptions['ledger']>['end']>[0],
  problems: Problem[],
  signal: AbortSignal,
): Promise<void> {
  try {
    await ledger?.end(rollout, signal);
  } catch (error) {
    problems.push(problemOf(known(error)));
  }
}

async function update(
  { nodeGroups }: NodeGroupTarget,
  { nodegroup, clientRequestToken }: NodeGroupAct,
  signal: AbortSignal,
): Promise<NodeGroupWritten> {
  try {
    const updated = await nodeGroups.update(nodegroup, clientRequestToken, signal);
    if (updated.kind === 'begun') return { kind: 'written' };
    return { kind: updated.kind === 'busy' ? 'overtaken' : 'refused', problem: updated.problem };
  } catch (error) {
    const failure = known(error);
    const problem = problemOf(failure);
    // No answer, or an unreadable one: EKS may have it.
    const isUnknown = failure.kind === 'unavailable' || failure.kind === 'aborted' || failure.kind === 'invalid';
    return { kind: isUnknown ? 'unknown' : failure.kind === 'denied' ? 'refused' : 'failed', problem };
  }
}

/** @throws bugs only */
function known(error: unknown): AwsError | KubernetesError {
  if (error instanceof AwsError || error instanceof KubernetesError) return error;
  throw error;
}
