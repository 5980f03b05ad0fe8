import { ApiError, badRequest } from './api-error.ts';
import type { KubeObject } from './kube-object.ts';
import { keyOf } from './object-store.ts';
import type { Matches } from './selectors.ts';

/** One page of a list. */
export interface Page {
  readonly items: readonly KubeObject[];
  /** The state that the whole list shows, whatever happens between its pages. */
  readonly resourceVersion: string;
  readonly continue?: string;
  /** Only without selectors, as upstream. */
  readonly remainingItemCount?: number;
}

export interface PageRequest {
  /** The present objects in order; not changed afterwards. */
  readonly all: readonly KubeObject[];
  readonly revision: number;
  /** `Infinity`: everything that is left. */
  readonly limit: number;
  /** `continue` of the page before; undefined for a first page. */
  readonly token: string | undefined;
  readonly matches: Matches | undefined;
}

/** Cuts lists into pages. A list goes on in the state in which it began. */
export interface Pager {
  /** @throws ApiError 400 for a token that is none, 410 for one of a state that is forgotten. */
  page(request: PageRequest): Page;
}

const VERSION = 'meta.k8s.io/v1';
// etcd forgets states by compaction, every five minutes.
const REMEMBERED_MILLISECONDS = 5 * 60_000;

// The revision in the token of an answer 410: go on in whatever state there is.
const PRESENT = -1;

/** @param now the time that decides which states are forgotten. */
export function createPager(now: () => number): Pager {
  const states = new Map<number, { readonly objects: readonly KubeObject[]; readonly at: number }>();

  const forget = (): void => {
    for (const [revision, { at }] of states) if (at < now() - REMEMBERED_MILLISECONDS) states.delete(revision);
  };

  return {
    page({ all, revision, limit, token, matches }) {
      forget();
      const position = token === undefined ? undefined : decodeToken(token);
      const isPresent = position === undefined || position.rv === PRESENT;
      const shown = isPresent ? revision : position.rv;
      const objects = isPresent ? all : states.get(shown)?.objects;
      if (objects === undefined) throw expired(position?.start ?? '');

      const items: KubeObject[] = [];
      let index = position === undefined ? 0 : objects.findIndex((object) => `/${keyOf(object)}\0` > position.start);
      if (index < 0) index = objects.length;
      for (; index < objects.length && items.length < limit; index += 1) {
        const object = objects[index];
        if (object !== undefined && (matches === undefined || matches(object))) items.push(object);
      }

      const last = items.at(-1);
      // What follows may not match: then the last page is empty, and that is so upstream.
      if (index >= objects.length || last === undefined) return { items, resourceVersion: String(shown) };
      states.set(shown, { objects, at: states.get(shown)?.at ?? now() });
      return {
        items,
        resourceVersion: String(shown),
        continue: encodeToken({ v: VERSION, rv: shown, start: `/${keyOf(last)}\0` }),
        ...(matches === undefined ? { remainingItemCount: objects.length - index } : {}),
      };
    },
  };
}

interface Position {
  readonly v: string;
  readonly rv: number;
  readonly start: string;
}

function encodeToken(position: Position): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url');
}

function decodeToken(token: string): Position {
  try {
    const position: Partial<Position> = JSON.parse(Buffer.from(token, 'base64url').toString('utf8'));
    const { v, rv, start } = position;
    if (v === VERSION && typeof rv === 'number' && typeof start === 'string') return { v, rv, start };
  } catch {
    // Answered below, like every other text that is not a token.
  }
  throw badRequest('invalid continue token: continue key is not valid');
}

/**
 * What a reader gets who took longer over a list than the server remembers its state.
 *
 * @param start where the list goes on if the reader accepts another state.
 */
export function expired(start: string): ApiError {
  return new ApiError(
    410,
    'Expired',
    'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.',
    undefined,
    { continue: encodeToken({ v: VERSION, rv: PRESENT, start }) },
  );
}
