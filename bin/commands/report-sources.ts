import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeSnapshot, LARGEST_SNAPSHOT } from '../../lambdas/audit/snapshot-file.ts';
import { summaryOf } from '../../lambdas/audit/summary.ts';
import { AwsError } from '../../lambdas/aws/errors.ts';
import type { JsonObjects } from '../../lambdas/aws/json-objects.ts';
import type { Snapshot } from '../../lambdas/expiry/snapshot.ts';
import type { Finding, FleetIndex, IndexedCluster } from '../../lambdas/fleet/fleet-index.ts';
import { parseFleetIndex } from '../../lambdas/fleet/parse-index.ts';
import { parseRegistry } from '../../lambdas/fleet/parse-registry.ts';
import type { RegisteredCluster, Registry } from '../../lambdas/fleet/registry.ts';
import { STATE_KEYS, type StateObject } from '../../lambdas/fleet/state-keys.ts';
import { printable } from '../../lambdas/printable.ts';
import { UsageError } from '../exit-codes.ts';
import { systemErrorWords } from '../system-error.ts';

/** What a report is made of. */
export interface FleetState {
  readonly registry: Registry;
  readonly index: FleetIndex | undefined;
  /** What could not be read, in a sentence each. */
  readonly problems: readonly string[];
}

/** Reads one object of the state; `undefined` when there is none, `value: undefined` when it is no JSON. */
export type ReadState = (key: string) => Promise<{ readonly value: unknown } | undefined>;

/** The state bucket of a hub. */
export function bucketReader(objects: Pick<JsonObjects, 'read'>, signal: AbortSignal): ReadState {
  return async (key) => objects.read(key, signal);
}

/** A directory with copies of the objects of the state bucket. */
export function directoryReader(directory: string): ReadState {
  return async (key) => {
    try {
      return { value: JSON.parse(await readFile(join(directory, key), 'utf8')) };
    } catch (error) {
      if (error instanceof SyntaxError) return { value: undefined };
      if (isAbsent(error)) return undefined;
      throw new UsageError(`${printable(join(directory, key))} cannot be read: ${systemErrorWords(error)}.`, {
        cause: error,
      });
    }
  };
}

/**
 * The registry and the fleet index.
 *
 * @param place where they are, for people: `s3://bucket`
 * @param now milliseconds since the epoch
 * @throws UsageError where there is no registry: this is no state of certmarshal
 * @throws AwsError
 */
export async function readState(read: ReadState, place: string, now: number): Promise<FleetState> {
  const [storedRegistry, storedIndex] = await Promise.all([read(STATE_KEYS.registry), read(STATE_KEYS.index)]);
  if (storedRegistry === undefined)
    throw new UsageError(
      `There is no ${STATE_KEYS.registry} in ${printable(place)}. Name what holds the state of certmarshal: the output StateBucket of the hub stack, or a copy of it.`,
    );
  const registry = parseRegistry(storedRegistry.value, now);
  const index = storedIndex && parseFleetIndex(storedIndex.value, now);
  const damaged = (object: StateObject) =>
    `${STATE_KEYS[object]} in ${printable(place)} is damaged, or of another version of certmarshal; the hub writes it anew.`;
  return {
    registry: registry ?? { version: 1, writtenAt: new Date(now).toISOString(), sources: {}, clusters: {} },
    index,
    problems: [
      ...(registry === undefined ? [damaged('registry')] : []),
      ...(storedIndex === undefined
        ? [`There is no ${STATE_KEYS.index} in ${printable(place)}: nothing is known of any sweep yet.`]
        : index === undefined
          ? [damaged('index')]
          : []),
    ],
  };
}

const SUFFIX = '.json.gz';

/**
 * The same, made of what `certmarshal audit --snapshots` wrote: each cluster as its newest audit saw it. One whose snapshot cannot be read is there too, as one
 * of which nothing is known.
 *
 * @param now milliseconds since the epoch
 * @throws UsageError when the directory cannot be read, or holds no snapshot
 */
export async function readSnapshots(directory: string, now: number): Promise<FleetState> {
  const files = await snapshotFiles(directory);
  if (files.length === 0)
    throw new UsageError(
      `There is no snapshot in ${printable(directory)}. certmarshal audit --snapshots ${printable(directory)} writes one for each cluster.`,
    );
  const at = new Date(now).toISOString();
  const source = 'snapshots';
  const registered: RegisteredCluster[] = [];
  const indexed: IndexedCluster[] = [];
  const findings: Finding[] = [];
  for (const file of files) {
    const snapshot = await readOne(join(directory, file));
    if (typeof snapshot === 'string') {
      registered.push({ id: idOf(file), source, foundAt: at, seenAt: at });
      findings.push({
        kind: 'unreadable',
        object: `snapshot ${printable(file)}`,
        message: snapshot,
        remedy: 'Audit the cluster again with --snapshots: that writes a new one.',
        since: at,
      });
    } else {
      const { cluster: id, auditedAt } = snapshot;
      registered.push({ id, source, foundAt: auditedAt, seenAt: auditedAt });
      indexed.push(clusterOf(snapshot));
    }
  }
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
    problems: findings.map(({ object, message, remedy }) => `${object}: ${message}. ${remedy}`),
  };
}

/** An audit lists the requests as a sweep does, and so tells whether somebody could. */
function clusterOf(snapshot: Snapshot): IndexedCluster {
  const { cluster: id, provider, auditedAt: at, partial } = snapshot;
  const audit = summaryOf(snapshot, { durationMs: 0, partial });
  const readable = audit.sources.read.includes('signing-requests');
  const complete = readable && audit.sources.unread.length === 0;
  return {
    id,
    name: id,
    provider,
    durationMs: 0,
    readable,
    complete,
    sweptAt: at,
    triedAt: at,
    ...(readable ? { readableAt: at } : {}),
    ...(complete ? { completeAt: at } : {}),
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
    throw new UsageError(`--snapshots ${printable(directory)}: it cannot be read: ${systemErrorWords(error)}.`, {
      cause: error,
    });
  }
}

/** Why it cannot be read, where it cannot. */
async function readOne(path: string): Promise<Snapshot | string> {
  try {
    const bytes = await readFile(path);
    if (bytes.length > LARGEST_SNAPSHOT) return 'it is too large';
    return (await decodeSnapshot(bytes)) ?? 'it is damaged';
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

function isAbsent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

/** An error of AWS as one sentence for the person at the keyboard; what is none is thrown. */
export function awsErrorWords(error: unknown): string {
  if (!(error instanceof AwsError)) throw error;
  return `${error.object}: ${error.problem}. ${error.remedy}`;
}
