import type { V1Lease } from '@kubernetes/client-node';
import type { Outcome } from '../approval/act.ts';
import { readJson } from '../contracts/contract.ts';
import type { Failure } from '../contracts/problem.ts';
import { RecoveryRecord, type RecoveryWindow } from '../contracts/recovery-window.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { KubernetesError } from '../kubernetes/errors.ts';
import { getLease } from '../kubernetes/leases.ts';
import { printable } from '../printable.ts';
import { isJsonObject, type JsonObject, raw, text } from '../resources/fields.ts';
import { readLease } from '../resources/lease.ts';
import { instant } from '../time.ts';
import { closedBecause } from './open-window.ts';

/** A Lease in the recovering cluster that counts the approvals of its window. */
export const RECOVERY_LEASE = { namespace: 'kube-system', name: 'certmarshal-recovery' } as const;
const RECOVERY_ANNOTATION = 'certmarshal.dev/recovery';

const COLLECTION = `/apis/coordination.k8s.io/v1/namespaces/${RECOVERY_LEASE.namespace}/leases`;
const PATH = `${COLLECTION}/${RECOVERY_LEASE.name}`;
/** Nine names of 253 characters and their counts. */
const MAX_ANNOTATION = 8 * 1024;
/** Two concurrent sweeps conflict once; with more conflicts the next sweep continues. */
const TRIES = 4;

/** The Lease cannot be used for counting, so nothing is approved. */
export class RecoveryLeaseError extends Error implements Failure {
  override readonly name = 'RecoveryLeaseError';
  readonly kind = 'refused';
  readonly object = `Lease ${RECOVERY_LEASE.namespace}/${RECOVERY_LEASE.name}`;
  readonly problem: string;
  readonly remedy: string;

  /** @param what the remedy, without a full stop */
  constructor(problem: string, what: string) {
    super(problem);
    this.problem = problem;
    this.remedy = `${what}: kubectl -n ${RECOVERY_LEASE.namespace} delete lease ${RECOVERY_LEASE.name}.`;
  }
}

/** Approvals of a window so far, by node name, with their Lease. */
export interface Counted {
  readonly approvals: ReadonlyMap<string, number>;
  readonly lease: JsonObject | undefined;
}

/**
 * Reads the approvals of a window.
 *
 * @throws KubernetesError, RecoveryLeaseError
 */
export async function readApprovals(
  client: KubernetesClient,
  window: RecoveryWindow,
  now: number,
  signal: AbortSignal,
): Promise<Counted> {
  const { lease, record } = await readRecord(client, signal);
  if (lease === undefined) return { approvals: new Map(), lease };
  if (record === undefined)
    throw new RecoveryLeaseError(
      'it exists, but the record of certmarshal in it cannot be read',
      'If no one needs it, remove it',
    );
  const until = instant(record.until);
  const end = printable(record.until, 40);
  if (record.window === window.id) {
    if (until === instant(window.until)) return { approvals: countsOf(record), lease };
    throw new RecoveryLeaseError(
      `it counts for a window with this id, which ends at ${end}`,
      'Open a window with another id',
    );
  }
  // A window that ended before this one began does not count any more, and cannot take the Lease back. Neither can a
  // closed one: it is rejected once this one wrote.
  const isOver = until !== undefined && until <= now && until <= (instant(window.openedAt) ?? 0);
  if (isOver || window.replaces?.includes(record.window) === true) return { approvals: new Map(), lease };
  throw new RecoveryLeaseError(
    `it counts for window ${printable(record.window, 40)}, which ends at ${end}`,
    'Wait until that window has ended, then open a new one; or, if no one uses it any more, remove it',
  );
}

/**
 * Counts one more approval for a node before it is given, with a conditional write: at worst it counts an approval that
 * is never given, never the reverse.
 *
 * @param atLeast known approvals of the node, in case the Lease was deleted
 * @returns why the approval is not given if it was not surely counted: `overtaken` if another sweep gave the last one,
 * `unfinished` if the window is no longer open
 */
export async function reserve(
  client: KubernetesClient,
  window: RecoveryWindow,
  node: string,
  atLeast: number,
  clock: () => number,
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  try {
    for (let tries = 0; tries < TRIES; tries += 1) {
      const { approvals, lease } = await readApprovals(client, window, clock(), signal);
      const spent = Math.max(approvals.get(node) ?? 0, atLeast);
      if (!(spent < window.approvals)) return { kind: 'overtaken' };
      if (closedBecause(window, window.cluster, clock()) !== undefined) return { kind: 'unfinished' };
      const next = new Map(approvals).set(node, spent + 1);
      if (await write(client, lease, window, next, signal)) return undefined;
    }
    throw new RecoveryLeaseError(
      'other writers change it all the time',
      'The next sweep tries again. If no one needs it, remove it',
    );
  } catch (error) {
    if (error instanceof KubernetesError || error instanceof RecoveryLeaseError) return { kind: 'failed', error };
    throw error;
  }
}

/**
 * Closes a window early: its Lease says so, another one may begin at once, and sweeps of this one approve nothing more.
 * The write is conditional.
 *
 * @param now milliseconds since the epoch; the Lease has whole seconds, like windows
 * @returns `none` without a Lease: nothing was counted. `other` if it counts for another window, or for none with a
 * later end. `busy` if others keep writing
 * @throws KubernetesError
 */
export async function endWindow(
  client: KubernetesClient,
  window: RecoveryWindow,
  now: number,
  signal: AbortSignal,
): Promise<'ended' | 'none' | 'other' | 'busy'> {
  const until = new Date(Math.floor(now / 1000) * 1000).toISOString().replace('.000Z', 'Z');
  for (let tries = 0; tries < TRIES; tries += 1) {
    const { lease, record } = await readRecord(client, signal);
    if (lease === undefined) return 'none';
    if (record?.window !== window.id || (instant(record.until) ?? 0) <= now) return 'other';
    if (await write(client, lease, { ...window, until }, countsOf(record), signal)) return 'ended';
  }
  return 'busy';
}

/** The Lease, and certmarshal's data in it if readable. */
async function readRecord(
  client: KubernetesClient,
  signal: AbortSignal,
): Promise<{ readonly lease?: JsonObject; readonly record?: RecoveryRecord }> {
  const lease = await getLease(client, { ...RECOVERY_LEASE, signal });
  if (lease === undefined) return {};
  // The API server treats a write without them as unconditional.
  if (readLease(lease) === undefined)
    throw new KubernetesError({
      kind: 'not-kubernetes',
      object: `get lease ${RECOVERY_LEASE.name} on ${client.server}`,
      problem: 'the answer has no uid or no resourceVersion',
      remedy: 'Check that the server is an API server.',
    });
  const written = text(raw<V1Lease>(lease), 'metadata', 'annotations', RECOVERY_ANNOTATION);
  const record = readJson(RecoveryRecord, written ?? '', MAX_ANNOTATION);
  return { lease, record: record.ok ? record.value : undefined };
}

/** @returns false if another writer was first */
async function write(
  client: KubernetesClient,
  lease: JsonObject | undefined,
  { id, until }: Pick<RecoveryWindow, 'id' | 'until'>,
  approvals: ReadonlyMap<string, number>,
  signal: AbortSignal,
): Promise<boolean> {
  const metadata = objectIn(lease, 'metadata');
  const record = JSON.stringify({ window: id, until, approvals: Object.fromEntries(approvals) });
  const body = {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: {
      ...metadata,
      ...RECOVERY_LEASE,
      annotations: { ...objectIn(metadata, 'annotations'), [RECOVERY_ANNOTATION]: record },
    },
    spec: { ...objectIn(lease, 'spec'), holderIdentity: `certmarshal recovery ${id}` },
  };
  try {
    await client.request({
      ...(lease === undefined ? { method: 'POST', path: COLLECTION } : { method: 'PUT', path: PATH }),
      body,
      signal,
    });
    return true;
  } catch (error) {
    // Also if it was deleted: it is read again, and created.
    if (error instanceof KubernetesError && (error.kind === 'conflict' || error.kind === 'not-found')) return false;
    throw error;
  }
}

function objectIn(object: JsonObject | undefined, name: string): JsonObject {
  const value = object?.[name];
  return isJsonObject(value) ? value : {};
}

/**
 * Also for nodes that the window does not name: earlier approvals stay counted. An invalid count allows nothing more.
 */
function countsOf({ approvals }: RecoveryRecord): ReadonlyMap<string, number> {
  return new Map(
    Object.entries(approvals).map(([node, count]) => [
      node,
      typeof count === 'number' && Number.isInteger(count) && count >= 0 ? count : Infinity,
    ]),
  );
}
