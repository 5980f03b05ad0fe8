import { type Problem, problemOf } from '../contracts/problem.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { KubernetesError } from '../kubernetes/errors.ts';
import { patchEtcdadmCluster, patchKubeadmControlPlane } from '../kubernetes/merge-patch.ts';
import { FIELD_MANAGER } from '../resources/annotations.ts';
import type { JsonObject } from '../resources/fields.ts';
import type { Lease } from '../resources/lease.ts';
import { acquireLease, isHeldBy, type LeaseOptions, releaseLease } from './rollout-lease.ts';
import { differsFrom, patchOf } from './rollout-patch.ts';
import type { RolloutWrite } from './step.ts';

/**
 * The result of a write.
 *
 * - `written`: it is on the object.
 * - `overtaken`: the object changed since it was read (409): the next step plans again.
 * - `refused`: the server or one of its webhooks rejected the dry run or the write; `problem` quotes it. Nothing was
 * written.
 * - `locked`: another rollout has the Lease; `problem` names it.
 * - `failed`: it was not sent; nothing was written.
 * - `unknown`: it was sent without an answer: the next step finds out.
 */
export interface RolloutWritten {
  readonly kind: 'written' | 'overtaken' | 'refused' | 'locked' | 'failed' | 'unknown';
  readonly problem?: Problem;
}

export interface ActOptions extends LeaseOptions {
  /**
   * As observed before the plan: a write that begins a rollout is bound to it, and one that aborts a rollout returns
   * it.
   */
  readonly lease?: Lease | undefined;
  /**
   * Nothing moves after this write, which aborts a rollout (`endsSettled`): only then it also returns the Lease.
   * @default false: a later step returns it
   */
  readonly settled?: boolean;
  /** Aborts when nothing more may begin. */
  readonly beginBy?: AbortSignal;
  /**
   * For a write that begins a rollout: called after the dry run, right before the write. A returned result replaces the
   * write. @default nothing stops it
   */
  readonly claim?: () => Promise<RolloutWritten | undefined>;
}

export type BeginWrite = Extract<RolloutWrite, { readonly kind: 'roll-control-plane' | 'pause-control-plane' }>;

export function isBegin(write: RolloutWrite): write is BeginWrite {
  return write.kind === 'roll-control-plane' || write.kind === 'pause-control-plane';
}

/**
 * Executes one write: to begin a rollout the Lease first, then dry run, claim and write; to end one the Lease last.
 * Rejects only for a bug.
 */
export async function actRollout(write: RolloutWrite, options: ActOptions): Promise<RolloutWritten> {
  if (write.kind === 'abort') return endRollout(write, options);
  if (!isBegin(write)) return dryRunThenWrite(write, options);
  const { beginBy, signal } = options;
  const within = beginBy === undefined ? options : { ...options, signal: AbortSignal.any([signal, beginBy]) };
  const taken = await acquireLease(options.lease, write.mark.id, within);
  if (taken.kind !== 'held') {
    return { kind: taken.kind, problem: taken.problem };
  }
  const written = await dryRunThenWrite(write, within);
  const begun = written.kind === 'written' || written.kind === 'unknown';
  // Others need not wait for a rollout that did not begin, but an earlier one of this cluster may be in progress. If
  // this fails, the Lease expires.
  if (!begun && taken.lease !== undefined && !isHeldBy(options.lease, options.cluster))
    await releaseLease(taken.lease, options);
  return written;
}

/** Others need not wait for an aborted rollout that does not move; if this fails, the Lease expires a day later. */
async function endRollout(write: RolloutWrite, options: ActOptions): Promise<RolloutWritten> {
  const written = await dryRunThenWrite(write, options);
  const { lease, cluster, settled = false } = options;
  if (written.kind !== 'written' || !settled || lease === undefined || !isHeldBy(lease, cluster)) return written;
  const { kind, problem } = await releaseLease(lease, options);
  // The other writer has just taken a step.
  return kind === 'held' || kind === 'overtaken' || problem === undefined ? written : { ...written, problem };
}

async function dryRunThenWrite(write: RolloutWrite, options: ActOptions): Promise<RolloutWritten> {
  const body = patchOf(write);
  const rehearsed = await patch(write, body, true, options);
  if (rehearsed.kind !== 'written') return rehearsed.kind === 'unknown' ? { ...rehearsed, kind: 'failed' } : rehearsed;
  const different = differsFrom(body, rehearsed.answer);
  if (different !== undefined) return { kind: 'refused', problem: changedByServer(write, different, options) };
  const unclaimed = isBegin(write) ? await options.claim?.() : undefined;
  if (unclaimed !== undefined) return unclaimed;
  const { kind, problem } = await patch(write, body, false, options);
  return { kind, problem };
}

interface Patched extends RolloutWritten {
  readonly answer?: JsonObject;
}

async function patch(
  write: RolloutWrite,
  body: JsonObject,
  dryRun: boolean,
  { management, signal }: ActOptions,
): Promise<Patched> {
  const { namespace, name } = write.object;
  const call = { namespace, name, body, dryRun, fieldManager: FIELD_MANAGER, signal };
  if (signal.aborted) return { kind: 'failed', problem: overdue(write, management) };
  try {
    const answer = await (write.kind === 'roll-etcd'
      ? patchEtcdadmCluster(management, call)
      : patchKubeadmControlPlane(management, { ...call, apiVersion: write.object.apiVersion }));
    return { kind: 'written', answer };
  } catch (error) {
    if (!(error instanceof KubernetesError)) throw error;
    return { kind: outcomeOf(error), problem: refusalOf(error) };
  }
}

/** The result of a write that was sent. */
function outcomeOf(error: KubernetesError): RolloutWritten['kind'] {
  switch (error.kind) {
    case 'conflict':
    case 'not-found':
      return 'overtaken';
    case 'forbidden':
    case 'invalid':
    case 'gone':
      return 'refused';
    case 'unauthorized':
    case 'credentials':
    case 'certificate':
    case 'certificate-expired':
    case 'throttled':
      return 'failed';
    case 'unreachable':
      return error.code === 'ECONNREFUSED' ? 'failed' : 'unknown';
    case 'unresolved':
    case 'server':
    case 'timeout':
    case 'aborted':
    case 'too-large':
    case 'not-kubernetes':
      return 'unknown';
  }
}

/**
 * Text of a rejection by an admission webhook, which no permission changes. Source: apiserver, `ToStatusErr` of the
 * webhook errors.
 */
function refusalOf(error: KubernetesError): Problem {
  const problem = problemOf(error);
  if (!/admission webhook "[^"]*" denied the request/.test(error.problem)) return problem;
  return {
    ...problem,
    remedy:
      'The webhook says what it does not accept, and nothing was written: fix that on the object, then check again.',
  };
}

function overdue({ object }: RolloutWrite, { server }: KubernetesClient): Problem {
  return {
    kind: 'aborted',
    object: `patch ${object.namespace}/${object.name} on ${server}`,
    message: 'not sent: the time was used up',
    remedy: 'It is read again the next time; if it happens again, check the load of the API server.',
  };
}

function changedByServer({ object }: RolloutWrite, field: string, { management }: ActOptions): Problem {
  return {
    kind: 'invalid',
    object: `patch ${object.namespace}/${object.name} on ${management.server}`,
    message: `in a dry run the server accepted it, but ${field} is not what was requested; nothing was written`,
    remedy:
      'Find out which admission webhook changes this field (kubectl get mutatingwebhookconfigurations), or whether the CustomResourceDefinition in the cluster lacks it.',
  };
}
