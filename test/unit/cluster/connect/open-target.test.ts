import { createServer } from 'node:https';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { isEksEndpoint } from '../../../../lambdas/aws/eks-endpoint.ts';
import { AwsError } from '../../../../lambdas/aws/errors.ts';
import { KubeconfigSecretError } from '../../../../lambdas/aws/kubeconfig-secret.ts';
import {
  type OpenTarget,
  openTarget,
  type TargetSources,
  UnusableTargetError,
} from '../../../../lambdas/cluster/connect/open-target.ts';
import type { Problem } from '../../../../lambdas/contracts/problem.ts';
import type { Access, Target } from '../../../../lambdas/contracts/target.ts';
import { isOnLoopback } from '../../../fleet/loopback.ts';
import {
  answer,
  createAuthority,
  defaultCertificates,
  startTlsServer,
  statusBody,
  TOKEN,
} from '../../kubernetes/tls-server.ts';
import { createServing, createAuthority as createTlsAuthority, listen } from '../../tls/tls-servers.ts';

const arnOf = (name: string) => `arn:aws:secretsmanager:eu-west-1:123456789012:secret:${name}-AbCdEf`;
const UUID = '6b1f9c27-d0e8-4a35-9f00-1c2d3e4f5a6b';
const SCOPE = { account: '111122223333', region: 'eu-central-1' } as const;
const OWN: Access = { kind: 'kubeconfig', secret: arnOf('own') };
const MANAGEMENT = { access: { kind: 'kubeconfig', secret: arnOf('management') }, namespace: 'eksa-system' } as const;
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
  addresses: 'local',
  readSecret: async (arn) => SECRETS[arn] ?? '',
  signToken: async () => TOKEN,
  isEksEndpoint: isOnLoopback,
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
      endpoints: ['api.berlin.example'],
    });
    const readSecret = async () => kubeconfig('https://[2001:db8::1]:6443');
    expect((await open({}, { readSecret })).cluster.endpoints).toEqual(['2001:db8::1']);
  });

  it.each(['eks', 'eks-anywhere'] as const)('reads Machines of %s from the management cluster', async (provider) => {
    const cluster = { name: 'berlin', provider };
    expect((await open({ cluster, management: MANAGEMENT })).management?.server).toBe('https://api.management.example');
    const inNamespace = await open({ cluster, management: { ...MANAGEMENT, namespace: 'team-a' } });
    expect(inNamespace.machinesNamespace).toBe('team-a');
  });

  it('never enters a management cluster with an expired certificate, whatever is tolerated of the cluster', async () => {
    const authority = await createTlsAuthority('expired');
    const serving = await createServing(authority, { ipAddresses: ['127.0.0.1'], from: -90, to: -1 });
    const port = await listen(createServer(serving, (_request, response) => answer(response, 200, {})));
    const text = kubeconfig(`https://127.0.0.1:${port}`, authority.certificate);
    const sources = { ...SOURCES, readSecret: async () => text };
    const opened = await openTarget(targetOf({ management: MANAGEMENT }), sources, never, { pin: 'authority' });
    const version = { method: 'GET', path: '/version' } as const;
    await expect(opened.workload.request(version)).resolves.toEqual({});
    await expect(opened.management?.request(version)).rejects.toMatchObject({
      kind: 'certificate-expired',
      remedy: expect.stringContaining('Neither --tolerate-expired nor recovery'),
    });
  });

  it('takes an EKS Anywhere cluster without one as its own management cluster', async () => {
    const { workload, management, machinesNamespace } = await open({
      cluster: anywhere,
      management: { namespace: 'team-a' },
    });
    expect(management).toBe(workload);
    expect(machinesNamespace).toBe('team-a');
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
    ['a CA that is no certificate', 'https://127.0.0.1', base64('x'), 'certificate'],
    ['an endpoint without TLS', 'http://127.0.0.1', base64('x'), 'invalid'],
    ['an endpoint that is not of EKS', 'https://api.example', base64('x'), 'endpoint'],
  ])('cannot be had with %s', async (_, endpoint, certificateAuthority, kind) => {
    expect(await problemOf({ access: { kind: 'eks', endpoint, certificateAuthority, scope: SCOPE } })).toMatchObject({
      kind,
      object: 'EKS cluster berlin in 111122223333/eu-central-1',
    });
  });

  it('with the endpoint of an attacker has no token signed, and nothing is sent there', async () => {
    const server = await echo();
    const { caPem, server: endpoint } = server.connection;
    const signed: unknown[] = [];
    const signToken = async (...args: unknown[]) => {
      signed.push(args);
      return TOKEN;
    };
    const access = { kind: 'eks', endpoint, certificateAuthority: base64(caPem), scope: SCOPE } as const;
    expect(await problemOf({ access }, { signToken, isEksEndpoint })).toEqual({
      kind: 'endpoint',
      object: 'EKS cluster berlin in 111122223333/eu-central-1',
      message: `its endpoint ${endpoint} is not an EKS endpoint in Region eu-central-1, so no token is signed for it`,
      remedy: expect.stringContaining('aws eks describe-cluster'),
    });
    // The Region counts: a token for one is not for a server of another.
    const elsewhere = 'https://0A1B.gr7.eu-west-1.eks.amazonaws.com';
    expect(await problemOf({ access: { ...access, endpoint: elsewhere } }, { signToken, isEksEndpoint })).toMatchObject(
      { kind: 'endpoint' },
    );
    expect(signed).toEqual([]);
    expect(server.connections()).toBe(0);
  });

  it('named by a kubeconfig with an authenticatorId is bound to EKS too; an EKS Anywhere cluster is where its owner says', async () => {
    const access: Access = { kind: 'kubeconfig', secret: arnOf('own'), authenticatorId: 'berlin' };
    const strict = { isEksEndpoint };
    expect(await problemOf({ access }, strict)).toMatchObject({
      kind: 'endpoint',
      object: `kubeconfig in secret ${arnOf('own')}`,
      message: expect.stringContaining('https://api.berlin.example:6443'),
    });
    const uuid = { ...access, authenticatorId: UUID };
    (await open({ access: uuid, cluster: anywhere }, strict)).close();
    // EKS Anywhere has UUIDs alone: another id is the name of an EKS cluster, and an EKS cluster may have a UUID for its name.
    expect(await problemOf({ access, cluster: anywhere }, strict)).toMatchObject({ kind: 'endpoint' });
    expect(await problemOf({ access: uuid }, strict)).toMatchObject({ kind: 'endpoint' });
    const eks = 'https://0A1B.gr7.eu-west-1.eks.amazonaws.com';
    (await open({ access }, { ...strict, readSecret: async () => kubeconfig(eks) })).close();
    // Its own token is the owner's word.
    (await open({ access: OWN }, strict)).close();
  });

  it('signs no token for the name of an EKS cluster to a management cluster elsewhere', async () => {
    const management = await echo();
    const { caPem, server } = management.connection;
    const signed: unknown[] = [];
    const sources = {
      isEksEndpoint,
      readSecret: async () => kubeconfig(server, caPem),
      signToken: async (...args: unknown[]) => {
        signed.push(args);
        return TOKEN;
      },
    };
    const managed = (authenticatorId: string) => ({
      cluster: anywhere,
      access: { kind: 'cluster-api', namespace: 'eksa-system' } as const,
      management: { ...MANAGEMENT, access: { ...MANAGEMENT.access, authenticatorId } },
    });
    expect(await problemOf(managed('dublin'), sources)).toMatchObject({
      kind: 'endpoint',
      object: `kubeconfig in secret ${arnOf('management')}`,
      message: expect.stringContaining(server),
    });
    expect(signed).toEqual([]);
    expect(management.connections()).toBe(0);
    // That of an EKS Anywhere cluster is where its owner says.
    expect(await problemOf(managed(UUID), sources)).not.toMatchObject({ kind: 'endpoint' });
    expect(signed[0]).toEqual([UUID, 'eu-west-1']);
  });

  it('fails as credentials when no token can be signed', async () => {
    const { caPem, server } = (await echo()).connection;
    const access = { kind: 'eks', endpoint: server, certificateAuthority: base64(caPem), scope: SCOPE } as const;
    const error = new AwsError({ kind: 'expired', object: 'token for berlin', problem: 'no token', remedy: 'Fix.' });
    const opened = await open({ access }, { signToken: async () => Promise.reject(error) });
    await expect(opened.workload.request(version)).rejects.toMatchObject({
      kind: 'credentials',
      object: 'token for berlin',
      problem: 'no token',
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

describe('an API server that is no other machine', () => {
  it.each([
    ['https://169.254.169.254', '169.254.169.254'],
    ['https://[fe80::1]:6443', 'fe80::1'],
    ['https://[fd00:ec2::254]/', 'fd00:ec2::254'],
    ['https://127.0.0.1:9001', '127.0.0.1'],
    ['https://0x7f.1', '127.0.0.1'],
    ['https://2130706433', '127.0.0.1'],
    ['https://[::ffff:127.0.0.1]:9001', '::ffff:7f00:1'],
    ['https://168.63.129.16', '168.63.129.16'],
  ])('is not opened by any access: %s', async (server, address) => {
    const refused = { kind: 'invalid', message: expect.stringContaining(`${address} is a loopback, link-local`) };
    const certificateAuthority = base64((await defaultCertificates()).authority.certificatePem);
    const secret = { readSecret: async () => kubeconfig(server), addresses: 'cluster' } as const;
    expect(await problemOf({}, secret)).toMatchObject(refused);
    expect(await problemOf({ management: MANAGEMENT }, secret)).toMatchObject(refused);
    const eks = { kind: 'eks', endpoint: server, certificateAuthority, scope: SCOPE } as const;
    const unpinned = { addresses: 'cluster', isEksEndpoint: () => true } as const;
    expect(await problemOf({ access: eks }, unpinned)).toMatchObject(refused);
  });

  it('is not opened by the kubeconfig of Cluster API either', async () => {
    const { authority } = await defaultCertificates();
    const value = base64(kubeconfig('https://169.254.169.254'));
    const server = await startTlsServer((_, response) => answer(response, 200, { data: { value } }));
    const readSecret = async () => kubeconfig(server.connection.server, authority.certificatePem);
    const access: Access = { kind: 'cluster-api', namespace: 'eksa-system' };
    expect(await problemOf({ access, management: MANAGEMENT }, { readSecret })).toMatchObject({
      kind: 'invalid',
      object: expect.stringMatching(/^kubeconfig of eksa-system\/berlin on/),
      message: expect.stringContaining('169.254.169.254'),
    });
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
    ['no value', { data: {} }, 'invalid'],
    ['a value that is no base64', { data: { value: '%SENTINEL%' } }, 'invalid'],
    ['no kubeconfig', { data: { value: base64('SENTINEL') } }, 'kubeconfig'],
  ])('%s is a problem that quotes nothing of it', async (_, secret, kind) => {
    const { sources } = await managing(secret);
    const problem = await problemOf({ access, management: MANAGEMENT }, sources);
    expect(problem).toMatchObject({ kind, object: expect.stringMatching(/^kubeconfig of eksa-system\/berlin on/) });
    expect(JSON.stringify(problem)).not.toContain('SENTINEL');
  });

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
