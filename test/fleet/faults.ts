/** How the simulated server misbehaves. Times are real, because clients' deadlines are. */
export type Fault =
  /** A failure with a proper Status object. */
  | {
      readonly kind: 'status';
      readonly code: 401 | 403 | 404 | 409 | 410 | 429 | 500 | 503;
      readonly retryAfterSeconds?: number;
    }
  /** A page for people, as a proxy or a sign-in puts in the way. @default status 200 */
  | { readonly kind: 'html'; readonly code?: number }
  /** The right answer, cut in the middle and properly ended. */
  | { readonly kind: 'half-json' }
  /** The right answer, but the connection breaks in the middle. */
  | { readonly kind: 'disconnect' }
  | { readonly kind: 'redirect'; readonly location: string }
  /** A list that never ends, as fast as the client reads. */
  | { readonly kind: 'endless' }
  /** The right answer, as late as somebody lets it be made. */
  | { readonly kind: 'hold'; readonly until: () => Promise<void> }
  /** No answer at all. */
  | { readonly kind: 'hang' }
  /** The right answer, a byte at a time. */
  | { readonly kind: 'drip'; readonly millisecondsPerByte: number }
  /** The right answer, changed: one of {@link WRONG_LISTS}, or anything. */
  | { readonly kind: 'wrong-list'; readonly spoil: Spoiler };

/** Which requests a fault hits. */
export interface FaultRule {
  readonly fault: Fault;
  /** @default every method */
  readonly method?: string;
  /** Tested against path and query. */
  readonly path: RegExp;
  /** Matching requests that are let through first. @default 0 */
  readonly after?: number;
  /** Matching requests that are hit then. @default all */
  readonly times?: number;
}

/** Nobody is there. */
export const UNPLUGGED: FaultRule = { fault: { kind: 'disconnect' }, path: /./ };

/** JSON of a list, to be changed in place. */
// oxlint-disable-next-line typescript/no-explicit-any -- it makes lists that no type describes
export type Spoiler = (list: any) => void;

/** Lists that no API server should send. */
export const WRONG_LISTS = {
  itemsWithoutMetadata: ({ items }) => {
    for (const item of items) delete item.metadata;
  },
  itemsWithoutStatus: ({ items }) => {
    for (const item of items) delete item.status;
  },
  duplicates: ({ items }) => {
    items.push(...structuredClone(items));
  },
  unknownFields: (list) => {
    list.flavour = 'unknown';
    for (const item of list.items) {
      item.flavour = { unknown: true };
      item.metadata.flavour = ['unknown'];
      if (item.spec) item.spec.flavour = 'unknown';
      if (item.status) item.status.flavour = 'unknown';
    }
  },
  /** The first item's `spec.request` is 1 MiB of text that is no PEM. */
  hugeRequest: ({ items }) => {
    if (items[0]) items[0].spec.request = Buffer.alloc(1024 * 1024, 'x').toString('base64');
  },
  nullItems: (list) => {
    list.items = null;
  },
  itemsThatAreNoObjects: ({ items }) => {
    items.unshift(null, 'text', 7, []);
  },
} as const satisfies Readonly<Record<string, Spoiler>>;

/** The faults that a server has at the moment. */
export interface Faults {
  /** Adds a fault; where several match, the oldest is the one. @returns how to end it. */
  inject(rule: FaultRule): () => void;
  /** The fault that hits this request, counting it. */
  next(request: { readonly method: string; readonly url: string }): Fault | undefined;
}

export function createFaults(): Faults {
  const active: { readonly rule: FaultRule; seen: number }[] = [];
  return {
    inject(rule) {
      const entry = { rule, seen: 0 };
      active.push(entry);
      return () => {
        const index = active.indexOf(entry);
        if (index >= 0) active.splice(index, 1);
      };
    },
    next({ method, url }) {
      for (const entry of active) {
        const { fault, path, after = 0, times = Infinity } = entry.rule;
        // A regular expression with the flag g would remember where it was.
        if ((entry.rule.method ?? method) !== method || url.search(path) < 0) continue;
        entry.seen += 1;
        if (entry.seen > after && entry.seen <= after + times) return fault;
      }
      return undefined;
    },
  };
}
