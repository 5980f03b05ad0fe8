import type { BucketOptions } from '../aws/byte-objects.ts';
import { AwsError } from '../aws/errors.ts';
import type { JournalHead } from '../contracts/journal-line.ts';
import { advance, decodeHead, entryKey, headOfObject } from './head.ts';
import type { Journal } from './journal.ts';
import { type JournalStore, s3JournalStore } from './journal-store.ts';
import { clusterPrefix, headKey, JOURNAL_PREFIX, parseJournalKey } from './keys.ts';

/** Each concurrent sweep of the cluster can win at most once. */
const TRIES = 8;
/** How far back the end of a chain is searched when its head is lost, in days with objects. */
const REBUILD_DAYS = 400;
/** Entries this process knows to be written: a pending request is judged every minute. */
const MAX_SEEN = 50_000;

/** A chain whose head was lost or damaged and is rebuilt: lines that were only in the head are gone. */
export interface Rebuilt {
  readonly cluster: string;
  /** Key of the last object found. */
  readonly key: string;
}

/** The journal in a bucket. */
export function createS3Journal({
  onRebuilt,
  ...bucket
}: BucketOptions & { readonly onRebuilt?: (rebuilt: Rebuilt) => void }): Journal {
  return createJournal(s3JournalStore(bucket), onRebuilt);
}

/**
 * Writes the head first, then the object it names. Only one of two writers can replace the head, so the chain never
 * forks, and the next writer completes an interrupted write from the head. No object is ever overwritten.
 */
export function createJournal(store: JournalStore, onRebuilt?: (rebuilt: Rebuilt) => void): Journal {
  const seen = new Set<string>();
  /** The newest object of each cluster that surely exists. */
  const complete = new Map<string, string>();

  return {
    async append(cluster, entries, signal) {
      const unseen = entries.filter((entry) => !seen.has(entryKey(entry)));
      let added = 0;
      let tries = 0;
      for (let rest = unseen.length; rest > 0; ) {
        const found = await store.read(headKey(cluster), signal);
        const head = decodeHead(found?.bytes, cluster) ?? (await rebuild(cluster, signal));
        if (head !== undefined && complete.get(cluster) !== head.key) await keepObject(head, signal);
        const next = advance(head, cluster, unseen);
        if (next === undefined) break;
        try {
          await store.write(headKey(cluster), Buffer.from(JSON.stringify(next.head)), found?.etag, signal);
        } catch (error) {
          tries += 1;
          if (!isConflict(error) || tries === TRIES) throw error;
          continue;
        }
        added += next.added;
        rest = next.rest;
        await keepObject(next.head, signal);
      }
      for (const entry of unseen) seen.add(entryKey(entry));
      if (seen.size > MAX_SEEN) seen.clear();
      return added;
    },
  };

  /** Rebuilt from the newest object; undefined for a cluster without objects. */
  async function rebuild(cluster: string, signal: AbortSignal): Promise<JournalHead | undefined> {
    const days = (await store.folders(JOURNAL_PREFIX, signal)).toSorted().slice(-REBUILD_DAYS);
    const newest = await Promise.all(days.map(async (day) => newestOf(day, cluster, signal)));
    const key = newest.findLast((each) => each !== undefined);
    if (key === undefined) return undefined;
    const head = headOfObject(key, (await store.read(key, signal))?.bytes?.toString('utf8') ?? '');
    if (head === undefined) throw changed(key, 'its head is lost and its last object is damaged');
    onRebuilt?.({ cluster, key });
    return head;
  }

  async function newestOf(day: string, cluster: string, signal: AbortSignal): Promise<string | undefined> {
    let newest: string | undefined;
    for await (const { key } of store.objects(clusterPrefix(day, cluster), signal))
      if (parseJournalKey(key)?.cluster === cluster) newest = key;
    return newest;
  }

  /** Writes the object that a head names, if it is missing. */
  async function keepObject({ cluster, key, body }: JournalHead, signal: AbortSignal): Promise<void> {
    const bytes = Buffer.from(body);
    try {
      await store.write(key, bytes, undefined, signal);
    } catch (error) {
      if (!isConflict(error)) throw error;
      // It exists: written earlier, or the answer to our write was lost. A changed object is evidence and is never
      // overwritten.
      if ((await store.read(key, signal))?.bytes?.equals(bytes) !== true)
        throw changed(key, 'it holds other lines than the head of its chain says');
    }
    complete.set(cluster, key);
  }
}

function isConflict(error: unknown): boolean {
  return error instanceof AwsError && error.kind === 'conflict';
}

function changed(key: string, problem: string): AwsError {
  return new AwsError({
    kind: 'conflict',
    object: `journal object ${key}`,
    problem,
    remedy:
      'Another writer wrote to the journal: certmarshal journal verify, then docs/journal.md. The lines continue in the log until it is fixed.',
  });
}
