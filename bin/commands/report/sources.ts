import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expiredServerRunbook, isOfExpiredServer } from '../../../lambdas/audit/commands.ts';
import { summaryOf } from '../../../lambdas/audit/summary.ts';
import { type JsonObjects, jsonOf } from '../../../lambdas/aws/json-objects.ts';
import { readRunbook } from '../../../lambdas/command.ts';
import {
  type Finding,
  type FleetIndex,
  type IndexedCluster,
  parseFleetIndex,
} from '../../../lambdas/contracts/fleet-index.ts';
import type { Problem } from '../../../lambdas/contracts/problem.ts';
import { parseRegistry, type RegisteredCluster, type Registry } from '../../../lambdas/contracts/registry.ts';
import type { Snapshot } from '../../../lambdas/contracts/snapshot.ts';
import { STATE_KEYS, type StateObject } from '../../../lambdas/fleet/state-keys.ts';
import { printable } from '../../../lambdas/printable.ts';
import { UsageError } from '../../exit-codes.ts';
import { systemErrorWords } from '../../system-error.ts';

/** Kind of problems with reading the state; other problems are those of a hub's discovery. */
export const STATE_PROBLEM = 'unread-state';

/** The input of a report. */
export interface FleetState {
  readonly registry: Registry;
  readonly index: FleetIndex | undefined;
  /** What could not be read, with remedies. */
  readonly problems: readonly Finding[];
  /** Unknown parts of the state. */
  readonly unread?: readonly string[];
}

/** Reads one object of the state; `undefined` if it is missing, `value: undefined` if it is not JSON. */
export type ReadState = (key: string) => Promise<{ readonly value: unknown } | undefined>;

/** The state bucket of a hub. */
export function bucketReader(objects: Pick<JsonObjects, 'read'>, signal: AbortSignal): ReadState {
  return async (key) => objects.read(key, signal);
}

/** A directory with copies of the objects of the state bucket. */
export function directoryReader(directory: string): ReadState {
  return async (key) => {
    const bytes = await readFile(join(directory, key)).catch((error: unknown) => {
      if (isAbsent(error)) return undefined;
      throw new UsageError(
        `${printable(join(directory, key))} cannot be read: ${systemErrorWords(error)}. --state takes a directory with copies of the objects of a hub.`,
        { cause: error },
      );
    });
    return bytes && { value: await jsonOf(bytes) };
  };
}

/**
 * Reads the registry and the fleet index.
 *
 * @param place of the state, for messages: `s3://bucket`
 * @param now milliseconds since the epoch
 * @throws UsageError without a registry: this is not the state of certmarshal
 * @throws AwsError
 */
export async function readState(read: ReadState, place: string, now: number): Promise<FleetState> {
  const [storedRegistry, storedIndex] = await Promise.all([read(STATE_KEYS.registry), read(STATE_KEYS.index)]);
  if (storedRegistry === undefined)
    throw new UsageError(
      `There is no ${STATE_KEYS.registry} in ${printable(place)}. Name what holds the state of certmarshal: the output FleetBucketName of the hub stack, or a copy of it.`,
    );
  const at = new Date(now).toISOString();
  const registry = parseRegistry(storedRegistry.value, now);
  const index = storedIndex && parseFleetIndex(storedIndex.value, now);
  const problemWith = (object: StateObject, message = DAMAGED, remedy = WRITTEN_ANEW): Finding => ({
    kind: STATE_PROBLEM,
    object: `${STATE_KEYS[object]} in ${printable(place)}`,
    message,
    remedy,
    since: at,
  });
  const unread = (['registry', 'index'] as const).filter((object) => ({ registry, index })[object] === undefined);
  return {
    registry: registry === undefined ? emptyRegistry(at) : index === undefined ? asFoundAt(registry, at) : registry,
    index,
    problems: unread.map((object) =>
      object === 'index' && storedIndex === undefined
        ? problemWith(
            object,
            'it is not there: nothing is known about any sweep',
            'A hub writes it with its first sweep; a copy of the state needs it too.',
          )
        : problemWith(object),
    ),
    unread: unread.length === 0 ? undefined : unread.map((object) => STATE_KEYS[object]),
  };
}

const DAMAGED = 'it is damaged, or of another version of certmarshal';
const WRITTEN_ANEW = 'The hub writes it again within minutes: make the report again then.';

function emptyRegistry(at: string): Registry {
  return { version: 1, writtenAt: at, sources: {}, clusters: {} };
}

/** Without an index a cluster must look neither healthy nor never swept. */
function asFoundAt(registry: Registry, at: string): Registry {
  const clusters = Object.entries(registry.clusters).map(([id, cluster]) => [id, { ...cluster, foundAt: at }] as const);
  return { ...registry, clusters: Object.fromEntries(clusters) };
}

/**
 * The state of audited clusters. Pure.
 *
 * @param now milliseconds since the epoch
 */
export function stateOfAudits(
  audited: readonly IndexedCluster[],
  now: number,
  skipped: ReadonlyMap<string, Problem>,
): FleetState {
  const at = new Date(now).toISOString();
  const source = 'kubeconfig';
  // No sweep is expected, so `now` counts as the last attempt.
  const indexed = audited.map((one) => ({ ...one, triedAt: at }));
  const registered = indexed.map((cluster) => registeredOf(cluster, source, at, skipped.get(cluster.id)));
  return {
    registry: {
      version: 1,
      writtenAt: at,
      sources: { [source]: { triedAt: at, readAt: at } },
      clusters: byId(registered),
    },
    index: {
      version: 1,
      writtenAt: at,
      dispatch: { at, registered: registered.length, dispatched: 0, problems: [] },
      clusters: byId(indexed),
    },
    problems: [],
  };
}

/**
 * No sweep is expected, so alarms about sweeps alone must not fire. An audit that could not list the requests has a
 * finding for that.
 *
 * @param now RFC 3339
 */
function registeredOf(
  { id, name, provider, readable, readableAt, audit }: IndexedCluster,
  source: string,
  now: string,
  skipped: Problem | undefined,
): RegisteredCluster {
  // Health ignores everything before `foundAt`.
  const entry = { id, source, foundAt: readableAt ?? now, seenAt: now };
  const unread = audit?.findings.find(({ object }) => object === 'source signing-requests');
  if (!readable || provider === undefined || name === undefined)
    return {
      ...entry,
      problem: {
        object: id,
        message: unread?.message ?? 'its audit could not list its requests',
        remedy:
          provider !== undefined && isOfExpiredServer(unread?.message ?? '')
            ? expiredServerRunbook(provider)
            : readRunbook('SourceUnread'),
        ...skipped,
        kind: 'passing',
      },
    };
  return {
    ...entry,
    target: { id, cluster: { name, provider }, access: { kind: 'kubeconfig', secret: '' }, lane: '' },
  };
}

/**
 * The entry of the fleet index for an audit. An audit lists the requests like a sweep, so it also shows whether they
 * are readable. Pure.
 */
export function auditedOf(snapshot: Snapshot): IndexedCluster {
  const { cluster: id, provider, auditedAt: at, observations } = snapshot;
  const audit = summaryOf(snapshot, { durationMs: 0 });
  const list = observations.find(({ kind, source }) => kind === 'read' && source === 'signing-requests');
  const readable = list !== undefined;
  const complete = readable && audit.sources.unread.length === 0;
  return {
    id,
    name: id,
    provider,
    durationMs: 0,
    readable,
    complete,
    sweptAt: at,
    readableAt: list?.observedAt,
    completeAt: complete ? at : undefined,
    findings: [],
    findingCount: 0,
    audit,
  };
}

function byId<T extends { readonly id: string }>(all: readonly T[]): Readonly<Record<string, T>> {
  return Object.fromEntries(all.map((entry) => [entry.id, entry]));
}

export function isAbsent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
