import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';

import { AwsError } from '../../../lambdas/aws/errors.ts';
import { KubeconfigSecretError } from '../../../lambdas/aws/kubeconfig-secret.ts';
import type { Access } from '../../../lambdas/fleet/access.ts';
import {
  type OpenTarget,
  openTarget,
  type TargetSources,
  UnusableTargetError,
} from '../../../lambdas/fleet/open-target.ts';
import type { Target } from '../../../lambdas/fleet/target.ts';
import type { Problem } from '../../../lambdas/problem.ts';
import {
  answer,
  createAuthority,
  defaultCertificates,
  startTlsServer,
  statusBody,
  TOKEN,
} from '../kubernetes/tls-server.ts';

const arnOf = (name: string) => `arn:aws:secretsmanager:eu-west-1:123456789012:secret:${name}-AbCdEf`;
const SCOPE = { account: '111122223333', region: 'eu-central-1' } as const;
const OWN: Access = { kind: 'kubeconfig', secret: arnOf('own') };
const MANAGEMENT = { access: { kind: 'kubeconfig', secret: arnOf('management') } } as const;
const never = new AbortController().signal;
const base64 = (text: string) => Buffer.from(text).toString('base64');

function kubeconfig(server: string, caPem?: string, users: unknown = [{ name: 'u', user: { token: TOKEN } }]): string {
  const ca = caPem === undefined ? {} : { 'certificate-authority-data': base64(caPem) };
  return stringify({
    clusters: [{ name: 'c', cluster: { server, ...ca } }],
    users,
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  });
}

const SECRETS: Readonly<Record<string, string>> = {
  [arnOf('own')]: kubeconfig('https://api.berlin.example:6443'),
  [arnOf('management')]: kubeconfig('https://api.management.example'),
};

function targetOf(changes: Partial<Target>): Target {
  return {
    id: 'berlin',
    cluster: { name: 'berlin', provider: 'eks', serviceCidrs: ['10.96.0.0/12'] },
    access: OWN,
    lane: 'default',
    ...changes,
  };
}

const anywhere = { name: 'berlin', provider: 'eks-anywhere' } as const;

const SOURCES: TargetSources = {
  readSecret: async (arn) => SECRETS[arn] ?? '',
  signToken: async () => TOKEN,
  async *listInstances() {},
};

async function open(changes: Partial<Target>, sources: Partial<TargetSources> = {}): Promise<OpenTarget> {
  return openTarget(targetOf(changes), { ...SOURCES, ...sources }, never);
}

/** The problem of a target that cannot be opened. */
async function problemOf(changes: Partial<Target>, sources: Partial<TargetSources> = {}): Promise<Problem> {
  const error: unknown = await open(changes, sources).catch((reason: unknown) => reason);
  if (!(error instanceof UnusableTargetError)) throw new Error('expected an UnusableTargetError', { cause: error });
  return error.problem;
}

describe('openTarget', () => {
  it('knows the cluster, and the name of its endpoint', async () => {
    expect((await open({})).cluster).toEqual({
      name: 'berlin',
      provider: 'eks',
      serviceCidrs: ['10.96.0.0/12'],
      endpoint: 'api.berlin.example',
    });
    const readSecret = async () => kubeconfig('https://[2001:db8::1]:6443');
    expect((await open({}, { readSecret })).cluster.endpoint).toBe('2001:db8::1');
  });

  it.each(['eks', 'eks-anywhere'] as const)('reads Machines of %s from the management cluster', async (provider) => {
    const cluster = { name: 'berlin', provider };
    expect((await open({ cluster, management: MANAGEMENT })).management?.server).toBe('https://api.management.example');
    const inNamespace = await open({ cluster, management: { ...MANAGEMENT, namespace: 'eksa-system' } });
    expect(inNamespace.machinesNamespace).toBe('eksa-system');
  });

  it('takes an EKS Anywhere cluster without one as its own management cluster', async () => {
    const { workload, management, machinesNamespace } = await open({ cluster: anywhere });
    expect(management).toBe(workload);
    expect(machinesNamespace).toBeUndefined();
    expect((await open({})).management).toBeUndefined();
  });

  it('binds EC2 to the account, Region and VPC of the instances', async () => {
    const asked: unknown[] = [];
    const listInstances: TargetSources['listInstances'] = async function* (scope, query) {
      asked.push([scope, query]);
      yield ['an instance'];
    };
    const instances = { ...SCOPE, vpcId: 'vpc-1' };
    const { listInstances: bound, vpcId } = await open({ instances }, { listInstances });
    const pages: unknown[] = [];
    for await (const page of bound?.({ nodes: ['i-1'] }, never) ?? []) pages.push(page);
    expect(pages).toEqual([['an instance']]);
    expect(asked).toEqual([[instances, { nodes: ['i-1'] }]]);
    expect(vpcId).toBe('vpc-1');
    expect((await open({})).listInstances).toBeUndefined();
  });
});

/** An API server that tells which token came. */
const echo = async () =>
  startTlsServer(({ headers }, response) => answer(response, 200, { token: headers.authorization }));
const version = { method: 'GET', path: '/version' } as const;

describe('access to an EKS cluster', () => {
  it('is its endpoint, its CA bundle and tokens for its name in its Region', async () => {
    const server = await echo();
    const { caPem, server: endpoint } = server.connection;
    const asked: unknown[] = [];
    const access = { kind: 'eks', endpoint, certificateAuthority: base64(caPem), scope: SCOPE } as const;
    const signToken = async (...args: unknown[]) => {
      asked.push(args);
      return `token-${asked.length}`;
    };
    const opened = await open({ access }, { signToken });
    expect(await opened.workload.request(version)).toEqual({ token: 'Bearer token-1' });
    expect(await opened.workload.request(version)).toEqual({ token: 'Bearer token-2' });
    expect(asked[0]).toEqual(['berlin', 'eu-central-1']);
    opened.close();
  });

  it('trusts both certificates of a bundle while the CA is rotated', async () => {
    const server = await echo();
    const next = await createAuthority('next');
    const certificateAuthority = base64(`${next.certificatePem}\n${server.connection.caPem}`);
    const access = { kind: 'eks', endpoint: server.connection.server, certificateAuthority, scope: SCOPE } as const;
    const opened = await open({ access });
    expect(await opened.workload.request(version)).toEqual({ token: `Bearer ${TOKEN}` });
    opened.close();
  });

  it.each([
    ['a CA that is no certificate', 'https://api.example', base64('x'), 'certificate'],
    ['an endpoint without TLS', 'http://api.example', base64('x'), 'invalid'],
  ])('cannot be had with %s', async (_, endpoint, certificateAuthority, kind) => {
    expect(await problemOf({ access: { kind: 'eks', endpoint, certificateAuthority, scope: SCOPE } })).toMatchObject({
      kind,
      object: 'EKS cluster berlin in 111122223333/eu-central-1',
    });
  });

  it('fails as credentials when no token can be signed', async () => {
    const { caPem, server } = (await echo()).connection;
    const access = { kind: 'eks', endpoint: server, certificateAuthority: base64(caPem), scope: SCOPE } as const;
    const error = new AwsError({
      kind: 'expired',
      object: 'token for berlin',
      problem: 'no credentials',
      remedy: 'Fix.',
    });
    const opened = await open({ access }, { signToken: async () => Promise.reject(error) });
    await expect(opened.workload.request(version)).rejects.toMatchObject({
      kind: 'credentials',
      object: 'token for berlin',
      problem: 'no credentials',
      remedy: 'Fix.',
    });
    expect(opened.workload.stats.requests).toBe(0);
    opened.close();
  });
});

describe('access by a kubeconfig', () => {
  it('with an authenticator takes only server and CA, whatever its users are', async () => {
    const server = await echo();
    const { caPem, server: url } = server.connection;
    const asked: unknown[] = [];
    const signToken = async (...args: unknown[]) => {
      asked.push(args);
      return 'signed';
    };
    for (const users of [undefined, [], [{ name: 'u', user: { exec: { command: 'aws-iam-authenticator' } } }]]) {
      const readSecret = async () => kubeconfig(url, caPem, users ?? null);
      const opened = await open({ access: { ...OWN, authenticatorId: 'a-uuid' } }, { readSecret, signToken });
      expect(await opened.workload.request(version)).toEqual({ token: 'Bearer signed' });
      opened.close();
    }
    expect(asked[0]).toEqual(['a-uuid', 'eu-west-1']);
  });

  it('without one is refused when it would run a command', async () => {
    const readSecret = async () =>
      kubeconfig('https://h', undefined, [{ name: 'u', user: { exec: { command: 'x' } } }]);
    expect(await problemOf({}, { readSecret })).toMatchObject({
      kind: 'kubeconfig',
      object: `kubeconfig in secret ${arnOf('own')}`,
    });
  });

  it.each([
    ['not-found', 'secret'],
    ['denied', 'secret'],
    ['unusable', 'secret'],
  ] as const)('%s is a problem of the secret', async (kind, expected) => {
    const readSecret = async (arn: string) => Promise.reject(new KubeconfigSecretError(kind, arn, 'x'));
    expect(await problemOf({}, { readSecret })).toMatchObject({ kind: expected, object: `secret ${arnOf('own')}` });
  });

  it('says nothing about the target while Secrets Manager cannot be asked', async () => {
    const unavailable = new KubeconfigSecretError('unavailable', arnOf('own'), 'x');
    await expect(open({}, { readSecret: async () => Promise.reject(unavailable) })).rejects.toBe(unavailable);
  });
});

describe('access by the kubeconfig of Cluster API', () => {
  const access: Access = { kind: 'cluster-api', namespace: 'eksa-system' };
  const SECRET_PATH = '/api/v1/namespaces/eksa-system/secrets/berlin-kubeconfig';

  async function managing(secret: unknown, status = 200) {
    const { authority } = await defaultCertificates();
    const server = await startTlsServer((_, response) => answer(response, status, secret));
    const readSecret = async () => kubeconfig(server.connection.server, authority.certificatePem);
    return { server, sources: { readSecret } };
  }

  it('is read from the management cluster, by name', async () => {
    const value = base64(kubeconfig('https://api.workload.example:6443'));
    const { server, sources } = await managing({ kind: 'Secret', data: { value } });
    const opened = await open({ access, management: MANAGEMENT }, sources);
    expect(opened.workload.server).toBe('https://api.workload.example:6443');
    expect(opened.management?.server).toBe(server.connection.server);
    expect(server.received.map(({ url }) => url)).toEqual([SECRET_PATH]);
    opened.close();
  });

  it.each([
    ['no value', { data: {} }, 'invalid', /^Secret eksa-system\/berlin-kubeconfig on/],
    ['a value that is no base64', { data: { value: '%SENTINEL%' } }, 'invalid', /^Secret eksa-system/],
    ['no kubeconfig', { data: { value: base64('SENTINEL') } }, 'kubeconfig', /^kubeconfig of eksa-system\/berlin on/],
  ])('%s is a problem that quotes nothing of it', async (_, secret, kind, object) => {
    const { sources } = await managing(secret);
    const problem = await problemOf({ access, management: MANAGEMENT }, sources);
    expect(problem).toMatchObject({ kind, object: expect.stringMatching(object) });
    expect(JSON.stringify(problem)).not.toContain('SENTINEL');
  });

  it.each(['https://169.254.169.254', 'https://[fe80::1]:6443', 'https://[fd00:ec2::254]/', 'https://instance-data'])(
    'does not lead to %s, which the owner of the fleet may',
    async (server) => {
      const { sources } = await managing({ data: { value: base64(kubeconfig(server)) } });
      expect(await problemOf({ access, management: MANAGEMENT }, sources)).toMatchObject({
        kind: 'kubeconfig',
        object: expect.stringMatching(/^kubeconfig of eksa-system\/berlin on/),
        message: expect.stringContaining('link-local'),
      });
      (await open({}, { readSecret: async () => kubeconfig(server) })).close();
    },
  );

  it('may be forbidden, with the command that grants it', async () => {
    const { sources } = await managing(statusBody(403, 'Forbidden', 'no'), 403);
    expect(await problemOf({ access, management: MANAGEMENT }, sources)).toMatchObject({
      kind: 'forbidden',
      remedy: expect.stringContaining('certmarshal rbac --management --kubeconfig-of eksa-system/berlin'),
    });
  });

  it.each([
    ['eksa/system', 'berlin'],
    ['eksa-system', 'berlin/../../x'],
    ['..', 'berlin'],
  ])('asks for nothing outside its namespace: %s, %s', async (namespace, name) => {
    const { server, sources } = await managing({});
    const cluster = { name, provider: 'eks-anywhere' } as const;
    const hostile = { cluster, access: { kind: 'cluster-api', namespace } as const, management: MANAGEMENT };
    expect(await problemOf(hostile, sources)).toMatchObject({ kind: 'invalid' });
    expect(server.received).toEqual([]);
  });

  it('needs a management cluster', async () => {
    expect(await problemOf({ access })).toMatchObject({ kind: 'invalid', object: 'kubeconfig of eksa-system/berlin' });
  });
});
