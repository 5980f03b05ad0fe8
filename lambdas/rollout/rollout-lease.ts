import { word } from '../command.ts';
import { type Problem, problemOf } from '../contracts/problem.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { KubernetesError } from '../kubernetes/errors.ts';
import { createLease, type LeaseName, microTime, patchLease } from '../kubernetes/leases.ts';
import { toWhoeverEnters } from '../kubernetes/missing-right.ts';
import { printable } from '../printable.ts';
import { FIELD_MANAGER } from '../resources/annotations.ts';
import type { Lease } from '../resources/lease.ts';
import { readLease } from '../resources/lease.ts';
import { isBinding, LEASE_SILENT_MS, LEASE_TURN_MS } from './turn.ts';

/** One for each management cluster: its holder may begin a rollout there. */
export const ROLLOUT_LEASE: LeaseName = { namespace: 'kube-system', name: 'certmarshal-rollout' };

const LEASE_SECONDS = LEASE_SILENT_MS / 1_000;

export interface LeaseOptions {
  readonly management: KubernetesClient;
  /** `<namespace>/<cluster>`. */
  readonly cluster: string;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  readonly signal: AbortSignal;
  /** A person has checked what its holder does. @default false */
  readonly takesOver?: boolean;
}

/**
 * - `held`: it is ours now.
 * - `overtaken`: it changed since it was read, so something may have begun unseen.
 * - `locked`: another rollout has it.
 * - `failed`: unknown whether it is ours.
 */
export interface LeaseOutcome {
  readonly kind: 'held' | 'overtaken' | 'locked' | 'failed';
  /** Its current state; only if held. */
  readonly lease?: Pick<Lease, 'uid' | 'resourceVersion'>;
  readonly problem?: Problem;
}

/** Whether any rollout of this cluster has it. */
export function isHeldBy(lease: Lease | undefined, cluster: string): boolean {
  return lease?.holder?.startsWith(`${cluster} `) === true;
}

/**
 * Takes the Lease for one rollout if it is free, held by this cluster, or no longer binding (`isBinding`). The write is
 * bound to the observed Lease: it must be read before anything else, so that no rollout can have begun unseen since.
 * Rejects only for a bug.
 *
 * @param lease as observed; undefined if missing
 */
export async function acquireLease(
  lease: Lease | undefined,
  rollout: string,
  options: LeaseOptions,
): Promise<LeaseOutcome> {
  const { management, cluster, clock, signal, takesOver = false } = options;
  const now = clock();
  if (lease !== undefined && !takesOver && !isHeldBy(lease, cluster) && isBinding(lease, now))
    return locked(lease, management);
  const holderIdentity = `${cluster} ${rollout}`;
  const at = microTime(now);
  const since = lease?.holder === holderIdentity && lease.acquiredAt !== undefined ? {} : { acquireTime: at };
  const transitions = (lease?.transitions ?? 0) + Number(lease !== undefined && lease.holder !== holderIdentity);
  const spec = {
    holderIdentity,
    leaseDurationSeconds: LEASE_SECONDS,
    ...since,
    renewTime: at,
    leaseTransitions: transitions,
  };
  const write = { ...ROLLOUT_LEASE, spec, fieldManager: FIELD_MANAGER, signal };
  return outcomeOf(cluster, async () =>
    lease === undefined
      ? createLease(management, write)
      : patchLease(management, { ...write, uid: lease.uid, resourceVersion: lease.resourceVersion }),
  );
}

/** Renews it during a rollout. Rejects only for a bug. */
export async function renewLease(lease: Lease, options: LeaseOptions): Promise<LeaseOutcome> {
  return patched(lease, { renewTime: microTime(options.clock()) }, options);
}

/** Returns it. Rejects only for a bug. */
export async function releaseLease(
  lease: Pick<Lease, 'uid' | 'resourceVersion'>,
  options: LeaseOptions,
): Promise<LeaseOutcome> {
  return patched(lease, { holderIdentity: '', renewTime: microTime(options.clock()) }, options);
}

async function patched(
  { uid, resourceVersion }: Pick<Lease, 'uid' | 'resourceVersion'>,
  spec: Readonly<Record<string, string>>,
  { management, cluster, signal }: LeaseOptions,
): Promise<LeaseOutcome> {
  const write = { ...ROLLOUT_LEASE, uid, resourceVersion, spec, fieldManager: FIELD_MANAGER, signal };
  return outcomeOf(cluster, async () => patchLease(management, write));
}

async function outcomeOf(cluster: string, write: () => Promise<unknown>): Promise<LeaseOutcome> {
  try {
    return { kind: 'held', lease: readLease(await write()) };
  } catch (error) {
    if (!(error instanceof KubernetesError)) throw error;
    const gone = error.kind === 'conflict' || error.kind === 'not-found';
    const problem = problemOf(error);
    const manifests = `certmarshal rbac --management --rollouts --rollout-of ${word(cluster, 'NAMESPACE/CLUSTER')}`;
    const remedy = `Grant it in the management cluster: ${toWhoeverEnters(manifests)}.`;
    return {
      kind: gone ? 'overtaken' : 'failed',
      // Reading it needs another right than taking it.
      problem: error.kind === 'forbidden' ? { ...problem, remedy } : problem,
    };
  }
}

function locked({ holder = '' }: Lease, { server }: KubernetesClient): LeaseOutcome {
  const { namespace, name } = ROLLOUT_LEASE;
  return {
    kind: 'locked',
    problem: {
      kind: 'locked',
      object: `Lease ${namespace}/${name} on ${server}`,
      message: `${printable(holder)} has it: one cluster of a management cluster rolls at a time`,
      remedy: `Wait until that rollout is done. If there is no such rollout any more, the Lease is free a day after its last renewal, and in any case ${LEASE_TURN_MS / 3_600_000} hours after it was taken.`,
    },
  };
}
