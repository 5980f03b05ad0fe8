import { describe, expect, test } from 'vitest';
import { KubeconfigError } from '../../../lambdas/kubernetes/kubeconfig-document.ts';
import { loadSecretKubeconfig } from '../../../lambdas/kubernetes/secret-kubeconfig.ts';

// A kubeconfig from a secret may have any keys: those that mean something to JavaScript are keys like all others.

const FILE = {
  clusters: [{ name: 'berlin', cluster: { server: 'https://10.0.0.1' } }],
  users: [{ name: 'sweeper', user: { token: 'test-token' } }],
  contexts: [{ name: 'a', context: { cluster: 'berlin', user: 'sweeper' } }],
  'current-context': 'a',
};

/** JSON, which is YAML; an object literal could not have the key `__proto__`. */
const textOf = (file: object): string => JSON.stringify(file).replaceAll('PROTO', '__proto__');

describe('keys that mean something to JavaScript', () => {
  test.each([
    ['in the file', { PROTO: { polluted: true }, ...FILE }],
    [
      'in a cluster',
      { ...FILE, clusters: [{ name: 'berlin', cluster: { PROTO: { polluted: true }, server: 'https://10.0.0.1' } }] },
    ],
    ['in a user', { ...FILE, users: [{ name: 'sweeper', user: { PROTO: { polluted: true }, token: 'test-token' } }] }],
    ['as the constructor', { ...FILE, constructor: { prototype: { polluted: true } } }],
  ])('change no other object: %s', (_, file) => {
    expect(loadSecretKubeconfig(textOf(file))).toMatchObject({ server: 'https://10.0.0.1' });
    expect(Object.keys(Object.prototype)).toEqual([]);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  test.each(['PROTO', '"PROTO"', '!!str PROTO', '? PROTO\n  '])('change none as YAML has them: %s', (key) => {
    const text = textOf(FILE);
    const yaml = `${key.replace('PROTO', '__proto__')}: {polluted: true}\n${Object.entries(JSON.parse(text) as object)
      .map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
      .join('\n')}`;
    expect(loadSecretKubeconfig(yaml)).toMatchObject({ server: 'https://10.0.0.1' });
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  test.each([
    [
      'a user that inherits its token',
      { ...FILE, users: [{ name: 'sweeper', user: { PROTO: { token: 'of another' } } }] },
    ],
    [
      'a cluster that inherits its server',
      { ...FILE, clusters: [{ name: 'berlin', cluster: { PROTO: { server: 'https://evil' } } }] },
    ],
    ['lists that the file inherits', { PROTO: FILE }],
  ])('give nothing to what has not got it: %s', (_, file) => {
    expect(() => loadSecretKubeconfig(textOf(file))).toThrow(KubeconfigError);
  });

  test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])('are names like all others: %s', (name) => {
    const named = {
      clusters: [{ name, cluster: { server: 'https://10.0.0.1' } }],
      users: [{ name, user: { token: 'test-token' } }],
      contexts: [{ name, context: { cluster: name, user: name } }],
      'current-context': name,
    };
    expect(loadSecretKubeconfig(JSON.stringify(named))).toMatchObject({ cluster: name, context: name });
    expect(() => loadSecretKubeconfig(JSON.stringify({ ...FILE, 'current-context': name }))).toThrow(KubeconfigError);
  });
});

test.each<[string, object]>([
  ['exec', { exec: { command: 'x' } }],
  ['auth-provider', { 'auth-provider': { name: 'x' } }],
  ['impersonation', { as: 'admin' }],
])('what is refused is refused also of a user that nobody selected: %s', (_, user) => {
  const file = { ...FILE, users: [...FILE.users, { name: 'other', user }] };
  expect(() => loadSecretKubeconfig(textOf(file))).toThrow(/^users\[1\]\.user\./);
});

test.each<[string, object]>([
  ['a proxy', { 'proxy-url': 'http://127.0.0.1' }],
  ['TLS that is not verified', { 'insecure-skip-tls-verify': true }],
])('what is refused is refused also of a cluster that nobody selected: %s', (_, cluster) => {
  const file = {
    ...FILE,
    clusters: [...FILE.clusters, { name: 'other', cluster: { server: 'https://o', ...cluster } }],
  };
  expect(() => loadSecretKubeconfig(textOf(file))).toThrow(/^clusters\[1\]\.cluster\./);
});
