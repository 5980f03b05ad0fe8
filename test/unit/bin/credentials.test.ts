import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createCredentialsCommand, subjectOf } from '../../../bin/commands/credentials/create.ts';
import { parseStore, type StoreSecret } from '../../../bin/commands/credentials/store.ts';
import { DEFAULT_POLICY } from '../../../lambdas/approval/policy.ts';
import { answer, startTlsServer, statusBody } from '../kubernetes/tls-server.ts';
import { createAuthority, createServing, listen } from '../tls/tls-servers.ts';
import { recordedIo } from './io.ts';
import { kubeconfigOf } from './kubeconfigs.ts';
import { refusal, runCli } from './run-cli.ts';

describe('--store', () => {
  it('takes stdout and names of secrets', () => {
    expect(parseStore('stdout')).toEqual({ kind: 'stdout' });
    expect(parseStore('secretsmanager:certmarshal/berlin-prod')).toEqual({
      kind: 'secretsmanager',
      name: 'certmarshal/berlin-prod',
    });
  });

  it('takes no text that Secrets Manager, or a shell, would take for something else', () => {
    const wrong = fc.string({ unit: 'grapheme' }).filter((name) => !/^[A-Za-z0-9/_+=.@-]{1,512}$/.test(name));
    fc.assert(
      fc.property(wrong, (name) => {
        expect(() => parseStore(`secretsmanager:${name}`)).toThrow('--store takes stdout or secretsmanager:NAME');
      }),
      { seed: 42 },
    );
  });
});

describe('certmarshal credentials create', () => {
  it.each([
    [['--kubeconfig', 'x'], 'Say with --store where the kubeconfig goes.\n'],
    [['--store', 'file:x'], '--store takes stdout or secretsmanager:NAME'],
    [['--store', 'stdout', '--namespace', 'Kube_System'], '--service-account takes NAMESPACE/NAME'],
    [['--store', 'stdout', '--management', '--workload-of', 'x'], '--management and --workload-of exclude each other'],
    [['--store', 'stdout', '--workload-of', 'a/b'], '--workload-of takes the name that the management cluster has'],
    [
      ['--store', 'stdout', '--kubeconfig', '~/x'],
      'There is no file ~/x, which --kubeconfig names. In quotes, the shell does not expand ~',
    ],
    [['--store', 'stdout', '--kubeconfig', '/nowhere/x'], 'There is no file /nowhere/x, which --kubeconfig names.\n'],
  ])('refuses %j before it writes anything', async (args, expected) => {
    expect(await runCli(['credentials', 'create', ...args])).toEqual(refusal(expected));
  });

  it('documents exit status', async () => {
    expect((await runCli(['credentials', '--help'])).stdout).toContain('Exit status:');
  });
});

describe('a token', () => {
  const ACCOUNT = 'system:serviceaccount:kube-system:certmarshal';
  const base64 = (text: string) => Buffer.from(text).toString('base64');

  /** A cluster whose token Secret holds a token of this user. */
  async function create(username: string, yes = true) {
    const writes: string[] = [];
    const server = await startTlsServer(({ method, url }, response) => {
      if (method !== 'GET') writes.push(`${method} ${url}`);
      if (url.endsWith('/selfsubjectreviews')) answer(response, 201, { status: { userInfo: { username } } });
      else if (url.endsWith('/selfsubjectaccessreviews')) answer(response, 201, { status: { allowed: true } });
      else if (url.endsWith('/secrets/certmarshal-token'))
        answer(response, 200, {
          type: 'kubernetes.io/service-account-token',
          data: { token: base64('a-token'), 'ca.crt': base64('a CA') },
        });
      else if (method === 'GET') answer(response, 404, statusBody(404, 'NotFound', 'none'));
      else answer(response, 200, {});
    });
    const folder = await mkdtemp(join(tmpdir(), 'credentials-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = join(folder, 'kubeconfig');
    const { server: url, caPem } = server.connection;
    await writeFile(file, kubeconfigOf({ server: url, caPem }));
    const store = vi.fn<StoreSecret>(async () => ({ arn: 'an ARN', created: true }));
    const io = recordedIo({ now: Date.now() });
    const status = createCredentialsCommand(
      {
        kubeconfig: file,
        namespace: 'kube-system',
        name: 'certmarshal',
        store: 'secretsmanager:certmarshal/berlin',
        output: 'table',
        yes,
      },
      [DEFAULT_POLICY],
      new AbortController().signal,
      { ...io, storeSecret: store },
    );
    return { status, store, writes, io };
  }

  it('is not made without --yes: what would be made is shown', async () => {
    const { status, store, writes, io } = await create(ACCOUNT, false);
    expect(await status).toBe(1);
    expect(writes).toEqual([]);
    expect(store).not.toHaveBeenCalled();
    expect(io.stdout.text()).toBe('');
    expect(io.stderr.text()).toMatch(
      /^ServiceAccount kube-system\/certmarshal would be created\n[^]*\nSecret kube-system\/certmarshal-token would be changed\nNothing was written: --yes does it, and stores the kubeconfig in secret certmarshal\/berlin\.\n$/,
    );
  });

  it('is looked for behind an expired certificate only where that is tolerated', async () => {
    const authority = await createAuthority('expired');
    const serving = await createServing(authority, { ipAddresses: ['127.0.0.1'], from: -90, to: -1 });
    const asked: string[] = [];
    const port = await listen(
      createServer(serving, ({ method, url }, response) => {
        asked.push(`${method} ${url}`);
        answer(response, 404, statusBody(404, 'NotFound', 'none'));
      }),
    );
    const folder = await mkdtemp(join(tmpdir(), 'credentials-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = join(folder, 'kubeconfig');
    await writeFile(file, kubeconfigOf({ server: `https://127.0.0.1:${port}`, caPem: authority.certificate }));
    const look = (more: { readonly tolerateExpired?: string }) => {
      const io = recordedIo({ now: Date.now() });
      const options = { kubeconfig: file, namespace: 'kube-system', name: 'certmarshal', store: 'stdout', ...more };
      const status = createCredentialsCommand(
        { ...options, output: 'table' },
        [DEFAULT_POLICY],
        new AbortController().signal,
        { ...io, storeSecret: vi.fn<StoreSecret>() },
      );
      return { status, io };
    };
    await expect(look({}).status).rejects.toMatchObject({
      kind: 'certificate-expired',
      remedy: expect.stringContaining('--tolerate-expired authority'),
    });
    expect(asked).toEqual([]);
    const { status, io } = look({ tolerateExpired: 'authority' });
    expect(await status).toBe(1);
    expect(io.stderr.text()).toMatch(
      /^! 127\.0\.0\.1:\d+, context c: an expired certificate is tolerated if [^]*would be created/,
    );
    expect(io.stderr.text()).toContain(' and was tolerated: sha256:');
  });

  it('of the account that was made is stored', async () => {
    const { status, store } = await create(ACCOUNT);
    expect(await status).toBe(0);
    expect(store).toHaveBeenCalledOnce();
  });

  it.each(['system:serviceaccount:kube-system:admin', 'system:serviceaccount:kube-system:certmarshal2', 'admin'])(
    'that was there before and is of %s is not',
    async (username) => {
      const { status, store } = await create(username);
      await expect(status).rejects.toMatchObject({
        kind: 'invalid',
        object: expect.stringContaining(`token of ${ACCOUNT} on https://`),
        problem: expect.stringContaining(`for ${username},`),
        remedy: expect.stringContaining('token Secret'),
      });
      expect(store).not.toHaveBeenCalled();
    },
  );
});

it.each([
  ['system:serviceaccount:kube-system:certmarshal', { sub: 'system:serviceaccount:kube-system:certmarshal' }],
  ['a token without a subject', { sub: 7 }],
])('knows %s by its token where the API server reviews nobody', (expected, claims) => {
  expect(subjectOf(`e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.x`)).toBe(expected);
});

it.each(['', 'a', 'a.b.c', 'e30.bnVsbA.x'])('knows nobody by %s', (token) => {
  expect(subjectOf(token)).toBe('a token without a subject');
});
