import type { ListedObject } from '../aws/object-list.ts';
import type { ChainEnd } from './chain.ts';
import { decodeHead } from './head.ts';
import { type JournalStore, MAX_JOURNAL_OBJECT } from './journal-store.ts';
import {
  clusterPrefix,
  dayPrefix,
  HEAD_PREFIX,
  headKey,
  JOURNAL_PREFIX,
  parseHeadKey,
  parseJournalKey,
} from './keys.ts';
import { type ChainProblem, type ChainVerifier, createChainVerifier, type VerifiedChain } from './verify-chain.ts';

/** Which part of the journal is verified. */
export interface JournalWindow {
  /** @default every one */
  readonly cluster?: string | undefined;
  /** The first day, `2026-11-21`. @default from the beginning */
  readonly since?: string | undefined;
}

export interface VerifyOptions extends JournalWindow {
  /** Lines that were noted down earlier, by cluster. */
  readonly expected?: ReadonlyMap<string, readonly ChainEnd[]>;
  /** Called after each object. */
  readonly onObject?: (key: string) => void;
}

export interface Verification {
  /** By cluster. */
  readonly chains: readonly VerifiedChain[];
  /** Objects outside the journal: the first ones of `strayCount`. */
  readonly strays: readonly ChainProblem[];
  readonly strayCount: number;
}

const MAX_STRAYS = 100;
const STRAY = {
  message: 'it does not belong to the journal: certmarshal does not write it',
  remedy: 'Find out with CloudTrail who put it there; only the role of the sweep may write to this bucket.',
};
const READS_AT_ONCE = 16;
/** Total size of objects read concurrently. Bytes. */
const READ_BYTES = 2 * MAX_JOURNAL_OBJECT;

/**
 * Verifies every chain of a journal line by line, in bounded memory.
 *
 * @throws AwsError, or an error of the file system
 */
export async function verifyJournal(
  store: JournalStore,
  { expected = new Map(), onObject, ...window }: VerifyOptions,
  signal: AbortSignal,
): Promise<Verification> {
  const verifiers = new Map<string, ChainVerifier>();
  const strays: ChainProblem[] = [];
  let strayCount = 0;
  /** @param cluster undefined for an object outside the journal */
  const verifierOf = (cluster: string | undefined, object: string): ChainVerifier | undefined => {
    if (cluster === undefined) {
      strayCount += 1;
      if (strays.length < MAX_STRAYS) strays.push({ object, ...STRAY });
      return undefined;
    }
    const known = verifiers.get(cluster) ?? createChainVerifier(cluster, window.since, expected.get(cluster) ?? []);
    verifiers.set(cluster, known);
    return known;
  };

  for await (const { key, bytes } of readObjects(store, listObjects(store, window, signal), signal)) {
    verifierOf(parseJournalKey(key)?.cluster, key)?.take(key, bytes);
    onObject?.(key);
  }
  for (const cluster of window.cluster === undefined ? expected.keys() : [window.cluster])
    verifierOf(cluster, headKey(cluster));
  if (window.cluster === undefined)
    for await (const { key } of store.objects(HEAD_PREFIX, signal)) verifierOf(parseHeadKey(key), key);

  const chains: VerifiedChain[] = [];
  const clusters = [...verifiers].toSorted(([a], [b]) => (a < b ? -1 : 1));
  while (clusters.length > 0)
    chains.push(
      ...(await Promise.all(
        clusters
          .splice(0, READS_AT_ONCE)
          .map(async ([cluster, verifier]) => finished(store, cluster, verifier, signal)),
      )),
    );
  return { chains, strays, strayCount };
}

/**
 * Sweeps continue during a verification: objects that the head names and the list missed are verified too; later ones
 * are left to the next verification.
 */
async function finished(
  store: JournalStore,
  cluster: string,
  verifier: ChainVerifier,
  signal: AbortSignal,
): Promise<VerifiedChain> {
  const found = await store.read(headKey(cluster), signal);
  const head = decodeHead(found?.bytes, cluster);
  const { at } = verifier;
  if (head !== undefined && head.key > at) {
    const since = at.slice(JOURNAL_PREFIX.length).split('/')[0];
    for await (const { key, bytes } of readObjects(store, listObjects(store, { cluster, since }, signal), signal))
      if (key > at && key <= head.key) verifier.take(key, bytes);
  }
  return verifier.finish(head ?? (found === undefined ? 'missing' : 'damaged'));
}

/** Objects of a window in the order of keys, which for each cluster is the order of its chain. */
export async function* listObjects(
  store: JournalStore,
  { cluster, since = '' }: JournalWindow,
  signal: AbortSignal,
): AsyncGenerator<ListedObject> {
  const all = cluster === undefined && since === '';
  const days = all ? [] : (await store.folders(JOURNAL_PREFIX, signal)).filter((day) => day >= since).toSorted();
  const prefixes = days.map((day) => (cluster === undefined ? dayPrefix(day) : clusterPrefix(day, cluster)));
  // The prefix of a cluster also matches clusters whose id continues after it.
  for (const prefix of all ? [JOURNAL_PREFIX] : prefixes)
    for await (const object of store.objects(prefix, signal))
      if (cluster === undefined || parseJournalKey(object.key)?.cluster === cluster) yield object;
}

export interface ReadObject {
  readonly key: string;
  /** Undefined if too large, or outside the journal. */
  readonly bytes: Buffer | undefined;
}

/** Reads several concurrently and yields them in order. Deleted ones are skipped. */
export async function* readObjects(
  store: JournalStore,
  listed: AsyncIterable<ListedObject>,
  signal: AbortSignal,
): AsyncGenerator<ReadObject> {
  let keys: string[] = [];
  let bytes = 0;
  for await (const { key, size } of listed) {
    bytes += size;
    if (keys.length === READS_AT_ONCE || bytes > READ_BYTES) {
      yield* await readAll(store, keys, signal);
      keys = [];
      bytes = size;
    }
    keys.push(key);
  }
  yield* await readAll(store, keys, signal);
}

async function readAll(
  store: JournalStore,
  keys: readonly string[],
  signal: AbortSignal,
): Promise<readonly ReadObject[]> {
  const read = await Promise.all(
    keys.map(async (key): Promise<ReadObject | undefined> => {
      if (parseJournalKey(key) === undefined) return { key, bytes: undefined };
      const found = await store.read(key, signal);
      return found && { key, bytes: found.bytes };
    }),
  );
  return read.filter((object) => object !== undefined);
}
