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

/** Of the cluster that recovers: it counts what its window gave. */
export const RECOVERY_LEASE = { namespace: 'kube-system', name: 'certmarshal-recovery' } as const;
const RECOVERY_ANNOTATION = 'certmarshal.dev/recovery';

const COLLECTION = `/apis/coordination.k8s.io/v1/namespaces/${RECOVERY_LEASE.namespace}/leases`;
const PATH = `${COLLECTION}/${RECOVERY_LEASE.name}`;
/** Nine names of 253 characters and their counts. */
const MAX_ANNOTATION = 8 * 1024;
/** Two sweeps at once conflict once; who conflicts more often leaves it to the next sweep. */
const TRIES = 4;

/** What a window gave so far, by name of a node; or why its Lease may not be used. */
export type Approvals =
  | { readonly ok: true; readonly approved: ReadonlyMap<string, number>; readonly lease: JsonObject | undefined }
  | { readonly ok: false; readonly failure: Failure };

/**
 * Reads what a window gave.
 *
 * @throws KubernetesError
 */
export async function readApprovals(
  client: KubernetesClient,
  window: RecoveryWindow,
  now: number,
  signal: AbortSignal,
): Promise<Approvals> {
  const lease = await getLease(client, { ...RECOVERY_LEASE, signal });
  if (lease === undefined) return { ok: true, approved: new Map(), lease };
  requireVersion(client, lease);
  const recorded = recordOf(lease);
  if (recorded === undefined)
    return unusable('it is there, and what certmarshal writes there cannot be read', 'If nobody needs it, remove it');
  const until = instant(recorded.until);
  if (recorded.window === window.id) {
    if (until !== instant(window.until))
      return unusable(
        `it counts for a window of this id that ends at ${printable(recorded.until, 40)}`,
        'Open a window with another id',
      );
    return { ok: true, approved: countsOf(recorded.approvals), lease };
  }
  // One that ended before this one began has nothing to say any more, and none of them can take it back. Nor can one that was closed: it is refused as soon as this one wrote.
  const isOver = until !== undefined && until <= now && until <= (instant(window.openedAt) ?? 0);
  if (isOver || window.replaces?.includes(recorded.window) === true) return { ok: true, approved: new Map(), lease };
  return unusable(
    `it counts for window ${printable(recorded.window, 40)}, which ends at ${printable(recorded.until, 40)}`,
    'Wait until that one has ended and open a new one then; or, if nobody uses it any more, remove it',
  );
}

/**
 * Counts one more approval for a node, before it is given. The write is conditional: at worst one is counted that is never given. Never one that is given is not.
 *
 * @param atLeast approvals that the node is known to have, should the Lease have been removed since
 * @returns what becomes of the approval instead, where it is not counted: `overtaken` when another sweep gave the last one, `unfinished` when the window is not open any more
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
      const approvals = await readApprovals(client, window, clock(), signal);
      if (!approvals.ok) return { kind: 'failed', error: approvals.failure };
      const spent = Math.max(approvals.approved.get(node) ?? 0, atLeast);
      if (spent >= window.approvals) return { kind: 'overtaken' };
      if (closedBecause(window, clock()) !== undefined) return { kind: 'unfinished' };
      const next = new Map(approvals.approved).set(node, spent + 1);
      if (await write(client, approvals.lease, window, next, signal)) return undefined;
    }
    return { kind: 'failed', error: failureOf('others write it all the time', 'The next sweep tries again') };
  } catch (error) {
    if (!(error instanceof KubernetesError)) throw error;
    return { kind: 'failed', error };
  }
}

/**
 * Ends a window before its end: its Lease says so, another one may begin at once, and no sweep of this one is given anything more. The write is conditional.
 *
 * @param now milliseconds since the epoch; the Lease has whole seconds, as windows do
 * @returns `none` when there is no Lease: nothing was counted. `other` when it counts for another window, or not for one that ends later. `busy` when others write all the time
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
    const lease = await getLease(client, { ...RECOVERY_LEASE, signal });
    if (lease === undefined) return 'none';
    requireVersion(client, lease);
    const recorded = recordOf(lease);
    if (recorded?.window !== window.id || (instant(recorded.until) ?? 0) <= now) return 'other';
    if (await write(client, lease, { ...window, until }, countsOf(recorded.approvals), signal)) return 'ended';
  }
  return 'busy';
}

/** @returns false when somebody else wrote meanwhile */
async function write(
  client: KubernetesClient,
  lease: JsonObject | undefined,
  window: Pick<RecoveryWindow, 'id' | 'until'>,
  approved: ReadonlyMap<string, number>,
  signal: AbortSignal,
): Promise<boolean> {
  const metadata = isJsonObject(lease?.['metadata']) ? lease['metadata'] : {};
  const annotations = isJsonObject(metadata['annotations']) ? metadata['annotations'] : {};
  const spec = isJsonObject(lease?.['spec']) ? lease['spec'] : {};
  const record = { window: window.id, until: window.until, approvals: Object.fromEntries(approved) };
  const body = {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: {
      ...metadata,
      ...RECOVERY_LEASE,
      annotations: { ...annotations, [RECOVERY_ANNOTATION]: JSON.stringify(record) },
    },
    spec: { ...spec, holderIdentity: `certmarshal recovery ${window.id}` },
  };
  try {
    await client.request({
      ...(lease === undefined ? { method: 'POST', path: COLLECTION } : { method: 'PUT', path: PATH }),
      body,
      signal,
    });
    return true;
  } catch (error) {
    // Also when it was removed: it is read again, and made anew.
    if (error instanceof KubernetesError && (error.kind === 'conflict' || error.kind === 'not-found')) return false;
    throw error;
  }
}

/** The API takes a write without them as unconditional. */
function requireVersion(client: KubernetesClient, lease: JsonObject): void {
  if (readLease(lease) !== undefined) return;
  throw new KubernetesError({
    kind: 'not-kubernetes',
    object: `get lease ${RECOVERY_LEASE.name} on ${client.server}`,
    problem: 'the answer has no uid or no resourceVersion',
    remedy: 'Check that the server is an API server.',
  });
}

function recordOf(lease: JsonObject): RecoveryRecord | undefined {
  const written = text(raw<V1Lease>(lease), 'metadata', 'annotations', RECOVERY_ANNOTATION);
  if (written === undefined) return undefined;
  const record = readJson(RecoveryRecord, written, MAX_ANNOTATION);
  return record.ok ? record.value : undefined;
}

/** Also of nodes that the window does not name: what was given stays given. What is no count gives nothing any more. */
function countsOf(approvals: RecoveryRecord['approvals']): ReadonlyMap<string, number> {
  return new Map(
    Object.entries(approvals).map(([node, count]) => [
      node,
      typeof count === 'number' && Number.isInteger(count) && count >= 0 ? count : Infinity,
    ]),
  );
}

function unusable(problem: string, what: string): { readonly ok: false; readonly failure: Failure } {
  const { namespace, name } = RECOVERY_LEASE;
  return { ok: false, failure: failureOf(problem, `${what}: kubectl -n ${namespace} delete lease ${name}`) };
}

function failureOf(problem: string, remedy: string): Failure {
  const { namespace, name } = RECOVERY_LEASE;
  return { kind: 'refused', object: `Lease ${namespace}/${name}`, problem, remedy: `${remedy}.` };
}
