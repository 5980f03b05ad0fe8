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
 * What became of a write.
 *
 * - `written`: it is on the object.
 * - `overtaken`: somebody changed the object since it was read (409): the next look plans anew.
 * - `refused`: the server or one of its webhooks refused the dry run or the write; `problem` has its words. Nothing was written.
 * - `locked`: another rollout has the Lease; `problem` says which.
 * - `failed`: it was not sent; nothing was written.
 * - `unknown`: it was sent, and no answer says whether it was done: the next look tells.
 */
export interface RolloutWritten {
  readonly kind: 'written' | 'overtaken' | 'refused' | 'locked' | 'failed' | 'unknown';
  readonly problem?: Problem;
}

export interface ActOptions extends LeaseOptions {
  /** As it was observed, before the plan: what begins a rollout is bound to it, and what aborts one gives it back. */
  readonly lease?: Lease | undefined;
  /** Nothing moves after this write, which aborts a rollout (`endsSettled`): only then the Lease is given back with it. @default false: a later look gives it back */
  readonly settled?: boolean;
  /** Aborts when nothing may begin any more. */
  readonly beginBy?: AbortSignal;
  /** Of what begins a rollout: asked after the dry run, right before the write. What it answers is what became of it, and nothing is written. @default nothing stops it */
  readonly claim?: () => Promise<RolloutWritten | undefined>;
}

/** A write that begins a rollout. */
export type BeginWrite = Extract<RolloutWrite, { readonly kind: 'roll-control-plane' | 'pause-control-plane' }>;

export function isBegin(write: RolloutWrite): write is BeginWrite {
  return write.kind === 'roll-control-plane' || write.kind === 'pause-control-plane';
}

/** Carries out one write: where it begins a rollout the Lease first, then the dry run, the claim, and the write; where it ends one the Lease last. Rejects only for a bug. */
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
  // Others need not wait for what did not begin; but what this cluster had before may go on. Where this fails, the Lease ends by itself.
  if (!begun && taken.lease !== undefined && !isHeldBy(options.lease, options.cluster))
    await releaseLease(taken.lease, options);
  return written;
}

/** Others need not wait for what was aborted and does not move; where this fails, the Lease ends by itself a day later. */
async function endRollout(write: RolloutWrite, options: ActOptions): Promise<RolloutWritten> {
  const written = await dryRunThenWrite(write, options);
  const { lease, cluster, settled = false } = options;
  if (written.kind !== 'written' || !settled || lease === undefined || !isHeldBy(lease, cluster)) return written;
  const { kind, problem } = await releaseLease(lease, options);
  // Whoever overtook it looked a moment ago.
  return kind === 'held' || kind === 'overtaken' || problem === undefined ? written : { ...written, problem };
}

async function dryRunThenWrite(write: RolloutWrite, options: ActOptions): Promise<RolloutWritten> {
  const body = patchOf(write);
  const rehearsed = await patch(write, body, true, options);
  if (rehearsed.kind !== 'written') return rehearsed.kind === 'unknown' ? { ...rehearsed, kind: 'failed' } : rehearsed;
  const different = differsFrom(body, rehearsed.answer ?? {});
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

/** Of a write that was begun. */
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
    case 'throttled':
      return 'failed';
    case 'unreachable':
      return error.code === 'ECONNREFUSED' ? 'failed' : 'unknown';
    case 'server':
    case 'timeout':
    case 'aborted':
    case 'too-large':
    case 'not-kubernetes':
      return 'unknown';
  }
}

/** An admission webhook that refuses says so in these words, and no right changes that. Source: apiserver, `ToStatusErr` of the webhook errors. */
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
    message: 'not sent: the time for all of it was over',
    remedy: 'It is looked at again the next time; if it happens again, look at the load of the API server.',
  };
}

function changedByServer({ object }: RolloutWrite, field: string, { management }: ActOptions): Problem {
  return {
    kind: 'invalid',
    object: `patch ${object.namespace}/${object.name} on ${management.server}`,
    message: `with a dry run the server takes it, but ${field} is not what was asked for; nothing was written`,
    remedy:
      'Find out which admission webhook changes this field (kubectl get mutatingwebhookconfigurations), or whether the definition in the cluster is one that does not know it.',
  };
}
