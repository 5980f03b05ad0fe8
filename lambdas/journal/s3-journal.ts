import { type BucketOptions, type ByteObjects, createByteObjects } from '../aws/byte-objects.ts';
import { AwsError } from '../aws/errors.ts';
import { createObjectList, type ObjectList } from '../aws/object-list.ts';
import type { JournalHead } from '../contracts/journal-line.ts';
import { advance, decodeHead, encodeHead, entryKey, headOfObject } from './head.ts';
import type { Journal, JournalEntry } from './journal.ts';
import { clusterPrefix, headKey, JOURNAL_PREFIX, parseJournalKey } from './keys.ts';

/** The largest object or head that is read, in bytes. */
export const MAX_JOURNAL_OBJECT = 32 * 1024 * 1024;

/** Another writer wins at most once for each sweep of the same cluster that runs at the same time. */
const TRIES = 8;
/** How far back the end of a chain is looked for whose head is lost, in days that have objects. */
const REBUILD_DAYS = 400;
const LISTS_AT_ONCE = 16;
/** What this process knows to be written: a request that is left is judged every minute. */
const MAX_SEEN = 50_000;

/** A chain whose head was lost or damaged, and how it goes on. */
export interface Rebuilt {
  readonly cluster: string;
  /** Of the object that the chain goes on after. */
  readonly key: string;
}

export interface JournalOptions {
  readonly heads: ByteObjects;
  readonly lines: ByteObjects;
  readonly list: ObjectList;
  /** Told when a head was lost or damaged: lines that were only in it are gone. @default nobody */
  readonly onRebuilt?: ((rebuilt: Rebuilt) => void) | undefined;
}

/** The journal in a bucket. */
export function createS3Journal(options: BucketOptions & Pick<JournalOptions, 'onRebuilt'>): Journal {
  const bytes = { ...options, largest: MAX_JOURNAL_OBJECT };
  return createJournal({
    heads: createByteObjects({ ...bytes, contentType: 'application/json' }),
    lines: createByteObjects({ ...bytes, contentType: 'application/x-ndjson' }),
    list: createObjectList(options),
    onRebuilt: options.onRebuilt,
  });
}

/**
 * Head first, then the object it names: only one of two writers replaces the head, so that there is one chain; and what is interrupted between
 * the two is completed from the head by the next writer. No object is ever written over.
 */
export function createJournal({ heads, lines, list, onRebuilt }: JournalOptions): Journal {
  const seen = new Set<string>();
  /** The newest object of each cluster that is known to exist. */
  const complete = new Map<string, string>();

  return {
    async append(cluster, entries, signal) {
      const unseen = entries.filter((entry) => !seen.has(entryKey(entry)));
      if (unseen.length === 0) return 0;
      let added = 0;
      let tries = 0;
      for (;;) {
        const { head, etag } = await load(cluster, signal);
        if (head !== undefined && complete.get(cluster) !== head.key) await keepObject(head, signal);
        const next = advance(head, cluster, unseen);
        if (next === undefined) break;
        try {
          await heads.write(headKey(cluster), encodeHead(next.head), etag, signal);
        } catch (error) {
          tries += 1;
          if (!(error instanceof AwsError) || error.kind !== 'conflict' || tries >= TRIES) throw error;
          continue;
        }
        added += next.added;
        await keepObject(next.head, signal, 'new');
        if (next.rest === 0) break;
      }
      remember(unseen);
      return added;
    },
  };

  async function load(
    cluster: string,
    signal: AbortSignal,
  ): Promise<{ readonly head: JournalHead | undefined; readonly etag: string | undefined }> {
    const found = await heads.read(headKey(cluster), signal);
    const head = decodeHead(found?.bytes, cluster);
    return { head: head ?? (await rebuild(cluster, signal)), etag: found?.etag };
  }

  /** From the newest object; undefined for a cluster that has none. */
  async function rebuild(cluster: string, signal: AbortSignal): Promise<JournalHead | undefined> {
    const days = (await list.folders(JOURNAL_PREFIX, signal)).toSorted().toReversed().slice(0, REBUILD_DAYS);
    for (let from = 0; from < days.length; from += LISTS_AT_ONCE) {
      const newest = await Promise.all(
        days.slice(from, from + LISTS_AT_ONCE).map(async (day) => newestOf(day, cluster, signal)),
      );
      const key = newest.find((each) => each !== undefined);
      if (key === undefined) continue;
      const bytes = (await lines.read(key, signal))?.bytes;
      const head = bytes && headOfObject(key, bytes.toString('utf8'));
      if (head === undefined) throw changed(key, 'its head is lost and its last object is damaged');
      onRebuilt?.({ cluster, key });
      return head;
    }
    return undefined;
  }

  async function newestOf(day: string, cluster: string, signal: AbortSignal): Promise<string | undefined> {
    let newest: string | undefined;
    for await (const { key } of list.objects(clusterPrefix(day, cluster), signal))
      if (parseJournalKey(key)?.cluster === cluster) newest = key;
    return newest;
  }

  /** Makes sure that the object is there which a head names. */
  async function keepObject({ cluster, key, body }: JournalHead, signal: AbortSignal, isNew?: 'new'): Promise<void> {
    const bytes = Buffer.from(body);
    const present = isNew === undefined ? await lines.read(key, signal) : undefined;
    if (present === undefined) {
      try {
        await lines.write(key, bytes, undefined, signal);
      } catch (error) {
        if (!(error instanceof AwsError) || error.kind !== 'conflict') throw error;
        // Somebody completed it meanwhile, or our own answer was lost.
        if ((await lines.read(key, signal))?.bytes?.equals(bytes) !== true) throw forked(key);
      }
    } else if (present.bytes?.equals(bytes) !== true) throw forked(key);
    complete.set(cluster, key);
  }

  function remember(entries: readonly JournalEntry[]): void {
    for (const entry of entries) seen.add(entryKey(entry));
    for (const key of seen) {
      if (seen.size <= MAX_SEEN) break;
      seen.delete(key);
    }
  }
}

function forked(key: string): AwsError {
  return changed(key, 'it holds other lines than the head of its chain says');
}

/** Nothing is written over what somebody changed: it is evidence. */
function changed(key: string, problem: string): AwsError {
  return new AwsError({
    kind: 'conflict',
    object: `journal object ${key}`,
    problem,
    remedy:
      'Somebody else wrote to the journal: certmarshal journal verify, then docs/journal.md. The lines go on in the log until it is mended.',
  });
}
