import { NODE_PREFIX } from '../approval/rules/rules.ts';
import { type RawLine, readLine } from './chain.ts';
import type { JournalStore } from './journal-store.ts';
import { type JournalWindow, listObjects, readObjects } from './verify.ts';

/** Filters; a line must match all of them. */
export interface JournalQuery extends JournalWindow {
  /** The earliest time. RFC 3339. @default the beginning of the window */
  readonly from?: string | undefined;
  /** Lines of this node, and of requests for its name. */
  readonly node?: string | undefined;
  readonly csr?: string | undefined;
  readonly verdict?: string | undefined;
  readonly hostile?: boolean | undefined;
}

export interface SearchResult {
  /** The newest matches, newest first. */
  readonly lines: readonly RawLine[];
  readonly found: number;
  /** How much was read. */
  readonly searched: number;
  /** Unreadable lines and objects that are too large; a verification names them. */
  readonly unreadable: number;
}

/**
 * Finds lines. Says of each whether its hash is intact; only a verification checks the chain.
 *
 * @param limit most lines returned
 * @throws AwsError, or an error of the file system
 */
export async function searchJournal(
  store: JournalStore,
  query: JournalQuery,
  limit: number,
  signal: AbortSignal,
  onObject?: (key: string) => void,
): Promise<SearchResult> {
  let lines: RawLine[] = [];
  let found = 0;
  let searched = 0;
  let unreadable = 0;
  const newest = (): RawLine[] => lines.toSorted((a, b) => Date.parse(b.at) - Date.parse(a.at)).slice(0, limit);
  for await (const { key, bytes } of readObjects(store, listObjects(store, query, signal), signal)) {
    onObject?.(key);
    if (bytes === undefined) unreadable += 1;
    for (const text of bytes?.toString('utf8').split('\n') ?? []) {
      if (text === '') continue;
      searched += 1;
      const line = readLine(text);
      if (line === undefined) unreadable += 1;
      else if (matches(line, query)) {
        found += 1;
        lines.push(line);
      }
    }
    if (lines.length > 2 * limit) lines = newest();
  }
  return { lines: newest(), found, searched, unreadable };
}

function matches({ at, cluster, value }: RawLine, query: JournalQuery): boolean {
  const { requester, names } = value;
  const isOfNode = (node: string): boolean =>
    requester === `${NODE_PREFIX}${node}` || (Array.isArray(names) && names.includes(node));
  return (
    (query.from === undefined || Date.parse(at) >= Date.parse(query.from)) &&
    (query.cluster === undefined || cluster === query.cluster) &&
    (query.node === undefined || isOfNode(query.node)) &&
    (query.csr === undefined || value['csr'] === query.csr) &&
    (query.verdict === undefined || value['verdict'] === query.verdict) &&
    (query.hostile !== true || value['hostile'] === true)
  );
}
