import type { ChainEnd } from './chain.ts';
import { decodeHead } from './head.ts';
import type { JournalFiles, ListedObject } from './journal-files.ts';
import {
  clusterPrefix,
  dayPrefix,
  HEAD_PREFIX,
  headKey,
  JOURNAL_PREFIX,
  parseHeadKey,
  parseJournalKey,
} from './keys.ts';
import { MAX_JOURNAL_OBJECT } from './s3-journal.ts';
import {
  type ChainProblem,
  type ChainVerifier,
  createChainVerifier,
  type HeadReading,
  type VerifiedChain,
} from './verify-chain.ts';

/** Which part of the journal is looked at. */
export interface JournalWindow {
  /** @default every one */
  readonly cluster?: string | undefined;
  /** The first day, `2026-11-21`. @default from the beginning */
  readonly since?: string | undefined;
}

export interface VerifyOptions extends JournalWindow {
  /** Lines that were noted down earlier, by cluster. */
  readonly expected?: ReadonlyMap<string, readonly ChainEnd[]>;
  /** Told after each object. */
  readonly onObject?: (key: string) => void;
}

export interface Verification {
  /** By cluster. */
  readonly chains: readonly VerifiedChain[];
  /** Objects that do not belong to the journal: the first ones of `strayCount`. */
  readonly strays: readonly ChainProblem[];
  readonly strayCount: number;
}

const MAX_STRAYS = 100;
const READS_AT_ONCE = 16;
/** Of objects that are read at once, in bytes. */
const READ_BYTES = 2 * MAX_JOURNAL_OBJECT;
/** Sweeps go on meanwhile: a chain that grew since it was listed is looked at again. */
const LOOKS = 4;

/**
 * Looks at every chain of a journal, line by line, in memory that does not grow with it.
 *
 * @throws AwsError, or an error of the file system, when something cannot be read
 */
export async function verifyJournal(
  files: JournalFiles,
  { expected = new Map(), onObject, ...window }: VerifyOptions,
  signal: AbortSignal,
): Promise<Verification> {
  const verifiers = new Map<string, ChainVerifier>();
  const strays: ChainProblem[] = [];
  let strayCount = 0;
  const verifierOf = (cluster: string): ChainVerifier => {
    const noted = expected.get(cluster) ?? [];
    const known = verifiers.get(cluster) ?? createChainVerifier({ cluster, since: window.since, expected: noted });
    verifiers.set(cluster, known);
    return known;
  };
  const stray = (object: string): void => {
    strayCount += 1;
    const message = 'it does not belong to the journal: nothing of certmarshal writes it';
    if (strays.length < MAX_STRAYS) strays.push({ kind: 'stray', object, message });
  };

  for await (const { key, bytes } of readObjects(files, listObjects(files, window, signal), signal)) {
    const cluster = parseJournalKey(key)?.cluster;
    if (cluster === undefined) stray(key);
    else verifierOf(cluster).take(key, bytes);
    onObject?.(key);
  }
  for (const cluster of expected.keys()) if (window.cluster === undefined) verifierOf(cluster);
  if (window.cluster !== undefined) verifierOf(window.cluster);
  else
    for await (const { key } of files.objects(HEAD_PREFIX, signal)) {
      const cluster = parseHeadKey(key);
      if (cluster === undefined) stray(key);
      else verifierOf(cluster);
    }

  const chains: VerifiedChain[] = [];
  const clusters = [...verifiers].toSorted(([a], [b]) => (a < b ? -1 : 1));
  for (let from = 0; from < clusters.length; from += READS_AT_ONCE)
    chains.push(
      ...(await Promise.all(
        clusters
          .slice(from, from + READS_AT_ONCE)
          .map(async ([cluster, verifier]) => end(files, cluster, verifier, window, signal)),
      )),
    );
  return { chains, strays, strayCount };
}

async function end(
  files: JournalFiles,
  cluster: string,
  verifier: ChainVerifier,
  { since }: JournalWindow,
  signal: AbortSignal,
): Promise<VerifiedChain> {
  let head = await readHead(files, cluster, signal);
  for (let look = 1; look < LOOKS && !verifier.endsAt(head); look += 1) {
    const { lastKey } = verifier;
    const from = lastKey === undefined ? since : parseJournalKey(lastKey)?.day;
    const listed = listObjects(files, { cluster, since: from ?? '' }, signal, lastKey);
    for await (const { key, bytes } of readObjects(files, listed, signal)) verifier.take(key, bytes);
    head = await readHead(files, cluster, signal);
  }
  return verifier.finish(head);
}

async function readHead(files: JournalFiles, cluster: string, signal: AbortSignal): Promise<HeadReading> {
  const bytes = await files.read(headKey(cluster), signal);
  if (bytes === undefined) return 'missing';
  return (bytes === 'too-large' ? undefined : decodeHead(bytes, cluster)) ?? 'damaged';
}

/** Objects of a window in the order of their keys, which for each cluster is that of its chain. */
export async function* listObjects(
  files: JournalFiles,
  { cluster, since }: JournalWindow,
  signal: AbortSignal,
  after = '',
): AsyncGenerator<ListedObject> {
  for (const prefix of await prefixesOf(files, { cluster, since }, signal))
    for await (const object of files.objects(prefix, signal)) {
      if (object.key <= after) continue;
      const of = parseJournalKey(object.key)?.cluster;
      // The prefix of a cluster is also that of others whose id goes on after it.
      if (cluster === undefined || of === cluster) yield object;
    }
}

async function prefixesOf(
  files: JournalFiles,
  { cluster, since = '' }: JournalWindow,
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (cluster === undefined && since === '') return [JOURNAL_PREFIX];
  const days = (await files.folders(JOURNAL_PREFIX, signal)).filter((day) => day >= since).toSorted();
  return days.map((day) => (cluster === undefined ? dayPrefix(day) : clusterPrefix(day, cluster)));
}

export interface ReadObject {
  readonly key: string;
  /** Undefined when it is too large. */
  readonly bytes: Buffer | undefined;
}

/** Several at once, in their order. One that is gone by now is left out. */
export async function* readObjects(
  files: JournalFiles,
  listed: AsyncIterable<ListedObject>,
  signal: AbortSignal,
): AsyncGenerator<ReadObject> {
  let waiting: ListedObject[] = [];
  let bytes = 0;
  const read = async (): Promise<readonly (ReadObject | undefined)[]> => {
    const batch = waiting;
    waiting = [];
    bytes = 0;
    return Promise.all(batch.map(async (object) => readObject(files, object, signal)));
  };
  for await (const object of listed) {
    const size = Math.min(object.size, MAX_JOURNAL_OBJECT);
    if (waiting.length > 0 && (waiting.length >= READS_AT_ONCE || bytes + size > READ_BYTES))
      yield* present(await read());
    waiting.push(object);
    bytes += size;
  }
  yield* present(await read());
}

function present(read: readonly (ReadObject | undefined)[]): readonly ReadObject[] {
  return read.filter((object) => object !== undefined);
}

async function readObject(
  files: JournalFiles,
  { key, size }: ListedObject,
  signal: AbortSignal,
): Promise<ReadObject | undefined> {
  if (parseJournalKey(key) === undefined || size > MAX_JOURNAL_OBJECT) return { key, bytes: undefined };
  const bytes = await files.read(key, signal);
  return bytes && { key, bytes: bytes === 'too-large' ? undefined : bytes };
}
