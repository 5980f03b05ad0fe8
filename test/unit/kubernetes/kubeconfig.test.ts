import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { stringify } from 'yaml';
import {
  KubeconfigError,
  type LoadedKubeconfig,
  listContexts,
} from '../../../lambdas/kubernetes/kubeconfig-document.ts';
import { type LocalKubeconfigOptions, loadLocalKubeconfig } from '../../../lambdas/kubernetes/local-kubeconfig.ts';
import { loadSecretKubeconfig } from '../../../lambdas/kubernetes/secret-kubeconfig.ts';
import { createAuthority, type Keyed, TOKEN } from './tls-server.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

let ca: string;
let client: Keyed;
beforeAll(async () => {
  const authority = await createAuthority('cluster-ca');
  ca = authority.certificatePem;
  client = await authority.issue({ type: 'dns', value: 'client' });
});

/** Who wrote the kubeconfig: somebody else, or the person who runs the command. */
type KubeconfigSource =
  | { readonly origin: 'secret' }
  | ({ readonly origin: 'file'; readonly directory?: string } & LocalKubeconfigOptions);

async function loadKubeconfig(text: string, source: KubeconfigSource): Promise<LoadedKubeconfig> {
  if (source.origin === 'secret') return loadSecretKubeconfig(text);
  return loadLocalKubeconfig([{ text, directory: source.directory ?? '.', name: '' }], source);
}

type Fields = Readonly<Record<string, unknown>>;

function kubeconfig(cluster: Fields = {}, user: Fields = { token: TOKEN }, more: Fields = {}): string {
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'berlin',
        cluster: { server: 'https://10.0.0.1:6443', 'certificate-authority-data': base64(ca), ...cluster },
      },
    ],
    users: [{ name: 'sweeper', user }],
    contexts: [{ name: 'sweeper@berlin', context: { cluster: 'berlin', user: 'sweeper' } }],
    'current-context': 'sweeper@berlin',
    ...more,
  });
}

/** `where` of every problem; also makes sure that no secret is in the message. */
async function problems(text: string, source: KubeconfigSource): Promise<string[]> {
  const error: unknown = await loadKubeconfig(text, source).catch((reason: unknown) => reason);
  if (!(error instanceof KubeconfigError)) throw new Error('expected a KubeconfigError', { cause: error });
  for (const secret of [TOKEN, 'hunter2', base64(client.keyPem)]) {
    expect(`${error.message}${error.stack}`).not.toContain(secret);
  }
  for (const { problem, remedy } of error.problems) expect([problem, remedy].every((part) => part !== '')).toBe(true);
  return error.problems.map(({ where }) => where);
}

const SECRET: KubeconfigSource = { origin: 'secret' };
const FILE: KubeconfigSource = { origin: 'file' };

describe.each([SECRET, FILE])('from a $origin', (source) => {
  test('token', async () => {
    expect(await loadKubeconfig(kubeconfig({ 'tls-server-name': 'api.example.com' }), source)).toEqual({
      context: 'sweeper@berlin',
      cluster: 'berlin',
      server: 'https://10.0.0.1:6443',
      caPem: ca,
      tlsServerName: 'api.example.com',
      credentials: { kind: 'token', token: TOKEN },
    });
  });

  test.each(['\r\nset pwned 0 0 5\r\nhello\r\n', 'a b', '*.example', 'fe80::1%eth0', '\u0000'])(
    'sends nothing else as the name of the server: %j',
    async (name) => {
      expect(await problems(kubeconfig({ 'tls-server-name': name }), source)).toEqual([
        'clusters[0].cluster.tls-server-name',
      ]);
    },
  );

  test('says 20 problems at once', async () => {
    expect(await problems(`users: [${'1,'.repeat(300)}]`, source)).toHaveLength(20);
  });

  test('client certificate, which wins over a token', async () => {
    const user = {
      'client-certificate-data': base64(client.certificatePem),
      'client-key-data': base64(client.keyPem),
      token: TOKEN,
    };
    expect((await loadKubeconfig(kubeconfig({}, user), source)).credentials).toEqual({
      kind: 'certificate',
      ...client,
    });
  });

  test.each<[string, () => string, string[]]>([
    ['not YAML', () => `users: [${TOKEN}`, ['kubeconfig']],
    ['an alias', () => `a: &a ${TOKEN}\nb: *a`, ['kubeconfig']],
    ['nesting without end', () => '['.repeat(100_000), ['kubeconfig']],
    ['two documents', () => 'a: 1\n---\na: 1', ['kubeconfig']],
    ['the same key twice', () => `users: []\nusers: ${TOKEN}`, ['kubeconfig']],
    ['a token in a tag', () => `a: !${TOKEN} 1`, ['kubeconfig']],
    ['text', () => TOKEN, ['kubeconfig']],
    ['empty', () => '', ['kubeconfig']],
    ['another kind of object', () => 'kind: Secret', ['contexts']],
    ['no users', () => kubeconfig({}, {}, { users: null }), ['contexts[0].context.user']],
    ['a user without a name', () => kubeconfig({}, {}, { users: [{ user: {} }] }), ['users[0].name']],
    ['lists of text', () => kubeconfig({}, {}, { clusters: TOKEN }), ['clusters']],
    ['a user of text', () => kubeconfig({}, {}, { users: [{ name: 'sweeper', user: TOKEN }] }), ['users[0].user']],
    ['a number as token', () => kubeconfig({}, { token: 1 }), ['users[0].user.token']],
    ['no current context', () => kubeconfig({}, {}, { 'current-context': '' }), ['contexts']],
    ['an unknown current context', () => kubeconfig({}, {}, { 'current-context': 'x' }), ['contexts']],
    [
      'a context that leads nowhere',
      () => kubeconfig({}, {}, { contexts: [{ name: 'sweeper@berlin', context: { cluster: 'x' } }] }),
      ['contexts[0].context.cluster'],
    ],
    ['http', () => kubeconfig({ server: 'http://10.0.0.1' }), ['clusters[0].cluster.server']],
    ['no server', () => kubeconfig({ server: null }), ['clusters[0].cluster.server']],
    ['a password in the server', () => kubeconfig({ server: 'https://u:hunter2@h' }), ['clusters[0].cluster.server']],
    ['no credentials', () => kubeconfig({}, {}), ['users[0].user']],
    ['an empty token', () => kubeconfig({}, { token: ' ' }), ['users[0].user']],
    [
      'a certificate without its key',
      () => kubeconfig({}, { 'client-certificate-data': base64(client.certificatePem) }),
      ['users[0].user'],
    ],
  ])('refused: %s', async (_name, text, expected) => {
    expect((await problems(text(), source)).toSorted()).toEqual(expected.toSorted());
  });

  test('everything that is refused is said at once', async () => {
    const cluster = { server: 'http://h', 'insecure-skip-tls-verify': true, 'proxy-url': 'http://p' };
    const others = { as: 'admin', 'as-uid': '1', 'as-groups': ['system:masters'], 'as-user-extra': { a: ['b'] } };
    const user = { 'auth-provider': { name: 'oidc' }, username: 'u', password: 'hunter2', ...others };
    expect(await problems(kubeconfig(cluster, { token: TOKEN, ...user }), source)).toEqual([
      ...Object.keys(cluster).map((field) => `clusters[0].cluster.${field}`),
      ...Object.keys(user).map((field) => `users[0].user.${field}`),
    ]);
  });

  test('no mistake makes an error say a secret', async () => {
    const text = kubeconfig({}, { token: TOKEN, 'client-key-data': base64(client.keyPem) });
    const mark = fc.constantFrom('"', "'", '{', '[', '*', '!', '&', ': ', '- ', '\n', '\t', '#', '|', '\0');
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(fc.nat(text.length), mark), { minLength: 1, maxLength: 3 }), async (marks) => {
        const wrong = marks.reduce((before, [at, one]) => before.slice(0, at) + one + before.slice(at), text);
        const places = loadKubeconfig(wrong, source).then(
          () => ['none'],
          async () => problems(wrong, source),
        );
        expect((await places).length).toBeGreaterThan(0);
      }),
    );
  });

  test('an error in YAML has its line', async () => {
    await expect(loadKubeconfig(`kind: Config\n\ttoken: ${TOKEN}`, source)).rejects.toThrow(
      'kubeconfig: not valid YAML without aliases, line 2. Write it again: kubectl config view',
    );
  });

  test('fields that say nothing, and entries that are not selected, are not refused', async () => {
    const other = { name: 'other', user: { exec: { command: 'x' }, 'auth-provider': { name: 'gcp' } } };
    const user = { token: TOKEN, exec: null, username: '', 'auth-provider': null };
    const text = kubeconfig({ 'insecure-skip-tls-verify': false, 'proxy-url': '' }, undefined, {
      users: [{ name: 'sweeper', user }, other],
    });
    expect((await loadKubeconfig(text, source)).credentials).toEqual({ kind: 'token', token: TOKEN });
  });

  test('a CA that is no certificate', async () => {
    expect(await problems(kubeconfig({ 'certificate-authority-data': base64('x') }), source)).toHaveLength(1);
  });
});

describe('from a secret', () => {
  test('files and commands are refused', async () => {
    const files = { 'client-certificate': 'c.crt', 'client-key': 'c.key', tokenFile: '/run/token' };
    const text = kubeconfig({ 'certificate-authority': '/etc/ca.crt' }, { ...files, exec: { command: 'touch' } });
    expect(await problems(text, SECRET)).toEqual([
      'clusters[0].cluster.certificate-authority',
      ...Object.keys(files).map((field) => `users[0].user.${field}`),
      'users[0].user.exec',
    ]);
  });

  test.each([
    ['missing', undefined],
    ['of a kind that is refused', [{ name: 'sweeper', user: { exec: { command: 'aws-iam-authenticator' } } }]],
    ['an administrator', [{ name: 'sweeper', user: { token: 'of an administrator' } }]],
  ])('credentials of the caller take the place of users that are %s', (_, users) => {
    const credentials = { kind: 'token', token: async () => TOKEN } as const;
    const text = kubeconfig({}, undefined, { users });
    expect(loadSecretKubeconfig(text, credentials)).toMatchObject({ server: 'https://10.0.0.1:6443', credentials });
  });

  test('credentials of the caller change nothing about the server', () => {
    const credentials = { kind: 'token', token: TOKEN } as const;
    const text = kubeconfig({ 'insecure-skip-tls-verify': true, 'certificate-authority': '/etc/ca.crt' });
    expect(() => loadSecretKubeconfig(text, credentials)).toThrow(/TLS must be verified[\s\S]*must not refer to files/);
  });

  test('data that is not base64', async () => {
    const text = kubeconfig({ 'certificate-authority-data': '%%%' }, { token: TOKEN, 'client-key-data': '-----' });
    expect(await problems(text, SECRET)).toEqual([
      'clusters[0].cluster.certificate-authority-data',
      'users[0].user.client-key-data',
    ]);
  });

  test.each(['__proto__', 'constructor', 'toString'])('a name or key is like all others: %s', (name) => {
    const text = JSON.stringify({
      clusters: [{ name, cluster: { server: 'https://10.0.0.1', PROTO: { server: 'https://evil' } } }],
      users: [{ name, user: { token: TOKEN, PROTO: { exec: {} } } }],
      contexts: [{ name, context: { cluster: name, user: name } }],
      'current-context': name,
      PROTO: { polluted: true },
    }).replaceAll('PROTO', '__proto__');
    expect(loadSecretKubeconfig(text)).toMatchObject({ context: name, cluster: name, server: 'https://10.0.0.1' });
    expect(() => loadSecretKubeconfig(text.replace('"server"', '"x"'))).toThrow(/cluster\.server/);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    expect(() => loadSecretKubeconfig(kubeconfig({}, {}, { 'current-context': name }))).toThrow(KubeconfigError);
  });

  // js-yaml takes 0.3 s at most; `yaml` takes 3 s for the braces, and brackets can end its process.
  test.each('[@{@- @? @%A\n@---\n@\n@&a @"" @!t @1,@{a: @}@"\n@|\n@*a @ x'.split('@'))(
    '64 KiB of anything are read in time: %j',
    async (unit) => {
      const text = `a: ${unit.repeat(64 * 1024)}`;
      await expect(loadKubeconfig(text, SECRET)).rejects.toThrow('it is longer than 65536 characters');
      const before = process.cpuUsage();
      await problems(text.slice(0, 64 * 1024), SECRET);
      expect(process.cpuUsage(before).user).toBeLessThan(1_000_000);
    },
  );
});

async function directory(files: Readonly<Record<string, string>>): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'certmarshal-kubeconfig-'));
  onTestFinished(async () => rm(path, { recursive: true }));
  for (const [name, content] of Object.entries(files)) await writeFile(join(path, name), content, { mode: 0o755 });
  return path;
}

/** A command that prints this; a Node.js program, so that it runs wherever the tests do. */
const command = (program: string): Fields => ({
  exec: { apiVersion: 'client.authentication.k8s.io/v1', command: process.execPath, args: ['-e', program], env: null },
});
const prints = (status: Fields): Fields =>
  command(`console.log(${JSON.stringify(JSON.stringify({ kind: 'ExecCredential', status }))})`);

describe('from a file', () => {
  test('data counts more than a file, a token file more than a token and exec, as in kubectl', async () => {
    const path = await directory({ token: `${TOKEN}\n` });
    const text = kubeconfig(
      { 'certificate-authority': 'missing.crt' },
      { token: 'old', tokenFile: 'token', exec: { command: 'touch' } },
    );
    expect(await loadKubeconfig(text, { ...FILE, directory: path })).toMatchObject({
      caPem: ca,
      credentials: { kind: 'token', token: TOKEN },
    });
  });

  test('a file that is not there', async () => {
    await expect(loadKubeconfig(kubeconfig({}, { tokenFile: '/nowhere/token' }), FILE)).rejects.toThrow(
      /ENOENT.*\/nowhere\/token/,
    );
  });

  test('exec needs permission', async () => {
    await expect(loadKubeconfig(kubeconfig({}, prints({ token: TOKEN })), FILE)).rejects.toThrow(/pass --allow-exec/);
  });

  const allowed: KubeconfigSource = { ...FILE, allowExec: true };

  test('exec: a client certificate', async () => {
    const user = prints({ clientCertificateData: client.certificatePem, clientKeyData: client.keyPem });
    expect((await loadKubeconfig(kubeconfig({}, user), allowed)).credentials).toEqual({
      kind: 'certificate',
      ...client,
    });
  });

  test('exec: the command is told which version to answer', async () => {
    const user = command(
      'const { apiVersion } = JSON.parse(process.env.KUBERNETES_EXEC_INFO);' +
        'console.log(JSON.stringify({ status: { token: apiVersion } }))',
    );
    expect((await loadKubeconfig(kubeconfig({}, user), allowed)).credentials).toMatchObject({
      token: 'client.authentication.k8s.io/v1',
    });
  });

  test.each<[string, () => Fields, RegExp]>([
    [
      'fails',
      () => command('console.error("session\\u001b[1m expired"); process.exit(1)'),
      /failed \(session\[1m expired\)/,
    ],
    ['fails silently', () => command(`process.exit(3, '${TOKEN}')`), /failed \(3\)/],
    ['prints a token that is no JSON', () => command(`console.log("${TOKEN}")`), /did not write an ExecCredential/],
    ['prints another object', () => command(`console.log('{"token":"${TOKEN}"}')`), /did not write an ExecCredential/],
    ['gives nothing', () => prints({}), /has no credentials/],
    ['is gone', () => ({ exec: { command: 'no-such-command-here' } }), /: there is no command no-such-command-here\. /],
    ['names none', () => ({ exec: {} }), /exec.command: it is not of the type string/],
  ])('exec: the command %s', async (_name, user, says) => {
    const text = kubeconfig({}, user());
    await expect(loadKubeconfig(text, allowed)).rejects.toThrow(says);
    await problems(text, allowed);
  });

  test('exec: a command that never ends is ended', async () => {
    const user = command('setTimeout(() => {}, 60_000)');
    await expect(loadKubeconfig(kubeconfig({}, user), { ...allowed, execTimeoutMs: 50 })).rejects.toThrow(
      /no credentials within 50 ms/,
    );
  });
});

// Source: client-go, tools/clientcmd/loader.go, ClientConfigLoadingRules.Load, and loader_test.go.
describe('from several files', () => {
  const file = (name: string, document: Fields, at = '.') => ({ text: stringify(document), directory: at, name });
  const cluster = (name: string, server: string, more: Fields = {}) => ({ name, cluster: { server, ...more } });
  const user = (name: string, token: string) => ({ name, user: { token } });
  const context = (name: string, at: string, as: string) => ({ name, context: { cluster: at, user: as } });

  const first = file('a.yaml', {
    clusters: [cluster('red', 'https://red-a.example')],
    users: [user('red', 'red-a')],
    contexts: [context('red', 'red', 'red')],
  });
  const second = file('b.yaml', {
    'current-context': 'blue',
    clusters: [
      cluster('red', 'https://red-b.example', { 'tls-server-name': 'b' }),
      cluster('blue', 'https://blue.example'),
    ],
    users: [user('red', 'red-b'), user('blue', 'blue-b')],
    contexts: [context('red', 'blue', 'blue'), context('blue', 'blue', 'red')],
  });

  test('the first entry of a name counts with all that is in it, and the first current-context', async () => {
    const third = file('c.yaml', { 'current-context': 'red' });
    expect(await loadLocalKubeconfig([first, second, third])).toMatchObject({
      context: 'blue',
      server: 'https://blue.example',
      credentials: { token: 'red-a' },
    });
    const red = await loadLocalKubeconfig([first, second], { context: 'red' });
    expect(red).toMatchObject({ server: 'https://red-a.example', credentials: { token: 'red-a' } });
    expect(red.tlsServerName).toBeUndefined();
    expect(await loadLocalKubeconfig([second, first], { context: 'red' })).toMatchObject({
      server: 'https://blue.example',
      credentials: { token: 'blue-b' },
    });
  });

  test('lists may be spread over them, and one of them may be empty', async () => {
    const parts = Object.entries({
      clusters: [cluster('c', 'https://c.example')],
      users: [user('u', 't')],
      contexts: [context('x', 'c', 'u')],
    }).map(([list, entries]) => file(`${list}.yaml`, { [list]: entries }));
    const empty = { text: '', directory: '.', name: 'empty.yaml' };
    expect(await loadLocalKubeconfig([empty, ...parts], { context: 'x' })).toMatchObject({
      server: 'https://c.example',
    });
    await expect(loadLocalKubeconfig(parts.slice(1), { context: 'x' })).rejects.toThrow(
      'contexts.yaml: contexts[0].context.cluster: there is no cluster "c". Write it again',
    );
  });

  test('relative paths start at the file that they are in', async () => {
    const one = await directory({ 'ca.crt': ca });
    const two = await directory({ 'ca.crt': 'none', 'c.crt': client.certificatePem, 'c.key': client.keyPem });
    const content = { 'client-certificate': 'c.crt', 'client-key': join(two, 'c.key') };
    const files = [
      file('one/config', { clusters: [cluster('c', 'https://c.example', { 'certificate-authority': 'ca.crt' })] }, one),
      file('two/config', { users: [{ name: 'u', user: content }], contexts: [context('x', 'c', 'u')] }, two),
    ];
    expect(await loadLocalKubeconfig(files, { context: 'x' })).toMatchObject({
      caPem: ca,
      credentials: { kind: 'certificate', ...client },
    });
  });

  test('what is wrong names the file', async () => {
    await expect(loadLocalKubeconfig([first, { ...second, text: '{' }])).rejects.toThrow(
      'b.yaml: kubeconfig: not valid YAML',
    );
    await expect(loadLocalKubeconfig([first, file('b.yaml', { users: [{ name: '' }] })])).rejects.toThrow(
      'b.yaml: users[0].name: it is empty',
    );
  });

  test('every context is listed once, the current one first', () => {
    const dangling = file('c.yaml', { contexts: [context('lost', 'nowhere', 'u')] });
    expect(listContexts([first, second, dangling])).toMatchObject([
      { context: 'blue', cluster: 'blue', server: 'https://blue.example' },
      { context: 'red', cluster: 'red', server: 'https://red-a.example' },
      { context: 'lost', cluster: undefined, server: undefined },
    ]);
  });
});
