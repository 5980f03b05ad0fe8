import * as fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createKubernetesClient, type KubernetesClient } from '../../../lambdas/kubernetes/client.ts';
import { KubernetesError } from '../../../lambdas/kubernetes/errors.ts';
import { pageRoom } from '../../../lambdas/kubernetes/page-room.ts';
import { type ListRequest, listPages } from '../../../lambdas/kubernetes/paging.ts';
import { isJsonObject, text } from '../../../lambdas/resources/fields.ts';
import { answer, type Handler, startTlsServer, statusBody, type TlsServer } from './tls-server.ts';

const { signal } = new AbortController();

interface Listed {
  readonly pages: readonly (readonly unknown[])[];
  readonly error: KubernetesError | undefined;
  /** Query of every request, in order. */
  readonly queries: readonly URLSearchParams[];
}

async function list(handler: Handler, request: Partial<ListRequest> = {}, server?: TlsServer): Promise<Listed> {
  const { connection, received } = server ?? (await startTlsServer(handler));
  const client = createKubernetesClient(connection, { sleep: async () => {} });
  onTestFinished(() => client.close());
  const pages: (readonly unknown[])[] = [];
  let error: KubernetesError | undefined;
  try {
    for await (const page of listPages(client, { path: '/api/v1/nodes', signal, ...request })) pages.push([...page]);
  } catch (thrown) {
    if (!(thrown instanceof KubernetesError)) throw thrown;
    error = thrown;
  }
  return { pages, error, queries: received.map(({ url }) => new URL(url, connection.server).searchParams) };
}

const queryOf = (url: string) => new URL(url, 'https://host').searchParams;
const listed = (next: string | undefined, ...items: readonly unknown[]): Handler => {
  return (_, response) => answer(response, 200, { items, metadata: { continue: next } });
};
const expired = (next?: string): Handler => {
  const metadata = next === undefined ? {} : { metadata: { continue: next } };
  return (_, response) => answer(response, 410, { ...statusBody(410, 'Expired', 'too old'), ...metadata });
};
/** The answer to each continue token, and to none. */
const byToken =
  (answers: Readonly<Record<string, Handler>>, other: Handler): Handler =>
  (request, response) =>
    (answers[queryOf(request.url).get('continue') ?? 'first'] ?? other)(request, response);

/** Serves the numbers from 0 as items, by limit and continue, each as large as `sizeOf` says. */
function numbers(count: number, sizeOf: (item: number) => number = () => 1): Handler {
  return ({ url }, response) => {
    const query = queryOf(url);
    const start = Number(query.get('continue') ?? 0);
    const end = Math.min(count, start + Number(query.get('limit')));
    const items = Array.from({ length: end - start }, (_, index) => ({
      id: start + index,
      padding: 'x'.repeat(sizeOf(start + index)),
    }));
    answer(response, 200, { kind: 'List', metadata: end < count ? { continue: String(end) } : {}, items });
  };
}

const ids = (pages: Listed['pages']): unknown[] => pages.flat().map((item) => isJsonObject(item) && item['id']);

describe('listPages', () => {
  test('asks for fewer items while the pages of other clusters leave no room, and waits for one that is large itself', async () => {
    const others = pageRoom();
    others.take(40 * 1024 * 1024);
    onTestFinished(() => others.release());
    const serve = numbers(9, (item) => (item === 8 ? 1_500_000 : 250_000));
    let ofLarge = 0;
    const { pages, error, queries } = await list((request, response) => {
      const query = queryOf(request.url);
      if (query.get('continue') === '8' && query.get('limit') === '1') ofLarge += 1;
      if (ofLarge === 3) others.release();
      return serve(request, response);
    });
    expect([ids(pages), error]).toEqual([Array.from({ length: 9 }, (_, id) => id), undefined]);
    const limits = queries.map((query) => query.get('limit'));
    expect(limits.slice(0, 5)).toEqual(['500', '125', '31', '7', '1']);
    expect(ofLarge).toBe(3);
  });

  test('lets go of a page when the next one is asked for, which a server can make last', async () => {
    const { connection } = await startTlsServer(numbers(1_200));
    const client = createKubernetesClient(connection);
    onTestFinished(() => client.close());
    const pages: (readonly unknown[])[] = [];
    const sizes: number[][] = [];
    for await (const page of listPages(client, { path: '/api/v1/nodes', signal })) {
      pages.push(page);
      sizes.push(pages.map(({ length }) => length));
    }
    expect(sizes).toEqual([[500], [0, 500], [0, 0, 200]]);
  });

  test('follows continue to the end and repeats the selectors', async () => {
    const { pages, queries } = await list(numbers(1_200), {
      fieldSelector: 'spec.signerName=kubernetes.io/kubelet-serving',
      labelSelector: 'a=b',
    });
    expect(pages.map((page) => page.length)).toEqual([500, 500, 200]);
    expect(ids(pages)).toEqual(Array.from({ length: 1_200 }, (_, index) => index));
    expect(queries.map((query) => Object.fromEntries(query))).toEqual(
      [undefined, '500', '1000'].map((from) => ({
        fieldSelector: 'spec.signerName=kubernetes.io/kubelet-serving',
        labelSelector: 'a=b',
        limit: '500',
        continue: from,
      })),
    );
  });

  test.each([
    ['null, as Go writes it', { items: null }],
    ['an empty array', { items: [], metadata: {} }],
    ['an empty continue', { items: [], metadata: { continue: '' } }],
  ])('an empty list: %s', async (_name, body) => {
    const { pages, error, queries } = await list((_, response) => answer(response, 200, body));
    expect([pages, error, queries.length]).toEqual([[], undefined, 1]);
  });

  test.each([{}, { items: {} }, { items: 'x' }, { kind: 'APIVersions', versions: [] }])(
    'JSON that is no list: %j',
    async (body) => {
      const { error } = await list((_, response) => answer(response, 200, body));
      expect([error?.kind, error?.problem]).toEqual(['not-kubernetes', 'the answer is JSON but not a list']);
    },
  );

  test('an empty page in the middle is not the end', async () => {
    const { pages, queries } = await list(
      byToken({ first: listed('a', { id: 0 }), a: listed('b') }, listed('', { id: 1 })),
    );
    expect(ids(pages)).toEqual([0, 1]);
    expect(queries).toHaveLength(3);
  });

  test('410 with a token goes on after the last item; nothing comes twice', async () => {
    const answers = { first: listed('old', { id: 0 }), old: expired('new') };
    const { pages, error, queries } = await list(byToken(answers, listed(undefined, { id: 1 })));
    expect(error).toBeUndefined();
    expect(ids(pages)).toEqual([0, 1]);
    expect(queries.map((query) => query.get('continue'))).toEqual([null, 'old', 'new']);
  });

  test.each([
    ['on the first page', 'first'],
    ['without a token', 'old'],
  ])('410 %s is thrown', async (_name, token) => {
    const { error } = await list(byToken({ [token]: expired() }, listed('old', { id: 0 })));
    expect(error?.kind).toBe('gone');
  });

  test.each([
    ['the same token', ['a']],
    ['tokens in a circle', ['a', 'b', 'c']],
  ])('a server that sends %s for ever', async (_name, tokens) => {
    let sent = 0;
    const { error, queries } = await list((request, response) => {
      listed(tokens[sent % tokens.length], { id: sent })(request, response);
      sent += 1;
    });
    expect([error?.kind, error?.problem]).toEqual(['not-kubernetes', 'the server sends the same continue token again']);
    expect(queries).toHaveLength(tokens.length + 1);
  });

  test('a server that repeats 410 with the same token', async () => {
    const { error } = await list(byToken({ first: listed('a') }, expired('a')));
    expect(error?.problem).toBe('the server sends the same continue token again');
  });

  test.each([
    ['a page', listed],
    ['a 410', expired],
  ])('a continue token of %s that is no token: it would be kept, and sent back', async (_name, sent) => {
    const tooLong = 'x'.repeat(4 * 1024 + 1);
    const { error, queries } = await list(byToken({ first: listed(tooLong.slice(1)) }, sent(tooLong)));
    expect([error?.kind, error?.problem]).toEqual([
      'not-kubernetes',
      'the server sends a continue token of over 4096 characters',
    ]);
    expect(queries.map((query) => query.get('continue')?.length)).toEqual([undefined, 4096]);
  });

  test('more items than allowed', async () => {
    const { pages, error } = await list(numbers(100), { limit: 10, maxItems: 25 });
    expect(ids(pages)).toHaveLength(20);
    expect([error?.kind, error?.problem]).toEqual(['too-large', 'the list has more than 25 items']);
  });

  test('objects made huge on purpose slow the list down but do not stop it', async () => {
    const huge = 3 * 1024 * 1024;
    const { pages, error, queries } = await list(
      numbers(40, (item) => (item >= 8 && item < 12 ? huge : 10)),
      { limit: 16 },
    );
    expect(error).toBeUndefined();
    expect(ids(pages)).toEqual(Array.from({ length: 40 }, (_, index) => index));
    expect(queries.map((query) => Number(query.get('limit')))).toEqual([16, 4, 8, 2, 4, 4, 4, 8, 16]);
  });

  test('a page with more values or names than are parsed at once is asked for in smaller pieces', async () => {
    const many = Object.fromEntries(Array.from({ length: 600 }, (_, index) => [`name-${index}`, 'x']));
    const strange = (item: number) =>
      Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`${item}-${at}`, 'x']));
    const { pages, error, queries } = await list(({ url }, response) => {
      const query = queryOf(url);
      const start = Number(query.get('continue') ?? 0);
      const end = Math.min(1_000, start + Number(query.get('limit')));
      const items = Array.from({ length: end - start }, (_, index) => {
        const id = start + index;
        return { id, of: id < 500 ? many : strange(id) };
      });
      answer(response, 200, { metadata: end < 1_000 ? { continue: String(end) } : {}, items });
    }, {});
    expect(error).toBeUndefined();
    expect(ids(pages)).toEqual(Array.from({ length: 1_000 }, (_, index) => index));
    expect(queries.map((query) => Number(query.get('limit')))).toEqual([
      500, 125, 250, 62, 124, 248, 496, 124, 248, 62, 124, 248,
    ]);
  });

  test('an object over the limit is skipped, and the error after all others names it', async () => {
    const serve = numbers(5, (item) => (item === 2 ? 9 * 1024 * 1024 : 10));
    const { pages, error } = await list((request, response) => {
      const query = queryOf(request.url);
      if (query.get('includeObject') === null) return serve(request, response);
      expect(request.headers.accept).toBe('application/json;as=Table;v=v1;g=meta.k8s.io');
      return answer(response, 200, {
        kind: 'Table',
        metadata: { continue: '3', resourceVersion: '7' },
        columnDefinitions: [{ name: 'Age' }, { name: 'Name' }],
        rows: [{ cells: ['<'.repeat(2_000_000), '→\u001b[2Jtwo'] }],
      });
    });
    expect(ids(pages)).toEqual([0, 1, 3, 4]);
    expect([error?.kind, error?.problem]).toEqual([
      'too-large',
      'one object is too large to read: ?[2Jtwo (the first of the list)',
    ]);
    expect(error?.skipped).toMatchObject({ count: 1, items: [{ name: '→\u001b[2Jtwo' }] });
  });

  test('a server without tables, or that ignores the limit, hides nothing: the list is not read', async () => {
    const row = { cells: ['a'] };
    for (const table of [{}, { kind: 'Table', rows: [] }, { kind: 'Table', rows: [row, row] }]) {
      const serve = numbers(3, (item) => (item === 2 ? 9 * 1024 * 1024 : 10));
      const { pages, error } = await list((request, response) =>
        request.url.includes('includeObject') ? answer(response, 200, table) : serve(request, response),
      );
      expect(ids(pages)).toEqual([0, 1]);
      expect([error?.kind, error?.skipped]).toEqual(['too-large', undefined]);
    }
  });

  /** A list in memory: `small`, `wide` with more members than asked for, `huge` that never fits. */
  function served(sizes: readonly ('small' | 'wide' | 'huge')[]): KubernetesClient {
    const name = (index: number) => `item-${index}`;
    const request: KubernetesClient['request'] = async ({ query = {}, asTable, maxItemMembers }) => {
      const start = Number(query['continue'] ?? 0);
      const end = Math.min(sizes.length, start + Number(query['limit']));
      const page = sizes.slice(start, end);
      const metadata = { resourceVersion: '7', ...(end < sizes.length ? { continue: String(end) } : {}) };
      if (asTable === true) {
        const rows = page.map((_, index) => ({ cells: [name(start + index), 'signer', `user-${start + index}`] }));
        const columnDefinitions = [{ name: 'Name' }, { name: 'SignerName' }, { name: 'Requestor' }];
        return { kind: 'Table', metadata, columnDefinitions, rows };
      }
      if (page.includes('huge'))
        throw new KubernetesError({ kind: 'too-large', object: 'list', problem: 'large', remedy: '' });
      const items = page.map((size, index) =>
        size === 'wide' && maxItemMembers !== undefined
          ? null
          : { metadata: { namespace: 'ns', name: name(start + index) } },
      );
      return { metadata, items };
    };
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- all that a list uses
    return { server: 'https://host', request } as KubernetesClient;
  }

  test('of any list, exactly the items that are too large are skipped, and each is named', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom('small', 'small', 'wide', 'huge'), { maxLength: 40 }),
        fc.integer({ min: 1, max: 9 }),
        async (sizes, limit) => {
          const read: unknown[] = [];
          let skipped: KubernetesError['skipped'];
          try {
            const pages = listPages(served(sizes), { path: '/api/v1/nodes', signal, limit, maxItemMembers: 9 });
            for await (const page of pages) read.push(...page.map((item) => text(item, 'metadata', 'name')));
          } catch (error) {
            if (!(error instanceof KubernetesError) || error.skipped === undefined) throw error;
            ({ skipped } = error);
          }
          const names = sizes.map((size, index) => ({ size, name: `item-${index}` }));
          expect(read).toEqual(names.filter(({ size }) => size === 'small').map(({ name }) => name));
          const large = names.filter(({ size }) => size !== 'small');
          expect(skipped?.count ?? 0).toBe(large.length);
          expect(skipped?.items.map(({ name, signerName, username }) => [name, signerName, username]) ?? []).toEqual(
            large.map(({ name }) => [name, 'signer', name.replace('item', 'user')]),
          );
        },
      ),
      { seed: 42 },
    );
  });

  test('an item of the first page that was too large a moment ago, and no longer is, is read', async () => {
    let reads = 0;
    const { pages, error, queries } = await list(
      ({ url }, response) => {
        const query = queryOf(url);
        if (query.get('includeObject') !== null)
          return answer(response, 200, { kind: 'Table', metadata: { resourceVersion: '7' }, rows: [{ cells: [] }] });
        reads += 1;
        const padding = 'x'.repeat(reads === 1 ? 9 * 1024 * 1024 : 1);
        return answer(response, 200, { metadata: { resourceVersion: '7' }, items: [{ id: 0, padding }] });
      },
      { limit: 1 },
    );
    expect([ids(pages), error]).toEqual([[0], undefined]);
    expect(queries.map((query) => [query.get('resourceVersion'), query.get('resourceVersionMatch')])).toEqual([
      [null, null],
      [null, null],
      ['7', 'Exact'],
    ]);
  });

  test('nothing is asked for before the caller wants it', async () => {
    const server = await startTlsServer(numbers(1_500));
    const client = createKubernetesClient(server.connection);
    onTestFinished(() => client.close());
    for await (const page of listPages(client, { path: '/api/v1/nodes', signal })) {
      expect(page).toHaveLength(500);
      break;
    }
    expect(server.received).toHaveLength(1);
  });
});
