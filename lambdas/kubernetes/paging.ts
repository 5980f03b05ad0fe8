import { setTimeout as delay } from 'node:timers/promises';
import { type JsonObject, list, text } from '../resources/fields.ts';
import type { KubernetesClient } from './client.ts';
import { describeCall } from './describe-call.ts';
import { KubernetesError, type KubernetesErrorDetails, type SkippedItem, type SkippedItems } from './errors.ts';
import type { Right } from './missing-right.ts';
import { pageRoom } from './page-room.ts';
import { printable } from './printable.ts';

export interface ListRequest {
  readonly path: string;
  readonly right?: Right | undefined;
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
  readonly signal: AbortSignal;
  /** Items a page. @default 500 */
  readonly limit?: number;
  /** More items are an error: Kubernetes supports no cluster with as many. @default 100 000 */
  readonly maxItems?: number;
  /** An item with more members, at any depth, is skipped. @default that of a page */
  readonly maxItemMembers?: number;
}

/** A common page is 1 to 6 MB; JSON uses up to twenty times its size once parsed. */
const MAX_PAGE_BYTES = 8 * 1024 * 1024;

/** The API server's token is the base64 of a revision and a key, a few hundred characters; all are remembered. */
const MAX_TOKEN_CHARACTERS = 4 * 1024;

/** Far above the need of `maxItems`, even at one item a page for a while; stops a server that pages forever. */
const MAX_PAGES = 10_000;

const SHOWN_SKIPPED = 100;

/**
 * The items of a list, page by page: a caller holds one page in memory, never the whole list. A page is emptied when
 * the next one is requested.
 *
 * - No item is yielded twice. When the snapshot has expired (410), the answer contains a token that continues after the
 * last item with the newest state, and that token is used. Objects created before that point in between are left for
 * the next list. A 410 without a token is thrown.
 * - A page that is too large, or has no room beside pages of other clusters, is requested again with a quarter of the
 * items, down to one, and later pages grow again. An item that is too large alone is skipped: the error that names it
 * is thrown after all others were yielded, and has `skipped`.
 *
 * Source: Kubernetes API concepts, "Retrieving large results sets in chunks".
 *
 * @throws KubernetesError; `not-kubernetes` also for an endless list or invalid tokens, `too-large` above `maxItems`
 */
export async function* listPages(client: KubernetesClient, asked: ListRequest): AsyncGenerator<readonly unknown[]> {
  const { path, signal, maxItems = 100_000 } = asked;
  const selectors = {
    ...(asked.fieldSelector === undefined ? {} : { fieldSelector: asked.fieldSelector }),
    ...(asked.labelSelector === undefined ? {} : { labelSelector: asked.labelSelector }),
  };
  const object = describeCall('GET', path, client.server);
  const strange = (problem: string): KubernetesError =>
    new KubernetesError({
      kind: 'not-kubernetes',
      object,
      problem,
      remedy: 'Check that the server is an API server and that no proxy caches its answers.',
    });
  const followed = new Set<string>();
  const largest = asked.limit ?? 500;
  let limit = largest;
  let continueToken: string | undefined;
  /** Of the first page, if it must be read again as it was. */
  let version: string | undefined;
  let items = 0;
  const skips: Skips = { items: [], count: 0, last: undefined };

  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const query = {
      ...selectors,
      limit: String(limit),
      ...(continueToken === undefined ? exactly(version) : { continue: continueToken }),
    };
    let page: Page;
    let table: Table | undefined;
    using room = pageRoom();
    try {
      page = pageOf(
        await client.request({
          method: 'GET',
          path,
          right: asked.right,
          query,
          signal,
          maxResponseBytes: MAX_PAGE_BYTES,
          maxItemMembers: asked.maxItemMembers,
          room,
        }),
        object,
      );
      // Twice the items must fit: a page that is refused was sent for nothing.
      if (room.size * 2 <= MAX_PAGE_BYTES) limit = Math.min(largest, limit * 2);
    } catch (error) {
      if (!(error instanceof KubernetesError)) throw error;
      if (error.kind === 'too-large' && (limit > 1 || room.isRefused)) {
        if (limit === 1) await delay(CROWDED_MS, undefined, { signal }).catch(() => undefined);
        limit = Math.max(1, Math.floor(limit / 4));
        continue;
      }
      if (error.kind === 'too-large') {
        table = await readTable(client, path, query, signal);
        // More rows than were asked for: the server ignores the limit.
        if (table?.rows.length !== 1)
          throw new KubernetesError(tooLarge(object, { items: [{ after: skips.last }], count: 1 }));
        if (continueToken === undefined && version === undefined && table.version !== undefined) {
          // The item may have changed since: only within one version of the list does the table name what is skipped.
          version = table.version;
          continue;
        }
        page = { ...table, items: [null] };
      } else {
        if (error.kind !== 'gone' || continueToken === undefined || error.continueToken === undefined) throw error;
        page = { items: [], continueToken: error.continueToken, version: undefined };
      }
    }
    items += page.items.length;
    if (items > maxItems) {
      throw new KubernetesError({
        kind: 'too-large',
        object,
        problem: `the list has more than ${maxItems} items`,
        remedy: 'Find out who creates so many objects, and remove them.',
      });
    }
    const isCut = table !== undefined || (asked.maxItemMembers !== undefined && page.items.includes(null));
    if (isCut) {
      const same = continueToken === undefined ? { ...query, ...exactly(page.version) } : query;
      takeSkipped(page, table ?? (await readTable(client, path, same, signal)), skips);
    } else skips.last = shownItem(page.items.at(-1)) ?? skips.last;
    if (page.items.length > 0) yield page.items;
    // The generator and its reader hold the page while they wait for the next one, which a server can delay.
    page.items.length = 0;
    continueToken = page.continueToken;
    if (continueToken === undefined) {
      if (skips.count > 0) throw new KubernetesError({ ...tooLarge(object, skips), skipped: skips });
      return;
    }
    if (continueToken.length > MAX_TOKEN_CHARACTERS) {
      throw strange(`the server sends a continue token of over ${MAX_TOKEN_CHARACTERS} characters`);
    }
    if (followed.has(continueToken)) throw strange('the server sends the same continue token again');
    followed.add(continueToken);
  }
  throw strange(`the list has more than ${MAX_PAGES} pages`);
}

/** Wait before a one-item page without room is requested again. Milliseconds. */
const CROWDED_MS = 100;

interface Page extends ListPosition {
  readonly items: unknown[];
}

function pageOf(answer: JsonObject, object: string): Page {
  // Go writes an empty list as null.
  const items = answer['items'] ?? ('items' in answer ? [] : undefined);
  if (!Array.isArray(items)) {
    throw new KubernetesError({
      kind: 'not-kubernetes',
      object,
      problem: 'the answer is JSON but not a list',
      remedy: 'Check that the server is an API server.',
    });
  }
  return { items, ...positionOf(answer) };
}

function exactly(version: string | undefined): Readonly<Record<string, string>> {
  return version === undefined ? {} : { resourceVersion: version, resourceVersionMatch: 'Exact' };
}

interface Skips {
  readonly items: SkippedItem[];
  count: number;
  /** Name of the newest item of the list. */
  last: string | undefined;
}

/** Removes the items that were answered as null, and collects what the table says about them. */
function takeSkipped({ items, version }: Page, table: Table | undefined, skips: Skips): void {
  const rows = table?.version === version && table?.rows.length === items.length ? table.rows : [];
  for (const [index, item] of items.entries()) {
    if (item === null) {
      skips.count += 1;
      if (skips.items.length < SHOWN_SKIPPED) skips.items.push({ ...rows[index], after: skips.last });
    }
    skips.last = item === null ? (rows[index]?.name ?? skips.last) : shownItem(item);
  }
  items.splice(0, items.length, ...items.filter((item) => item !== null));
}

function shownItem(item: unknown): string | undefined {
  const namespace = text(item, 'metadata', 'namespace');
  const name = text(item, 'metadata', 'name');
  return namespace === undefined ? name : `${namespace}/${name}`;
}

const SHOWN = 3;

function tooLarge(object: string, { items, count }: SkippedItems): KubernetesErrorDetails {
  const names = items.slice(0, SHOWN).map(({ name, after }) => {
    const place = after === undefined ? 'the first of the list' : `the one after ${after}`;
    return printable(name === undefined ? place : `${name} (${place})`);
  });
  const more = count > SHOWN ? ` and ${count - SHOWN} more` : '';
  return {
    kind: 'too-large',
    object,
    problem: `${count === 1 ? 'one object is' : `${count} objects are`} too large to read: ${names.join(', ')}${more}`,
    remedy: 'Find out who made it so large; remove its annotations, or delete it.',
  };
}

interface ListPosition {
  readonly continueToken: string | undefined;
  /** `resourceVersion` of the list. */
  readonly version: string | undefined;
}

interface Table extends ListPosition {
  readonly rows: readonly Omit<SkippedItem, 'after'>[];
}

/** A Node has up to 1.5 MiB in its columns, and JSON escapes some characters as six. */
const MAX_TABLE_BYTES = 10 * 1024 * 1024;

/** A page of a list as kubectl prints it, without its objects. Undefined if the server makes no table. */
async function readTable(
  client: KubernetesClient,
  path: string,
  query: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Table | undefined> {
  // Of its own: the page whose items it names is still held.
  using room = pageRoom();
  const call = {
    method: 'GET',
    path,
    query: { ...query, includeObject: 'None' },
    signal,
    room,
    asTable: true,
  } as const;
  try {
    const answer = await client.request({ ...call, maxResponseBytes: MAX_TABLE_BYTES });
    if (answer['kind'] !== 'Table') return undefined;
    // Every kind has the column Name. Source: Kubernetes, `certificateSigningRequestColumnDefinitions`.
    const columns = list(answer, 'columnDefinitions').map((column) => text(column, 'name'));
    const rows = list(answer, 'rows').map((row) => {
      const cells = list(row, 'cells');
      const cell = (title: string): string | undefined => {
        const value = cells[columns.indexOf(title)];
        return typeof value === 'string' ? value : undefined;
      };
      return { name: cell('Name'), signerName: cell('SignerName'), username: cell('Requestor') };
    });
    return { rows, ...positionOf(answer) };
  } catch (error) {
    if (!(error instanceof KubernetesError)) throw error;
    return undefined;
  }
}

function positionOf(answer: JsonObject): ListPosition {
  return {
    continueToken: text(answer, 'metadata', 'continue') || undefined,
    version: text(answer, 'metadata', 'resourceVersion') || undefined,
  };
}
