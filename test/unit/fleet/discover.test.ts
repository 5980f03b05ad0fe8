import { describe, expect, it } from 'vitest';
import type { EksCluster, EksReader } from '../../../lambdas/aws/eks-clusters.ts';
import { AwsError, type AwsErrorKind } from '../../../lambdas/aws/errors.ts';
import type { EksDiscovery } from '../../../lambdas/config/fleet.ts';
import { type DiscoverOptions, discoverEks, type SourceResult } from '../../../lambdas/fleet/discover.ts';
import { at, DUBLIN, discovery, eksCluster, HUB, MINUTE, registered, registry } from './values.ts';

const SELF = 'eks 111122223333/eu-central-1';

describe('discoverEks', () => {
  it('finds the clusters of every account and Region, with the role of each', async () => {
    const asked: string[] = [];
    const reader = readerOf({
      async *listClusters({ account, region, role }) {
        asked.push(`${account}/${region} ${role?.arn ?? 'own'} ${role?.externalId ?? ''}`);
        yield [`${region}-a`];
        yield [`${region}-b`];
      },
    });
    const entry = discovery({ accounts: ['self', '444455556666'], regions: ['self', 'us-east-1'], externalId: 'xid' });
    const results = await discover([entry], reader);
    expect(asked.toSorted()).toEqual([
      '111122223333/eu-central-1 own ',
      '111122223333/us-east-1 own ',
      '444455556666/eu-central-1 arn:aws:iam::444455556666:role/certmarshal-spoke xid',
      '444455556666/us-east-1 arn:aws:iam::444455556666:role/certmarshal-spoke xid',
    ]);
    expect(results.every(({ ok }) => ok)).toBe(true);
    expect(results.flatMap(idsOf).toSorted()).toEqual(
      ['111122223333', '444455556666'].flatMap((account) =>
        ['eu-central-1', 'us-east-1'].flatMap((region) => ['a', 'b'].map((n) => `${account}/${region}/${region}-${n}`)),
      ),
    );
  });

  it('describes what it found', async () => {
    const [result] = await discover([discovery()], readerOf({}));
    expect(result).toEqual({ source: SELF, ok: true, clusters: [{ id: DUBLIN.id, target: DUBLIN }] });
  });

  it('reads only the sources it is told to', async () => {
    const entry = discovery({ regions: ['eu-central-1', 'us-east-1'] });
    const results = await discover([entry], readerOf({}), { only: ['eks 111122223333/us-east-1'] });
    expect(results.map(({ source }) => source)).toEqual(['eks 111122223333/us-east-1']);
  });

  it('gives each source as it is done', async () => {
    const slow = Promise.withResolvers<void>();
    const reader = readerOf({
      async *listClusters({ region }) {
        if (region === 'us-east-1') await slow.promise;
        yield ['dublin'];
      },
    });
    const results = discoverEks(
      [discovery({ regions: ['us-east-1', 'eu-central-1'] })],
      HUB,
      [],
      reader,
      new AbortController().signal,
    );
    expect((await results.next()).value?.source).toBe(SELF);
    slow.resolve();
    expect((await results.next()).value?.source).toBe('eks 111122223333/us-east-1');
    expect((await results.next()).done).toBe(true);
  });

  it('does not describe what its name excludes, and says that it is not wanted', async () => {
    const described: string[] = [];
    const reader = readerOf({ names: ['dublin', 'dublin-test'] }, described);
    const [result] = await discover([discovery({ exclude: { names: ['*-test'] } })], reader);
    expect(described).toEqual(['dublin']);
    expect(result?.clusters).toContainEqual({ id: `${DUBLIN.id}-test`, unwanted: true });
  });

  it('reads a Region that is asked for twice once, and says so', async () => {
    const entry = discovery({ accounts: ['self', '111122223333'] });
    const results = await discover([entry, discovery()], readerOf({}));
    expect(results).toHaveLength(1);
    expect(results[0]).toMatchObject({ ok: true, problem: { kind: 'repeated', object: SELF } });
    expect(results[0]?.clusters).toHaveLength(1);
  });

  it('lets a cluster belong to the first entry that wants it', async () => {
    const entries = [
      discovery({ include: { tags: { team: 'a' } }, lane: 'lane-a' }),
      discovery({ include: { names: ['dublin'] }, lane: 'lane-b' }),
    ];
    const [untagged] = await discover(entries, readerOf({}));
    const [tagged] = await discover(entries, readerOf({ cluster: eksCluster({ tags: { team: 'a' } }) }));
    expect([untagged, tagged].map((result) => result?.clusters?.[0]?.target?.lane)).toEqual(['lane-b', 'lane-a']);
  });

  it.each(['denied', 'expired', 'region', 'throttled', 'unavailable'] as const)(
    'makes a source that cannot be listed (%s) a problem of its own, and reads the others',
    async (kind) => {
      const reader = readerOf({
        async *listClusters({ region }) {
          if (region === 'us-east-1') throw awsError(kind, 'eks:ListClusters');
          yield ['dublin'];
        },
      });
      const results = await discover([discovery({ regions: ['us-east-1', 'eu-central-1'] })], reader);
      expect(results.find(({ ok }) => !ok)).toEqual({
        source: 'eks 111122223333/us-east-1',
        ok: false,
        problem: { kind, object: 'eks:ListClusters', message: 'it failed', remedy: 'Mend it.' },
      });
      expect(results.find(({ ok }) => ok)?.clusters).toEqual([{ id: DUBLIN.id, target: DUBLIN }]);
    },
  );

  it('makes a cluster that cannot be described a problem of its own', async () => {
    const reader = readerOf({
      names: ['dublin', 'cork'],
      async describeCluster(_, name) {
        if (name === 'cork') throw awsError('denied', 'eks:DescribeCluster cork');
        return eksCluster();
      },
    });
    const [result] = await discover([discovery()], reader);
    expect(result?.ok).toBe(true);
    expect(result?.clusters).toContainEqual({ id: DUBLIN.id, target: DUBLIN });
    expect(result?.clusters).toContainEqual({
      id: '111122223333/eu-central-1/cork',
      unread: true,
      problem: { kind: 'denied', object: 'eks:DescribeCluster cork', message: 'it failed', remedy: 'Mend it.' },
    });
  });

  it('takes a cluster that was deleted meanwhile as one that is not there', async () => {
    const reader = readerOf({
      async describeCluster() {
        throw awsError('not-found', 'eks:DescribeCluster dublin');
      },
    });
    expect(await discover([discovery()], reader)).toEqual([{ source: SELF, ok: true, clusters: [] }]);
  });

  it('survives a bug in one source', async () => {
    const reader = readerOf({
      async *listClusters() {
        yield ['dublin'];
        throw new TypeError('oops');
      },
    });
    const [result] = await discover([discovery()], reader);
    expect(result).toMatchObject({ ok: false, problem: { kind: 'bug', message: 'TypeError: oops' } });
  });

  it.each([
    ['a name that is none', [['../etc']]],
    [
      'more names than an account can have',
      Array.from({ length: 101 }, (_, page) => Array.from({ length: 100 }, (__, n) => `c${page}-${n}`)),
    ],
  ])('refuses a list with %s', async (_, pages) => {
    const reader = readerOf({
      async *listClusters() {
        yield* pages;
      },
    });
    const [result] = await discover([discovery()], reader);
    expect(result).toMatchObject({ ok: false, problem: { kind: 'invalid' } });
  });

  it('describes eight clusters of a source at once, not more', async () => {
    let running = 0;
    let most = 0;
    const names = Array.from({ length: 40 }, (_, n) => `c${n}`);
    const reader = readerOf({
      names,
      async describeCluster(_, name) {
        running += 1;
        most = Math.max(most, running);
        await new Promise(setImmediate);
        running -= 1;
        return eksCluster({ name });
      },
    });
    const [result] = await discover([discovery()], reader);
    expect(most).toBe(8);
    expect(result?.clusters).toHaveLength(40);
  });

  describe('when the time is over', () => {
    const known = ['a', 'b', 'c', 'd'].map((name, age) =>
      registered(`111122223333/eu-central-1/${name}`, { target: DUBLIN, source: SELF, seenAt: at(-age * MINUTE) }),
    );

    it('describes unknown clusters first, then those seen longest ago', async () => {
      const described: string[] = [];
      const reader = readerOf({ names: ['a', 'b', 'new', 'c', 'd'] }, described);
      await discover([discovery()], reader, { previous: registry(...known) });
      expect(described).toEqual(['new', 'd', 'c', 'b', 'a']);
    });

    it('keeps what was described, and is complete when the rest is known', async () => {
      const controller = new AbortController();
      const reader = abortingAfter(1, controller, ['a', 'b', 'new', 'c', 'd']);
      const [result] = await discover([discovery()], reader, { previous: registry(...known) }, controller.signal);
      expect(result?.ok).toBe(true);
      expect(result?.clusters?.map(({ id, unread, problem }) => [id.at(-1), unread, problem])).toEqual(
        expect.arrayContaining([
          ['w', undefined, undefined],
          ...['a', 'b', 'c', 'd'].map((name) => [name, true, undefined]),
        ]),
      );
    });

    it('is unfinished when a cluster is not known yet', async () => {
      const controller = new AbortController();
      const reader = abortingAfter(1, controller, ['x', 'y']);
      const [result] = await discover([discovery()], reader, {}, controller.signal);
      expect(result).toMatchObject({ ok: false, problem: { kind: 'unfinished', object: SELF } });
      expect(result?.clusters).toHaveLength(2);
      expect(result?.clusters?.filter(({ target }) => target !== undefined)).toHaveLength(1);
      expect(result?.clusters).toContainEqual(
        expect.objectContaining({ unread: true, problem: expect.objectContaining({ kind: 'unfinished' }) }),
      );
    });

    it('is unfinished when it was not even listed', async () => {
      const controller = new AbortController();
      const reader = readerOf({
        async *listClusters(scope) {
          controller.abort();
          yield ['dublin'];
          throw awsError('aborted', `eks:ListClusters in ${scope.account}`);
        },
      });
      const [result] = await discover([discovery()], reader, {}, controller.signal);
      expect(result).toMatchObject({ ok: false, problem: { kind: 'unfinished', object: SELF } });
    });
  });
});

async function discover(
  entries: readonly EksDiscovery[],
  reader: EksReader,
  options: DiscoverOptions = {},
  signal: AbortSignal = new AbortController().signal,
): Promise<readonly SourceResult[]> {
  const results = [];
  for await (const result of discoverEks(entries, HUB, [], reader, signal, options)) results.push(result);
  return results;
}

function readerOf(
  {
    names = ['dublin'],
    cluster,
    ...calls
  }: Partial<EksReader> & { readonly names?: readonly string[]; readonly cluster?: EksCluster },
  described: string[] = [],
): EksReader {
  return {
    async *listClusters() {
      yield names;
    },
    async describeCluster(_, name) {
      described.push(name);
      return cluster ?? eksCluster({ name });
    },
    ...calls,
  };
}

/** The signal aborts during the call after so many. */
function abortingAfter(calls: number, controller: AbortController, names: readonly string[]): EksReader {
  let left = calls;
  return readerOf({
    names,
    async describeCluster(_, name) {
      left -= 1;
      if (left >= 0) return eksCluster({ name });
      controller.abort();
      throw awsError('aborted', `eks:DescribeCluster ${name}`);
    },
  });
}

function awsError(kind: AwsErrorKind, object: string): AwsError {
  return new AwsError({ kind, object, problem: 'it failed', remedy: 'Mend it.' });
}

function idsOf({ clusters = [] }: SourceResult): readonly string[] {
  return clusters.map(({ id }) => id);
}
