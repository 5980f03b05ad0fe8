import { expect, it, test } from 'vitest';
import { firstMade, namespacesOf, ownersCluster } from '../../../lambdas/rollout/eks-anywhere-owner.ts';
import { eksAnywhere, NAME } from './fixtures.ts';

const of = (...namespaces: readonly string[]) => namespaces.map((namespace) => ({ namespace }));

test.each([
  [[], undefined, 'none', undefined],
  [['a'], undefined, 'one', undefined],
  [['a', 'b'], undefined, 'contested', 'ambiguous'],
  [['a', 'b'], 'b', 'one', undefined],
  [['a', 'b'], 'c', 'none', 'missing'],
  [[], 'c', 'none', 'missing'],
  // A server that gives one twice.
  [['a', 'a'], 'a', 'contested', 'ambiguous'],
] as const)('of %j, and fleet.yaml says %s: %s', (namespaces, named, kind, problem) => {
  const found = ownersCluster(of(...namespaces), NAME, named);
  expect(found.kind).toBe(kind);
  expect(found.kind === 'one' ? undefined : found.problem?.kind).toBe(problem);
  expect(found.kind === 'one' ? found.cluster.namespace : 'none').toBe(kind === 'one' ? (named ?? 'a') : 'none');
});

it('names at most five namespaces, in their order, and nothing that a terminal reads', () => {
  expect(namespacesOf(of('g', 'f', 'e', 'd', 'c', 'b', 'a'))).toBe('a, b, c, d, e and 2 more');
  expect(namespacesOf(of('\u001b[2J'))).not.toContain('\u001b');
});

test('the one that was made first speaks, of one second the one that forbids', () => {
  const [owners, tenants] = [eksAnywhere({ mode: 'off' }), eksAnywhere({ namespace: 'a-tenant' })];
  const contested = ['default', 'a-tenant'];
  const firstOf = (a: number | undefined, b: number | undefined) =>
    firstMade([
      { ...owners, ...(a === undefined ? {} : { createdAt: a }) },
      { ...tenants, ...(b === undefined ? {} : { createdAt: b }) },
    ]);
  expect(firstOf(1, 2)).toEqual({ ...owners, createdAt: 1, contested });
  expect(firstOf(2, 1)).toMatchObject({ namespace: 'a-tenant', contested });
  expect(firstOf(1, 1)).toMatchObject({ namespace: 'default' });
  expect(firstMade([tenants, owners])).toMatchObject({ namespace: 'default' });
  expect(firstOf(1, undefined)).toMatchObject({ namespace: 'a-tenant' });
  expect(firstMade([tenants, { ...owners, createdAt: 1 }])).toMatchObject({ namespace: 'a-tenant' });
  expect(firstMade([])).toBeUndefined();
});
