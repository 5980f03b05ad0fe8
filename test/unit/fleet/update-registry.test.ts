import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseRegistry, type Registry } from '../../../lambdas/contracts/registry.ts';
import type { FoundCluster, SourceResult } from '../../../lambdas/fleet/discover.ts';
import { dueSources, updateRegistry } from '../../../lambdas/fleet/update-registry.ts';
import { anyTarget } from './arbitraries.ts';
import { at, DAY, DUBLIN, MINUTE, NOW, PARIS, TROUBLE } from './values.ts';

const SOURCE = 'eks 111122223333/eu-central-1';
const CORK: FoundCluster = {
  id: '111122223333/eu-central-1/cork',
  target: { ...DUBLIN, id: '111122223333/eu-central-1/cork' },
};
const FOUND: FoundCluster = { id: DUBLIN.id, target: DUBLIN };

describe('updateRegistry', () => {
  it('begins with what was found', () => {
    const after = updateRegistry(undefined, [ok(FOUND, CORK)], NOW);
    expect(after).toEqual({
      version: 1,
      writtenAt: at(),
      rebuiltAt: at(),
      sources: { [SOURCE]: { triedAt: at(), readAt: at() } },
      clusters: {
        [CORK.id]: { ...CORK, source: SOURCE, foundAt: at(), seenAt: at() },
        [DUBLIN.id]: { ...FOUND, source: SOURCE, foundAt: at(), seenAt: at() },
      },
    });
    expect(Object.keys(after.clusters)).toEqual([CORK.id, DUBLIN.id]);
  });

  it('keeps when a cluster was found, and takes all else as it is now', () => {
    const target = { ...DUBLIN, lane: 'corp' };
    const after = steps([ok(FOUND)], [ok({ id: DUBLIN.id, target })]);
    expect(after.clusters[DUBLIN.id]).toEqual({
      id: DUBLIN.id,
      source: SOURCE,
      target,
      foundAt: at(),
      seenAt: at(MINUTE),
    });
  });

  it('keeps the clusters of a source that failed, and its last good time', () => {
    const after = steps([ok(FOUND, CORK)], [failed()]);
    expect(Object.values(after.clusters).map(({ seenAt, target }) => [seenAt, target !== undefined])).toEqual([
      [at(), true],
      [at(), true],
    ]);
    expect(after.sources[SOURCE]).toEqual({ triedAt: at(MINUTE), readAt: at(), problem: TROUBLE });
  });

  it('takes what a source found before it failed, and takes no other as missing', () => {
    const after = steps([ok(FOUND)], [failed(CORK)]);
    expect(Object.keys(after.clusters)).toEqual([CORK.id, DUBLIN.id]);
    expect(after.clusters[DUBLIN.id]?.missingSince).toBeUndefined();
  });

  it('forgets the problem of a source that can be read again', () => {
    expect(steps([failed()], [ok()]).sources[SOURCE]).toEqual({ triedAt: at(MINUTE), readAt: at(MINUTE) });
  });

  it('keeps the target of a cluster that could not be described, with the problem', () => {
    const after = steps([ok(FOUND)], [ok({ id: DUBLIN.id, unread: true, problem: TROUBLE })]);
    expect(after.clusters[DUBLIN.id]).toMatchObject({ target: DUBLIN, problem: TROUBLE, seenAt: at() });
    const again = updateRegistry(after, [ok({ id: DUBLIN.id, unread: true })], NOW + 2 * MINUTE);
    expect(again.clusters[DUBLIN.id]).toEqual(after.clusters[DUBLIN.id]);
  });

  it('takes a cluster that could not be described the first time for seen now', () => {
    const after = steps([ok({ id: DUBLIN.id, unread: true, problem: TROUBLE })]);
    expect(after.clusters[DUBLIN.id]).toMatchObject({ foundAt: at(), seenAt: at() });
  });

  it('drops the target of a cluster that is found unusable', () => {
    const after = steps([ok(FOUND)], [ok({ id: DUBLIN.id, problem: TROUBLE })]);
    expect(after.clusters[DUBLIN.id]?.target).toBeUndefined();
    expect(after.clusters[DUBLIN.id]?.problem).toEqual(TROUBLE);
  });

  it.each([
    ['at once', 0, true, true],
    ['within the hour', 60 * MINUTE - 1, true, true],
    ['after an hour', 60 * MINUTE, true, false],
    ['within 14 days', 14 * DAY - 1, true, false],
    ['after 14 days', 14 * DAY, false, false],
  ])('%s a missing cluster is known: %3$s, and swept: %4$s', (_, age, known, swept) => {
    const missing = steps([ok(FOUND, CORK)], [ok(CORK)]);
    // Time passes although its source cannot be read.
    const { clusters } = updateRegistry(missing, [failed()], NOW + MINUTE + age);
    expect([DUBLIN.id in clusters, clusters[DUBLIN.id]?.target !== undefined]).toEqual([known, swept]);
  });

  it('says since when a cluster is missing, and until when it says so', () => {
    const missing = steps([ok(FOUND)], [ok()]);
    expect(missing.clusters[DUBLIN.id]).toMatchObject({
      missingSince: at(MINUTE),
      problem: { kind: 'missing', object: `cluster ${DUBLIN.id}`, remedy: expect.stringContaining('on 2026-12-05,') },
    });
  });

  it('keeps since when a cluster is missing, until it is seen again', () => {
    const missing = steps([ok(FOUND)], [ok()], [ok()]);
    expect(missing.clusters[DUBLIN.id]?.missingSince).toBe(at(MINUTE));
    const unread = updateRegistry(missing, [ok({ id: DUBLIN.id, unread: true })], NOW + 3 * MINUTE);
    expect(unread.clusters[DUBLIN.id]).toEqual({ ...FOUND, source: SOURCE, foundAt: at(), seenAt: at() });
  });

  it('drops at once what somebody took out of fleet.yaml', () => {
    const listed: SourceResult = { source: 'fleet.yaml', ok: true, clusters: [{ id: 'paris', target: PARIS }] };
    const before = updateRegistry(undefined, [ok(FOUND, CORK), listed], NOW);
    const unlisted = updateRegistry(before, [{ ...listed, clusters: [] }], NOW);
    expect(Object.keys(unlisted.clusters)).toEqual([CORK.id, DUBLIN.id]);
    const unwanted = updateRegistry(before, [ok(CORK, { id: DUBLIN.id, unwanted: true })], NOW);
    expect(Object.keys(unwanted.clusters)).toEqual([CORK.id, 'paris']);
    const unasked = updateRegistry(before, [], NOW, ['fleet.yaml']);
    expect([Object.keys(unasked.clusters), Object.keys(unasked.sources)]).toEqual([['paris'], ['fleet.yaml']]);
    expect(Object.keys(updateRegistry(before, [], NOW).clusters)).toHaveLength(3);
  });

  it('takes a cluster whose tags no longer select it as missing, and says why', () => {
    const untagged = { id: DUBLIN.id, untagged: true } as const;
    const after = steps([ok(FOUND)], [ok(untagged)], [ok(untagged)]);
    expect(after.clusters[DUBLIN.id]).toMatchObject({
      target: DUBLIN,
      missingSince: at(MINUTE),
      problem: { kind: 'missing', message: expect.stringContaining('its tags no longer select it') },
    });
    const unread = updateRegistry(after, [ok({ id: DUBLIN.id, unread: true })], NOW + 3 * MINUTE);
    expect(unread.clusters[DUBLIN.id]?.missingSince).toBe(at(MINUTE));
    const later = updateRegistry(unread, [ok(untagged)], NOW + 61 * MINUTE);
    expect(later.clusters[DUBLIN.id]?.target).toBeUndefined();
    expect(later.clusters[DUBLIN.id]?.problem?.message).toContain('tags');
    expect(updateRegistry(later, [ok(untagged)], NOW + 15 * DAY).clusters).toEqual({});
    const gone = updateRegistry(later, [ok()], NOW + 62 * MINUTE).clusters[DUBLIN.id];
    expect([gone?.missingSince, gone?.problem?.message]).toEqual([
      at(MINUTE),
      expect.stringContaining('has not shown it'),
    ]);
    expect(updateRegistry(after, [ok(FOUND)], NOW + 3 * MINUTE).clusters[DUBLIN.id]).toEqual({
      ...FOUND,
      source: SOURCE,
      foundAt: at(),
      seenAt: at(3 * MINUTE),
    });
  });

  it('knows nothing of a cluster that its tags never selected', () => {
    const untagged = { id: DUBLIN.id, untagged: true } as const;
    expect(steps([ok(untagged)]).clusters).toEqual({});
    expect(steps([ok({ id: DUBLIN.id, problem: TROUBLE })], [ok(untagged)]).clusters).toEqual({});
  });

  it.each<[string, FoundCluster]>([
    ['changes', { id: DUBLIN.id, target: { ...DUBLIN, lane: 'corp' } }],
    ['drops', { id: DUBLIN.id, unwanted: true }],
    ['hides', { id: DUBLIN.id, untagged: true }],
  ])('leaves a cluster to the source that found it first when another one %s it, and says so', (_, found) => {
    const other: SourceResult = { source: 'cluster-api 111122223333', ok: true, clusters: [found] };
    const before = steps([ok(FOUND)]);
    const after = updateRegistry(before, [other], NOW);
    expect(after.clusters).toEqual(before.clusters);
    expect(after.sources[other.source]?.problem).toMatchObject({
      kind: 'repeated',
      message: expect.stringContaining(DUBLIN.id),
    });
    // In one go the first one counts too.
    expect(updateRegistry(undefined, [ok(FOUND), other], NOW).clusters).toEqual(before.clusters);
  });

  it('takes what fleet.yaml says, whoever the registry says found it first', () => {
    const damaged = updateRegistry(undefined, [ok({ id: 'paris', target: { ...DUBLIN, id: 'paris' } })], NOW);
    const listed: SourceResult = { source: 'fleet.yaml', ok: true, clusters: [{ id: 'paris', target: PARIS }] };
    expect(updateRegistry(damaged, [listed], NOW).clusters['paris']).toMatchObject({
      source: 'fleet.yaml',
      target: PARIS,
    });
  });

  it('makes problems short and harmless', () => {
    const problem = { ...TROUBLE, message: `\u0007${'x'.repeat(10_000)}` };
    const after = updateRegistry(undefined, [{ source: SOURCE, ok: false, problem }], NOW);
    expect(after.sources[SOURCE]?.problem?.message).toMatch(/^\\u\{7\}x{599}…$/);
  });

  it('does not change what it is given', () => {
    const before = deepFreeze(updateRegistry(undefined, [ok(FOUND)], NOW));
    expect(() => updateRegistry(before, [ok(CORK)], NOW + DAY)).not.toThrow();
  });

  it('writes what parseRegistry reads', () => {
    const found = anyTarget.chain((target) =>
      fc.constantFrom<FoundCluster>(
        { id: target.id, target },
        { id: target.id, problem: { ...TROUBLE, remedy: '\u202e'.repeat(3_000) } },
        { id: target.id, target, managesClusters: ['eksa-system'] },
      ),
    );
    const result = fc.array(found, { maxLength: 5 }).map((clusters) => ok(...clusters));
    fc.assert(
      fc.property(fc.array(result, { maxLength: 3 }), (results) => {
        const written = results.reduce<Registry>(
          (before, next, n) => updateRegistry(before, [next], NOW + n * 61 * MINUTE),
          updateRegistry(undefined, [], NOW),
        );
        expect(parseRegistry(JSON.parse(JSON.stringify(written)), NOW + DAY)).toEqual(written);
      }),
      { seed: 11, numRuns: 100 },
    );
  });

  it('never loses a cluster to a source that fails', () => {
    const calls = fc.array(fc.tuple(fc.constantFrom('ok', 'failed'), fc.subarray([FOUND, CORK])), { maxLength: 12 });
    fc.assert(
      fc.property(calls, (all) => {
        let before = updateRegistry(undefined, [], NOW);
        for (const [n, [kind, clusters]] of all.entries()) {
          const result = kind === 'ok' ? ok(...clusters) : failed(...clusters);
          const after = updateRegistry(before, [result], NOW + n * MINUTE);
          const expected = new Set([...Object.keys(before.clusters), ...clusters.map(({ id }) => id)]);
          expect(new Set(Object.keys(after.clusters))).toEqual(expected);
          const untold = kind === 'failed' ? Object.values(after.clusters) : [];
          for (const { id, missingSince } of untold.filter(
            (cluster) => !clusters.some((found) => found.id === cluster.id),
          ))
            expect(missingSince).toBe(before.clusters[id]?.missingSince);
          before = after;
        }
      }),
      { seed: 12, numRuns: 200 },
    );
  });
});

describe('dueSources', () => {
  const read = updateRegistry(undefined, [ok()], NOW);
  const broken = updateRegistry(read, [failed()], NOW + 1);

  it('is due at once when it is new', () => {
    expect(dueSources(undefined, [SOURCE], NOW)).toEqual([SOURCE]);
    expect(dueSources(read, [SOURCE, 'constructor'], NOW)).toEqual(['constructor']);
  });

  it.each([
    ['a minute after it was read', read, MINUTE, false],
    ['less than nine and a half minutes after', read, 9.5 * MINUTE - 1, false],
    ['nine and a half minutes after, for ticks come early', read, 9.5 * MINUTE, true],
    ['less than one and a half minutes after it failed', broken, 1.5 * MINUTE, false],
    ['one and a half minutes after it failed', broken, 1.5 * MINUTE + 1, true],
    ['when it was read half a minute from now', read, -0.5 * MINUTE, false],
    ['when it was read in a time to come', read, -0.5 * MINUTE - 1, true],
  ])('%s: due is %4$s', (_, registry, elapsed, due) => {
    expect(dueSources(registry, [SOURCE], NOW + elapsed)).toEqual(due ? [SOURCE] : []);
  });
});

function ok(...clusters: readonly FoundCluster[]): SourceResult {
  return { source: SOURCE, ok: true, clusters };
}

function failed(...clusters: readonly FoundCluster[]): SourceResult {
  return { source: SOURCE, ok: false, problem: TROUBLE, clusters };
}

/** One update a minute. */
function steps(...all: readonly (readonly SourceResult[])[]): Registry {
  return all.reduce<Registry>(
    (before, results, minute) => updateRegistry(before, results, NOW + minute * MINUTE),
    updateRegistry(undefined, [], NOW),
  );
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    Object.values(value).forEach(deepFreeze);
    Object.freeze(value);
  }
  return value;
}
