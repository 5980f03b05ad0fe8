import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';

import { DEFAULT_POLICY } from '../../../lambdas/approval/policy.ts';
import { KubeconfigSecretError, type ReadKubeconfigSecret } from '../../../lambdas/aws/kubeconfig-secret.ts';
import { createTargetSweeper } from '../../../lambdas/fleet/sweep-target.ts';
import type { Target } from '../../../lambdas/fleet/target.ts';
import { csrOf, machineOf, requestOf } from '../../bench/fixtures.ts';
import {
  answer,
  createAuthority,
  defaultCertificates,
  type Handler,
  type Received,
  startTlsServer,
  statusBody,
  TOKEN,
} from '../kubernetes/tls-server.ts';

const arnOf = (name: string) => `arn:aws:secretsmanager:eu-west-1:123456789012:secret:${name}-AbCdEf`;
const TARGET: Target = { cluster: { name: 'berlin', provider: 'eks-anywhere' }, kubeconfigSecret: arnOf('berlin') };
const never = new AbortController().signal;

interface KubeconfigOptions {
  readonly server: string;
  readonly caPem?: string;
  readonly token?: string;
  readonly user?: object;
}

async function kubeconfig({ server, caPem, token = TOKEN, user }: KubeconfigOptions): Promise<string> {
  const ca = caPem ?? (await defaultCertificates()).authority.certificatePem;
  return stringify({
    clusters: [{ name: 'c', cluster: { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') } }],
    users: [{ name: 'u', user: user ?? { token } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  });
}

/** An API server without requests that accepts one token. */
function accepting(token: () => string): Handler {
  return ({ headers }: Received, response) => {
    if (headers.authorization === `Bearer ${token()}`) answer(response, 200, { kind: 'List', metadata: {}, items: [] });
    else answer(response, 401, statusBody(401, 'Unauthorized', 'Unauthorized'));
  };
}

/** Secrets Manager with these texts, and the names of what was read. */
function secretsOf(texts: Readonly<Record<string, () => string>>): {
  reads: string[];
  readSecret: ReadKubeconfigSecret;
} {
  const reads: string[] = [];
  return {
    reads,
    readSecret: async (arn) => {
      reads.push(arn);
      const text = texts[arn];
      if (text === undefined) throw new KubeconfigSecretError('not-found', arn, 'it does not exist');
      return text();
    },
  };
}

function sweeper(readSecret: ReadKubeconfigSecret) {
  return createTargetSweeper({ readSecret, policies: [DEFAULT_POLICY], clock: Date.now });
}

describe('createTargetSweeper', () => {
  it('keeps connections and credentials from one sweep to the next', async () => {
    const server = await startTlsServer(accepting(() => TOKEN));
    const text = await kubeconfig(server.connection);
    const { reads, readSecret } = secretsOf({ [arnOf('berlin')]: () => text });
    const sweepOne = sweeper(readSecret);
    for (const sweep of [1, 2, 3])
      expect(await sweepOne(TARGET, never), `sweep ${sweep}`).toMatchObject({
        kind: 'swept',
        report: { complete: true },
      });
    expect(reads).toHaveLength(1);
    expect(server.connections()).toBe(1);
  });

  it('reads the secret again when the token was rotated, within the same sweep', async () => {
    let token = TOKEN;
    const server = await startTlsServer(accepting(() => token));
    const texts = {
      old: await kubeconfig(server.connection),
      new: await kubeconfig({ ...server.connection, token: 'rotated' }),
    };
    const { reads, readSecret } = secretsOf({ [arnOf('berlin')]: () => (token === TOKEN ? texts.old : texts.new) });
    const sweepOne = sweeper(readSecret);
    await sweepOne(TARGET, never);
    token = 'rotated';
    expect(await sweepOne(TARGET, never)).toMatchObject({ report: { complete: true } });
    expect(reads).toHaveLength(2);
  });

  it('reads the secret again when the CA was rotated', async () => {
    const stranger = await createAuthority('another-ca');
    const server = await startTlsServer(accepting(() => TOKEN));
    const { connection } = server;
    const texts = [await kubeconfig({ ...connection, caPem: stranger.certificatePem }), await kubeconfig(connection)];
    const { readSecret } = secretsOf({ [arnOf('berlin')]: () => texts.shift() ?? '' });
    const sweepOne = sweeper(readSecret);
    expect(await sweepOne(TARGET, never)).toMatchObject({ report: { problems: [{ kind: 'certificate' }] } });
    expect(await sweepOne(TARGET, never)).toMatchObject({ report: { complete: true } });
  });

  it('does not repeat a sweep that has written, because only its report knows', async () => {
    const csr = csrOf(1, requestOf(1), new Date().toISOString());
    let items: Readonly<Record<string, readonly object[]>> = {};
    const server = await startTlsServer(({ method, url }, response) => {
      const resource = /\/(certificatesigningrequests|machines)\?/.exec(url)?.[1] ?? '';
      if (url.endsWith('/cluster.x-k8s.io')) answer(response, 200, { versions: [{ version: 'v1beta2' }] });
      else if (method === 'GET') answer(response, 200, { kind: 'List', metadata: {}, items: items[resource] ?? [] });
      else answer(response, 401, statusBody(401, 'Unauthorized', 'Unauthorized'));
    });
    const text = await kubeconfig(server.connection);
    const { reads, readSecret } = secretsOf({ [arnOf('berlin')]: () => text });
    const sweepOne = sweeper(readSecret);
    const target: Target = { ...TARGET, cluster: { name: 'bench', provider: 'eks-anywhere' } };
    await sweepOne(target, never);
    items = { certificatesigningrequests: [csr], machines: [machineOf(1)] };
    expect(await sweepOne(target, never)).toMatchObject({
      report: { counts: { failed: 1 }, requests: { writes: 1 }, problems: [{ kind: 'unauthorized' }] },
    });
    expect(reads).toHaveLength(1);
  });

  it('asks once only with credentials that it has just read', async () => {
    const server = await startTlsServer(accepting(() => 'another token'));
    const text = await kubeconfig(server.connection);
    const { reads, readSecret } = secretsOf({ [arnOf('berlin')]: () => text });
    expect(await sweeper(readSecret)(TARGET, never)).toMatchObject({
      report: { problems: [{ kind: 'unauthorized' }] },
    });
    expect(reads).toHaveLength(1);
    expect(server.received).toHaveLength(1);
  });

  it('opens a target anew when its secret is another one', async () => {
    const server = await startTlsServer(accepting(() => TOKEN));
    const text = await kubeconfig(server.connection);
    const { reads, readSecret } = secretsOf({ [arnOf('berlin')]: () => text, [arnOf('moved')]: () => text });
    const sweepOne = sweeper(readSecret);
    await sweepOne(TARGET, never);
    await sweepOne({ ...TARGET, kubeconfigSecret: arnOf('moved') }, never);
    expect(reads).toEqual([arnOf('berlin'), arnOf('moved')]);
  });

  it('says what is wrong with a target that cannot be opened, and quotes no secret', async () => {
    const exec = await kubeconfig({ server: 'https://127.0.0.1:1', user: { exec: { command: 'SENTINEL' } } });
    const key = await kubeconfig({
      server: 'https://127.0.0.1:1',
      user: {
        'client-certificate-data': Buffer.from('SENTINEL').toString('base64'),
        'client-key-data': Buffer.from('SENTINEL').toString('base64'),
      },
    });
    for (const [name, text, kind, object] of [
      ['missing', undefined, 'secret', `secret ${arnOf('missing')}`],
      ['text', 'SENTINEL', 'kubeconfig', `kubeconfig in secret ${arnOf('text')}`],
      ['exec', exec, 'kubeconfig', `kubeconfig in secret ${arnOf('exec')}`],
      ['key', key, 'certificate', `kubeconfig in secret ${arnOf('key')}`],
    ] as const) {
      const { readSecret } = secretsOf(text === undefined ? {} : { [arnOf(name)]: () => text });
      const outcome = await sweeper(readSecret)({ ...TARGET, kubeconfigSecret: arnOf(name) }, never);
      expect(outcome).toMatchObject({ kind: 'unusable', problem: { kind, object } });
      expect(JSON.stringify(outcome)).not.toContain('SENTINEL');
    }
  });

  it('fails when Secrets Manager cannot be asked', async () => {
    const unavailable = new KubeconfigSecretError('unavailable', arnOf('berlin'), 'no answer');
    await expect(sweeper(async () => Promise.reject(unavailable))(TARGET, never)).rejects.toBe(unavailable);
  });
});
