import { setTimeout as delay } from 'node:timers/promises';
import { type JsonObject, text } from '../resources/fields.ts';
import type { KubernetesClient } from './client.ts';
import { describeCall } from './describe-call.ts';
import { KubernetesError } from './errors.ts';
import { pageRoom } from './page-room.ts';

export interface ListRequest {
  readonly path: string;
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
  readonly signal: AbortSignal;
  /** Items a page. @default 500 */
  readonly limit?: number;
  /** More items are an error: Kubernetes supports no cluster with as many. @default 100 000 */
  readonly maxItems?: number;
}

/** A common page is 1 to 6 MB; JSON uses up to twenty times its size once parsed. */
const MAX_PAGE_BYTES = 8 * 1024 * 1024;

/** The API server's token is the base64 of a revision and a key, a few hundred characters; all are remembered. */
const MAX_TOKEN_CHARACTERS = 4 * 1024;

/** Far above the need of `maxItems`, even at one item a page for a while; stops a server that pages forever. */
const MAX_PAGES = 10_000;

/**
 * The items of a list, page by page: a caller holds one page in memory, never the whole list. A page is emptied when
 * the next one is requested.
 *
 * - No item is yielded twice. When the snapshot has expired (410), the answer contains a token that continues after the
 * last item with the newest state, and that token is used. Objects created before that point in between are left for
 * the next list. A 410 without a token is thrown.
 * - A page that is too large, or has no room beside pages of other clusters, is requested again with a quarter of the
 * items, down to one, and later pages grow again: deliberately huge objects slow the list down but do not stop it.
 *
 * Source: Kubernetes API concepts, "Retrieving large results sets in chunks".
 *
 * @throws KubernetesError; `not-kubernetes` also for an endless list or invalid tokens, `too-large` above `maxItems`
 */
export async function* listPages(client: KubernetesClient, list: ListRequest): AsyncGenerator<readonly unknown[]> {
  const { path, signal, maxItems = 100_000 } = list;
  const selectors = {
    ...(list.fieldSelector === undefined ? {} : { fieldSelector: list.fieldSelector }),
    ...(list.labelSelector === undefined ? {} : { labelSelector: list.labelSelector }),
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
  const largest = list.limit ?? 500;
  let limit = largest;
  let continueToken: string | undefined;
  let items = 0;

  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    let page: Page;
    using room = pageRoom();
    try {
      const query = {
        ...selectors,
        limit: String(limit),
        ...(continueToken === undefined ? {} : { continue: continueToken }),
      };
      page = pageOf(
        await client.request({ method: 'GET', path, query, signal, maxResponseBytes: MAX_PAGE_BYTES, room }),
        object,
      );
      limit = Math.min(largest, limit * 2);
    } catch (error) {
      if (!(error instanceof KubernetesError)) throw error;
      if (error.kind === 'too-large' && (limit > 1 || room.isRefused)) {
        if (limit === 1) await delay(CROWDED_MS, undefined, { signal }).catch(() => undefined);
        limit = Math.max(1, Math.floor(limit / 4));
        continue;
      }
      if (error.kind !== 'gone' || continueToken === undefined || error.continueToken === undefined) throw error;
      page = { items: [], continueToken: error.continueToken };
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
    if (page.items.length > 0) yield page.items;
    // The generator and its reader hold the page while they wait for the next one, which a server can delay.
    page.items.length = 0;
    continueToken = page.continueToken;
    if (continueToken === undefined) return;
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

interface Page {
  readonly items: unknown[];
  readonly continueToken: string | undefined;
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
  return { items, continueToken: text(answer, 'metadata', 'continue') || undefined };
}
