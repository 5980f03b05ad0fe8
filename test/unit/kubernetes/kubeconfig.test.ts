import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { stringify } from 'yaml';
import { createKubernetesClient } from '../../../lambdas/kubernetes/client.ts';
import {
  FILE_LIMITS,
  KubeconfigError,
  type LoadedKubeconfig,
  listContexts,
} from '../../../lambdas/kubernetes/kubeconfig-document.ts';
import { type LocalKubeconfigOptions, loadLocalKubeconfig } from '../../../lambdas/kubernetes/local-kubeconfig.ts';
import { loadSecretKubeconfig } from '../../../lambdas/kubernetes/secret-kubeconfig.ts';
import { answer, createAuthority, type Keyed, startTlsServer, TOKEN } from './tls-server.ts';

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
  | { readonly origin: 'secret'; readonly context?: string }
  | ({ readonly origin: 'file'; readonly directory?: string } & LocalKubeconfigOptions);

async function loadKubeconfig(text: string, source: KubeconfigSource): Promise<LoadedKubeconfig> {
  if (source.origin === 'secret') return loadSecretKubeconfig(text, source);
  return loadLocalKubeconfig([{ text, directory: source.directory ?? '.' }], source);
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

  test.each(['10.0.0.1', 'fd12::1', 'API.example', 'a'.repeat(63), 'x-1.y.z'])(
    'asks for the server by a name or an address: %s',
    async (name) => {
      expect((await loadKubeconfig(kubeconfig({ 'tls-server-name': name }), source)).tlsServerName).toBe(name);
    },
  );

  test.each([
    '\r\nset pwned 0 0 5\r\nhello\r\n',
    'api.example\n',
    'a b',
    '*.example',
    '-a',
    'a..b',
    'a.',
    'fe80::1%eth0',
    `${'a'.repeat(64)}.example`,
    `${'a.'.repeat(127)}example`,
    'ä.example',
    '\u0000',
  ])('sends nothing else as the name of the server: %j', async (name) => {
    expect(await problems(kubeconfig({ 'tls-server-name': name }), source)).toEqual([
      'clusters[0].cluster.tls-server-name',
    ]);
  });

  test('tells 20 problems, and how many more there are', async () => {
    const text = `contexts: [{ name: x, context: { cluster: c, user: u } }]\nusers: [${'1,'.repeat(300)}]\nclusters: [${'1,'.repeat(200)}]`;
    expect(await problems(text, source)).toHaveLength(21);
    await expect(loadKubeconfig(text, source)).rejects.toThrow(/kubeconfig: and 480 more problems\./);
  });

  test.each([
    ['explicit keys', '? '.repeat(60)],
    ['maps as keys', `${'{'.repeat(60)}a: 1${'}: 1'.repeat(59)}}`],
    ['lists as keys', `${'['.repeat(60)}a${']: 1]'.repeat(59)}]`],
  ])('refuses %s before they are converted, which takes forever', async (_, text) => {
    await problems(text, source);
    await expect(loadKubeconfig(text, source)).rejects.toThrow(/a key in it is not text|not valid YAML/);
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

  test('a named context, and public roots without a CA', async () => {
    const text = kubeconfig({}, undefined, {
      clusters: [
        { name: 'one', cluster: { server: 'https://one' } },
        { name: 'two', cluster: { server: 'https://two' } },
      ],
      contexts: [
        { name: 'a', context: { cluster: 'one', user: 'sweeper' } },
        { name: 'b', context: { cluster: 'two', user: 'sweeper' } },
      ],
      'current-context': 'a',
    });
    const { caPem, cluster } = await loadKubeconfig(text, { ...source, context: 'b' });
    expect([caPem, cluster]).toEqual([undefined, 'two']);
  });

  test.each<[string, () => string, string[]]>([
    ['not YAML', () => `users: [${TOKEN}`, ['kubeconfig']],
    ['an alias', () => `a: &a ${TOKEN}\nb: *a`, ['kubeconfig']],
    ['nesting without end', () => '['.repeat(100_000), ['kubeconfig']],
    ['too long', () => ' '.repeat(300_000), ['kubeconfig']],
    ['text', () => TOKEN, ['kubeconfig']],
    ['empty', () => '', ['kubeconfig']],
    ['another kind of object', () => 'kind: Secret', ['kubeconfig']],
    ['empty users', () => kubeconfig({}, {}, { users: [] }), ['kubeconfig']],
    ['a user without a name', () => kubeconfig({}, {}, { users: [{ user: {} }] }), ['users[0]']],
    [
      'the same name twice',
      () => kubeconfig({}, {}, { users: [1, 2].map(() => ({ name: 'sweeper', user: { token: TOKEN } })) }),
      ['users[1]'],
    ],
    ['no current context', () => kubeconfig({}, {}, { 'current-context': '' }), ['current-context']],
    ['an unknown current context', () => kubeconfig({}, {}, { 'current-context': 'x' }), ['contexts']],
    [
      'a context that leads nowhere',
      () => kubeconfig({}, {}, { contexts: [{ name: 'sweeper@berlin', context: { cluster: 'x' } }] }),
      ['contexts[0].context.cluster', 'contexts[0].context.user'],
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
    [
      'everything that is refused anywhere, at once',
      () =>
        kubeconfig(
          { server: 'http://h', 'insecure-skip-tls-verify': true, 'proxy-url': 'http://p' },
          {
            token: TOKEN,
            'auth-provider': { name: 'oidc' },
            username: 'u',
            password: 'hunter2',
            as: 'admin',
            'as-uid': '1',
            'as-groups': ['system:masters'],
            'as-user-extra': { a: ['b'] },
          },
        ),
      [
        'clusters[0].cluster.insecure-skip-tls-verify',
        'clusters[0].cluster.proxy-url',
        'users[0].user.auth-provider',
        'users[0].user.username',
        'users[0].user.password',
        'users[0].user.as',
        'users[0].user.as-uid',
        'users[0].user.as-groups',
        'users[0].user.as-user-extra',
        'clusters[0].cluster.server',
      ],
    ],
  ])('refused: %s', async (_name, text, expected) => {
    expect((await problems(text(), source)).toSorted()).toEqual(expected.toSorted());
  });

  test.each([
    [`users: [${TOKEN}`, 'not valid YAML, line 1: this "[" is not closed; add'],
    [`kind: Config\nusers\nname: ${TOKEN}`, 'not valid YAML, line 2: this key has no colon and space after it'],
    [`a: 1\n\ttoken: ${TOKEN}`, 'not valid YAML, line 2: a tab indents this line'],
    [`token: "${TOKEN}`, 'not valid YAML, line 1: this quote is not closed'],
    [`a: b: ${TOKEN}`, 'not valid YAML, line 1: a value with ": " in it needs quotes'],
    [`- a\n${TOKEN}: 1`, 'not valid YAML, line 2: the value before this has ended'],
    [`${TOKEN}: &`, 'not valid YAML, line 1: something is where YAML does not expect it'],
    ['a: &a 1\nb: *a', 'it has aliases, which are not accepted'],
  ])('%j is said in words, with the line', async (text, says) => {
    await problems(text, source);
    await expect(loadKubeconfig(text, source)).rejects.toThrow(`kubeconfig: ${says}`);
  });

  test('fields that say nothing are not refused', async () => {
    const text = kubeconfig(
      { 'insecure-skip-tls-verify': false, 'proxy-url': '' },
      { token: TOKEN, exec: null, username: '', 'auth-provider': null },
    );
    expect((await loadKubeconfig(text, source)).credentials).toEqual({ kind: 'token', token: TOKEN });
  });

  test('a CA that is no certificate', async () => {
    expect(await problems(kubeconfig({ 'certificate-authority-data': base64('x') }), source)).toHaveLength(1);
  });
});

describe('from a secret', () => {
  test('files and commands are refused, also of entries that are not selected', async () => {
    const text = kubeconfig({}, undefined, {
      clusters: [
        { name: 'berlin', cluster: { server: 'https://h' } },
        { name: 'other', cluster: { server: 'https://o', 'certificate-authority': '/etc/ca.crt' } },
      ],
      users: [
        { name: 'sweeper', user: { token: TOKEN } },
        {
          name: 'other',
          user: {
            'client-certificate': 'c.crt',
            'client-key': 'c.key',
            tokenFile: '/run/token',
            'token-file': '/run/token',
            exec: { command: 'touch' },
          },
        },
      ],
    });
    expect(await problems(text, SECRET)).toEqual([
      'clusters[1].cluster.certificate-authority',
      'users[1].user.client-certificate',
      'users[1].user.client-key',
      'users[1].user.tokenFile',
      'users[1].user.token-file',
      'users[1].user.exec',
    ]);
  });

  test.each([
    ['missing', undefined],
    ['empty', []],
    ['of a kind that is refused', [{ name: 'sweeper', user: { exec: { command: 'aws-iam-authenticator' } } }]],
    ['an administrator', [{ name: 'sweeper', user: { token: 'of an administrator' } }]],
  ])('credentials of the caller take the place of users that are %s', (_, users) => {
    const credentials = { kind: 'token', token: async () => TOKEN } as const;
    const text = kubeconfig({}, undefined, { users });
    expect(loadSecretKubeconfig(text, { credentials })).toMatchObject({ server: 'https://10.0.0.1:6443', credentials });
  });

  test('credentials of the caller change nothing about the server', () => {
    const credentials = { kind: 'token', token: TOKEN } as const;
    const text = kubeconfig({ 'insecure-skip-tls-verify': true, 'certificate-authority': '/etc/ca.crt' });
    expect(() => loadSecretKubeconfig(text, { credentials })).toThrow(
      /TLS must be verified[\s\S]*must not refer to files/,
    );
  });

  test('data that is not base64', async () => {
    const text = kubeconfig({ 'certificate-authority-data': '%%%' }, { token: TOKEN, 'client-key-data': '-----' });
    expect(await problems(text, SECRET)).toEqual([
      'clusters[0].cluster.certificate-authority-data',
      'users[0].user.client-key-data',
    ]);
  });

  test('client-node is never loaded', async () => {
    vi.doMock('@kubernetes/client-node', () => {
      throw new Error('loaded');
    });
    onTestFinished(() => {
      vi.doUnmock('@kubernetes/client-node');
    });
    expect((await loadKubeconfig(kubeconfig(), SECRET)).cluster).toBe('berlin');
  });
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
  test('relative paths start at the file', async () => {
    const path = await directory({ 'ca.crt': ca, 'c.crt': client.certificatePem, 'c.key': client.keyPem });
    const text = kubeconfig(
      { 'certificate-authority-data': null, 'certificate-authority': 'ca.crt' },
      { 'client-certificate': 'c.crt', 'client-key': join(path, 'c.key') },
    );
    expect(await loadKubeconfig(text, { ...FILE, directory: path })).toMatchObject({
      caPem: ca,
      credentials: { kind: 'certificate', ...client },
    });
  });

  test('data counts more than a file, a token file more than a token, as in kubectl', async () => {
    const path = await directory({ token: `${TOKEN}\n` });
    const text = kubeconfig({ 'certificate-authority': 'missing.crt' }, { token: 'old', tokenFile: 'token' });
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

  test('entries that are not selected are not looked at', async () => {
    const text = kubeconfig({}, undefined, {
      users: [
        { name: 'sweeper', user: { token: TOKEN } },
        { name: 'other', user: { exec: { command: 'x' }, 'auth-provider': { name: 'gcp' } } },
      ],
    });
    expect((await loadKubeconfig(text, FILE)).context).toBe('sweeper@berlin');
  });

  test('exec needs permission', async () => {
    await expect(loadKubeconfig(kubeconfig({}, prints({ token: TOKEN })), FILE)).rejects.toThrow(/pass --allow-exec/);
  });

  const allowed: KubeconfigSource = { ...FILE, allowExec: true };

  test('exec: a token', async () => {
    expect((await loadKubeconfig(kubeconfig({}, prints({ token: TOKEN })), allowed)).credentials).toEqual({
      kind: 'token',
      token: TOKEN,
    });
  });

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
    ['fails', () => command('console.error("session\\u001b[1m expired"); process.exit(1)'), /\(session\[1m expired\)/],
    ['prints a token that is no JSON', () => command(`console.log("${TOKEN}")`), /did not write an ExecCredential/],
    ['prints another object', () => command(`console.log('{"token":"${TOKEN}"}')`), /did not write an ExecCredential/],
    ['gives nothing', () => prints({}), /has no credentials/],
    ['is gone', () => ({ exec: { command: 'no-such-command-here' } }), /: there is no command no-such-command-here\. /],
    ['names none', () => ({ exec: {} }), /No command/],
  ])('exec: the command %s', async (_name, user, says) => {
    const text = kubeconfig({}, user());
    await expect(loadKubeconfig(text, allowed)).rejects.toThrow(says);
    await problems(text, allowed);
  });

  test('exec: a command that never ends is not waited for', async () => {
    const user = command('setTimeout(() => {}, 1_500)');
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

  test('of a laptop that knows 300 clusters, each with its certificates', async () => {
    const names = Array.from({ length: 300 }, (_, index) => `c${index}`);
    const data = 'A'.repeat(1_600);
    const text = stringify({
      clusters: names.map((name) => cluster(name, `https://${name}.example`)),
      users: [...names.map((name) => ({ name, user: { 'client-certificate-data': data } })), user('me', 't')],
      contexts: [context('x', 'c299', 'me')],
    });
    expect(text.length).toBeGreaterThan(500_000);
    expect(await loadLocalKubeconfig(text, { context: 'x' })).toMatchObject({ server: 'https://c299.example' });
    await expect(loadLocalKubeconfig('a'.repeat(8 * 1024 * 1024 + 1))).rejects.toThrow('it is longer than 8388608');
  });

  test('lists may be spread over them, and one of them may be empty', async () => {
    const parts = (['clusters', 'users', 'contexts'] as const).map((list) =>
      file(`${list}.yaml`, {
        [list]: {
          clusters: [cluster('c', 'https://c.example')],
          users: [user('u', 't')],
          contexts: [context('x', 'c', 'u')],
        }[list],
      }),
    );
    const empty = { text: '', directory: '.', name: 'empty.yaml' };
    expect(await loadLocalKubeconfig([empty, ...parts], { context: 'x' })).toMatchObject({
      server: 'https://c.example',
    });
    await expect(loadLocalKubeconfig(parts.slice(1), { context: 'x' })).rejects.toThrow(
      'kubeconfig: it has no clusters. Give a complete one',
    );
  });

  test('relative paths start at the file that they are in', async () => {
    const [one, two] = [await directory({ 'ca.crt': ca }), await directory({ token: 'of-two', 'ca.crt': 'none' })];
    const files = [
      file('one/config', { clusters: [cluster('c', 'https://c.example', { 'certificate-authority': 'ca.crt' })] }, one),
      file(
        'two/config',
        { users: [{ name: 'u', user: { tokenFile: 'token' } }], contexts: [context('x', 'c', 'u')] },
        two,
      ),
    ];
    expect(await loadLocalKubeconfig(files, { context: 'x' })).toMatchObject({
      caPem: ca,
      credentials: { token: 'of-two' },
    });
  });

  test('what is wrong names the file', async () => {
    await expect(loadLocalKubeconfig([first, { ...second, text: '{' }])).rejects.toThrow(
      'b.yaml: kubeconfig: not valid YAML',
    );
    await expect(loadLocalKubeconfig([first, file('b.yaml', { users: [{ name: '' }] })])).rejects.toThrow(
      'b.yaml: users[0]: it has no name or no user',
    );
    const twice = file('b.yaml', { users: [user('u', 'x'), user('u', 'y')] });
    await expect(loadLocalKubeconfig([first, twice])).rejects.toThrow('b.yaml: users[1]: its name is used twice');
  });

  test('every context is listed once, the current one first', () => {
    const dangling = file('c.yaml', { contexts: [context('lost', 'nowhere', 'u')] });
    expect(listContexts([first, second, dangling], FILE_LIMITS)).toMatchObject([
      { context: 'blue', cluster: 'blue', server: 'https://blue.example' },
      { context: 'red', cluster: 'red', server: 'https://red-a.example' },
      { context: 'lost', cluster: undefined, server: undefined },
    ]);
  });
});

test('what is loaded connects', async () => {
  const server = await startTlsServer((_, response) => answer(response, 200, { gitVersion: 'v1.36.3' }));
  const { server: url, caPem } = server.connection;
  const loaded = await loadKubeconfig(
    kubeconfig({ server: `${url}/`, 'certificate-authority-data': base64(caPem) }),
    SECRET,
  );
  const connected = createKubernetesClient({ ...loaded, addresses: 'local' });
  onTestFinished(() => connected.close());
  expect(await connected.request({ method: 'GET', path: '/version' })).toEqual({ gitVersion: 'v1.36.3' });
  expect(server.received[0]?.headers.authorization).toBe(`Bearer ${TOKEN}`);
});

describe('a text that takes long to parse', () => {
  const SIZE = 64 * 1024;
  test.each([
    ['[', 'flow lists'],
    ['{', 'flow maps'],
    ['- ', 'lists'],
    ['? ', 'explicit keys'],
    ['%A\n', 'directives'],
    ['---\n', 'documents'],
    ['\n', 'empty lines'],
    ['#\n', 'comments'],
    ['&a ', 'anchors'],
    ['"" ', 'quotes'],
    ["'' ", 'single quotes'],
    ['\\\n', 'line continuations'],
    ['!t ', 'tags'],
    ['1,', 'entries'],
    ['\t', 'tabs'],
    ['\r', 'returns'],
  ])('is not parsed where it comes from a secret: %j (%s)', async (mark) => {
    const text = `a: ${mark.repeat(SIZE)}`.slice(0, SIZE);
    await expect(loadKubeconfig(text, SECRET)).rejects.toThrow('it has more than 800 lines, quotes and other marks');
  });

  test.each(['[', '{a: ', '&a ', '!t ', '%A', '? ', '\\x41', '*a '])(
    'is not parsed with more than 100 of %j',
    async (mark) => {
      const text = `a: ${mark.repeat(101)}`;
      await expect(loadKubeconfig(text, SECRET)).rejects.toThrow('it has more than 100 brackets, anchors, tags');
    },
  );

  test('is not read where a secret has more than 64 KiB', async () => {
    await expect(loadKubeconfig('a'.repeat(SIZE + 1), SECRET)).rejects.toThrow('it is longer than 65536 characters');
  });

  test('is no kubeconfig of a cluster: two authorities and a client certificate in lines of 64 are far below', async () => {
    const lines = (text: string) => base64(text).replaceAll(/.{64}/g, '$&\n');
    const user = {
      'client-certificate-data': lines(client.certificatePem.repeat(4)),
      'client-key-data': lines(client.keyPem.repeat(8)),
    };
    const text = kubeconfig({ 'certificate-authority-data': lines(`${ca}\n`.repeat(8)) }, user);
    expect((await loadKubeconfig(text, SECRET)).credentials.kind).toBe('certificate');
  });
});
