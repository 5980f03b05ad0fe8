import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expiredServerRunbook, isOfExpiredServer } from '../../../lambdas/audit/commands.ts';
import { decodeSnapshot, MAX_SNAPSHOT } from '../../../lambdas/audit/snapshot-file.ts';
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
import { isAhead } from '../../../lambdas/time.ts';
import { compare } from '../../../lambdas/words.ts';
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

const SUFFIX = '.json.gz';

/**
 * Builds the state from the snapshots of `certmarshal audit --snapshots`: each cluster as of its newest audit. A
 * cluster with an unreadable snapshot is included as unknown.
 *
 * @param now milliseconds since the epoch
 * @throws UsageError if the directory is unreadable or has no snapshot
 */
export async function readSnapshots(directory: string, now: number): Promise<FleetState> {
  const audited = await auditedBefore(directory, now);
  if (audited.size === 0)
    throw new UsageError(
      `There is no snapshot in ${printable(directory)}. certmarshal audit --snapshots ${printable(directory)} writes one for each cluster.`,
    );
  return stateOfAudits(audited, now);
}

/** The result of a cluster's audit; for an unreadable snapshot, its file and the reason. */
export type Audited = IndexedCluster | { readonly file: string; readonly problem: string };

/**
 * Reads the snapshots of a directory, by cluster id; unreadable ones by file.
 *
 * @param now milliseconds since the epoch
 * @throws UsageError if the directory cannot be read
 */
export async function auditedBefore(directory: string, now: number): Promise<ReadonlyMap<string, Audited>> {
  const audited = new Map<string, Audited>();
  const read: IndexedCluster[] = [];
  for (const file of await snapshotFiles(directory)) {
    const snapshot = await readOne(join(directory, file), now);
    if (typeof snapshot === 'string') audited.set(file, { file, problem: snapshot });
    else read.push(auditedOf(snapshot));
  }
  // Of two snapshots of one cluster, the newer counts.
  for (const one of read.toSorted((a, b) => compare(a.sweptAt ?? '', b.sweptAt ?? ''))) audited.set(one.id, one);
  return audited;
}

/**
 * The state of audited clusters. Pure.
 *
 * @param now milliseconds since the epoch
 */
export function stateOfAudits(
  audited: ReadonlyMap<string, Audited>,
  now: number,
  skipped: ReadonlyMap<string, Problem> = new Map(),
): FleetState {
  const at = new Date(now).toISOString();
  const source = 'snapshots';
  const damaged: RegisteredCluster[] = [];
  const indexed: IndexedCluster[] = [];
  const findings: Finding[] = [];
  for (const one of audited.values())
    if ('problem' in one) {
      damaged.push({ id: idOf(one.file), source, foundAt: at, seenAt: at });
      findings.push({
        kind: STATE_PROBLEM,
        object: `snapshot ${printable(one.file)}`,
        message: one.problem,
        remedy: 'Audit the cluster again with --snapshots: that writes a new one.',
        since: at,
      });
    }
    // No sweep is expected, so `now` counts as the last attempt.
    else indexed.push({ ...one, triedAt: at });
  // If two entries have one id, `byId` keeps the last.
  const registered = [
    ...damaged,
    ...indexed.map((cluster) => registeredOf(cluster, source, at, skipped.get(cluster.id))),
  ];
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
      dispatch: { at, registered: registered.length, dispatched: 0, problems: findings },
      clusters: byId(indexed),
    },
    // The index has them, as problems of the discovery.
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
  const { cluster: id, provider, auditedAt: at, partial, observations } = snapshot;
  const audit = summaryOf(snapshot, { durationMs: 0, partial });
  const readable = audit.sources.read.includes('signing-requests');
  const complete = readable && audit.sources.unread.length === 0;
  // Includes an earlier audit that this one remembers.
  const readableAt = observations
    .filter(({ kind, source }) => kind === 'read' && source === 'signing-requests')
    .map(({ observedAt }) => observedAt)
    .toSorted()
    .at(-1);
  return {
    id,
    name: id,
    provider,
    durationMs: 0,
    readable,
    complete,
    sweptAt: at,
    readableAt,
    completeAt: complete ? at : undefined,
    findings: [],
    findingCount: 0,
    audit,
  };
}

async function snapshotFiles(directory: string): Promise<readonly string[]> {
  try {
    const names = await readdir(directory);
    return names.filter((name) => name.endsWith(SUFFIX) && !name.startsWith('.')).toSorted();
  } catch (error) {
    if (isAbsent(error)) return [];
    throw new UsageError(`--snapshots ${printable(directory)}: it cannot be read: ${systemErrorWords(error)}.`, {
      cause: error,
    });
  }
}

/** A returned string says why the snapshot cannot be read. */
async function readOne(path: string, now: number): Promise<Snapshot | string> {
  try {
    const bytes = await readFile(path);
    if (bytes.length > MAX_SNAPSHOT) return 'it is too large';
    const snapshot = await decodeSnapshot(bytes);
    if (snapshot === undefined) return 'it is damaged';
    // A snapshot from the future would never look old.
    return isAhead(snapshot.auditedAt, now) ? 'its time is in the future: a clock was wrong' : snapshot;
  } catch (error) {
    return systemErrorWords(error);
  }
}

function idOf(file: string): string {
  const name = file.slice(0, -SUFFIX.length);
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

function byId<T extends { readonly id: string }>(all: readonly T[]): Readonly<Record<string, T>> {
  return Object.fromEntries(all.map((entry) => [entry.id, entry]));
}

export function isAbsent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
