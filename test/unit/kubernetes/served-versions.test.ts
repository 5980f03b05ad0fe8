import { expect, test } from 'vitest';
import { explainNotFound, servedVersions } from '../../../lambdas/kubernetes/served-versions.ts';
import { failure, fakeClient } from '../audit/sources/fake-cluster.ts';

const { signal } = new AbortController();
const NOT_FOUND = failure('not-found', 'the list');
const FORBIDDEN = failure('forbidden');
const versions = (...served: readonly unknown[]) => ({ versions: served.map((version) => ({ version })) });

const explained = async (answer: Parameters<typeof fakeClient>[0][string] | undefined) =>
  explainNotFound(NOT_FOUND, {
    client: fakeClient(answer === undefined ? {} : { '/apis/example.com': answer }),
    api: 'apis/example.com/v1alpha1',
    object: 'list examples',
    signal,
  });

test.each([
  ['the server has no such group', undefined],
  ['it has the version, without the kind', versions('v1beta1', 'v1alpha1')],
  ['it has none', versions()],
  ['it answers something else', { versions: 'v2' }],
])('a 404 stays one where %s', async (_, answer) => {
  expect(await explained(answer)).toBe(NOT_FOUND);
});

test.each([
  [['v1'], 'v1'],
  [['v2', 'v1', 'v1beta1', 'v1beta2'], 'v2, v1, v1beta1, v1beta2'],
  [['\u001b[2J', 7], '\\u{1b}[2J'],
] as const)('served in %j alone, the objects are there and cannot be read', async (served, shown) => {
  expect(await explained(versions(...served))).toMatchObject({
    kind: 'invalid',
    object: 'list examples',
    problem: `example.com is served in ${shown}, and not in v1alpha1`,
    remedy: 'Upgrade certmarshal: this one reads v1alpha1 and no newer version.',
  });
});

test('where nobody may ask for the versions, that is what is told', async () => {
  expect(await explained(FORBIDDEN)).toBe(FORBIDDEN);
  await expect(servedVersions(fakeClient({}), 'example.com', signal)).rejects.toMatchObject({ kind: 'not-found' });
});
