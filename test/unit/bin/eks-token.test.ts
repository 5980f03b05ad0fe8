import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { DescribeEks } from '../../../bin/eks-cluster.ts';
import { createReadExec } from '../../../bin/eks-token.ts';
import { load } from '../../../bin/target.ts';
import { AwsError } from '../../../lambdas/aws/errors.ts';
import type { ReadExec } from '../../../lambdas/kubernetes/local-kubeconfig.ts';
import type { JsonObject } from '../../../lambdas/resources/fields.ts';
import { tokenRefusal, urlOf } from '../aws/authenticator.ts';
import { type HttpService, startHttpService } from '../aws/http-service.ts';
import { kubeconfigOf } from './kubeconfigs.ts';

const ENDPOINT = 'https://0A1B2C3D4E5F60718293A4B5C6D7E8F9.gr7.eu-central-1.eks.amazonaws.com';
const ROLE = 'arn:aws:iam::111122223333:role/eks-reader';
const execOf = (profile?: string, ...more: readonly string[]) => ({
  apiVersion: 'client.authentication.k8s.io/v1beta1',
  command: 'aws',
  args: ['--region', 'eu-central-1', 'eks', 'get-token', '--cluster-name', 'dublin', '--output', 'json', ...more],
  env: profile === undefined ? null : [{ name: 'AWS_PROFILE', value: profile }],
});

let directory: string;
let sts: HttpService;

// The SDK reads the configuration files of a process once.
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'certmarshal-eks-token-'));
  const file = join(directory, 'credentials');
  const secret = 'n'.repeat(40);
  await writeFile(
    file,
    ['default', 'prod', 'ended']
      .map((name) => `[${name}]\naws_access_key_id = AKID${name.toUpperCase()}\naws_secret_access_key = ${secret}\n`)
      .join('\n'),
  );
  const until = new Date(Date.now() + 900_000).toISOString();
  sts = await startHttpService(({ form }) =>
    form.get('RoleArn') === ROLE
      ? {
          body: `<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>ASIAROLE</AccessKeyId><SecretAccessKey>${secret}</SecretAccessKey><SessionToken>session</SessionToken><Expiration>${until}</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>`,
        }
      : {
          status: 403,
          body: '<ErrorResponse><Error><Code>AccessDenied</Code><Message>not you</Message></Error></ErrorResponse>',
        },
  );
  for (const [name, value] of Object.entries({
    AWS_CONFIG_FILE: join(directory, 'config'),
    AWS_SHARED_CREDENTIALS_FILE: file,
    AWS_EC2_METADATA_DISABLED: 'true',
    AWS_ACCESS_KEY_ID: undefined,
    AWS_SECRET_ACCESS_KEY: undefined,
    AWS_PROFILE: undefined,
  }))
    vi.stubEnv(name, value);
});

afterAll(async () => {
  vi.unstubAllEnvs();
  await sts[Symbol.asyncDispose]();
  await rm(directory, { recursive: true });
});

const CA = Buffer.from('the CA bundle of dublin').toString('base64');
/** What EKS says of dublin. */
const describing =
  (change: object = {}): DescribeEks =>
  async (_, name) => ({
    name,
    arn: '',
    status: 'ACTIVE',
    endpoint: ENDPOINT,
    certificateAuthority: CA,
    tags: {},
    endpointAccess: 'public',
    serviceCidrs: [],
    remoteNodeNetworks: [],
    ...change,
  });
const readExec = (exec: JsonObject, server: string) => createReadExec(false, describing())(exec, server, CA);

const asked = (read: ReturnType<ReadExec>) => {
  if (read === undefined) throw new Error('it is not read');
  return read.token();
};
const keyOf = (token: string) => urlOf(token).searchParams.get('X-Amz-Credential')?.split('/')[0];

describe('a token that is signed in place of aws eks get-token', () => {
  it('is one that the authenticator takes, of the identity that the kubeconfig names', async () => {
    const token = await asked(readExec(execOf(), ENDPOINT));
    expect(tokenRefusal(token, ['sts.eu-central-1.amazonaws.com'], Date.now())).toBeUndefined();
    expect(keyOf(token)).toBe('AKIDDEFAULT');
    expect(keyOf(await asked(readExec(execOf('prod'), ENDPOINT)))).toBe('AKIDPROD');
  });

  it('counts the profile of the kubeconfig more than that of the environment', async () => {
    vi.stubEnv('AWS_PROFILE', 'ended');
    expect(keyOf(await asked(readExec(execOf('prod'), ENDPOINT)))).toBe('AKIDPROD');
    expect(keyOf(await asked(readExec(execOf(), ENDPOINT)))).toBe('AKIDENDED');
    vi.stubEnv('AWS_PROFILE', undefined);
  });

  it('is of the role that the kubeconfig names, assumed with its profile, as aws does', async () => {
    vi.stubEnv('AWS_ENDPOINT_URL_STS', sts.url);
    expect(keyOf(await asked(readExec(execOf('prod', '--role', ROLE), ENDPOINT)))).toBe('ASIAROLE');
    const [call] = sts.calls;
    expect(call?.form.get('RoleSessionName')).toBe('EKSGetTokenAuth');
    expect(call?.headers.authorization).toContain('Credential=AKIDPROD/');
    const other = ROLE.replace('reader', 'other');
    await expect(asked(readExec(execOf('prod', '--role', other), ENDPOINT))).rejects.toMatchObject({
      kind: 'credentials',
      object: 'the token for EKS cluster dublin',
      remedy: expect.stringContaining(`trust policy of ${other}`),
    });
    vi.stubEnv('AWS_ENDPOINT_URL_STS', undefined);
  });

  it('names the profile that has no credentials', async () => {
    await expect(asked(readExec(execOf('nobody'), ENDPOINT))).rejects.toMatchObject({
      kind: 'credentials',
      problem:
        'there are no usable AWS credentials (CredentialsProviderError), with the profile nobody of the kubeconfig',
      remedy: expect.stringContaining('aws sso login'),
    });
  });

  it.each([
    ['another server', 'https://api.example.com'],
    ['this machine', 'https://127.0.0.1:6443'],
    ['another Region', ENDPOINT.replace('eu-central-1', 'us-east-1')],
    ['another port', `${ENDPOINT}:6443`],
    ['a path', `${ENDPOINT}/proxy`],
    ['a name that only begins like it', `${ENDPOINT}.example.com`],
    ['plain HTTP', ENDPOINT.replace('https', 'http')],
    ['a name of another service', 'https://0a1b.eu-central-1.elb.amazonaws.com'],
  ])('is not made for %s', (_, server) => {
    expect(readExec(execOf(), server)).toBeUndefined();
  });
});

describe('the server that gets a token', () => {
  const reading = (ofEks: DescribeEks, caData: string | undefined = CA, isTrusted = false) =>
    asked(createReadExec(isTrusted, ofEks)(execOf(), ENDPOINT, caData));
  const denied: DescribeEks = async () => {
    throw new AwsError({ kind: 'denied', object: 'eks:DescribeCluster', problem: 'no', remedy: 'Grant it.' });
  };

  it.each<[string, DescribeEks, string | undefined]>([
    ['another server of EKS', describing({ endpoint: ENDPOINT.replace('https://0', 'https://1') }), CA],
    ['the same name with another CA bundle', describing(), Buffer.from('mine').toString('base64')],
    ['the same name without a CA bundle', describing(), ''],
    ['a cluster that is being made', describing({ endpoint: undefined }), CA],
    ['one that EKS does not tell of', denied, CA],
  ])('is not %s', async (_, ofEks, caData) => {
    await expect(reading(ofEks, caData)).rejects.toMatchObject({
      kind: 'credentials',
      remedy: expect.stringContaining('pass --allow-exec'),
    });
  });

  it('is what the file says where the user trusts it', async () => {
    expect(keyOf(await reading(denied, CA, true))).toBe('AKIDDEFAULT');
  });
});

describe('a kubeconfig of EKS', () => {
  const opened = async (server: string, user: object, more: object = {}) => {
    const file = join(directory, 'config.json');
    const { clusters, ...others } = JSON.parse(kubeconfigOf({ server, user }));
    const [{ name, cluster }] = clusters;
    await writeFile(file, JSON.stringify({ ...others, clusters: [{ name, cluster: { ...cluster, ...more } }] }));
    return load([file], {});
  };

  it('is opened without --allow-exec, and runs nothing', async () => {
    expect(await opened(ENDPOINT, { exec: execOf('prod') })).toMatchObject({
      credentials: { kind: 'token', token: expect.any(Function) },
      awsProfile: 'prod',
    });
  });

  it.each<[string, string, object, object]>([
    ['another server', 'https://127.0.0.1:1', { exec: execOf() }, {}],
    ['one argument more', ENDPOINT, { exec: execOf(undefined, '--debug') }, {}],
    ['another name to prove', ENDPOINT, { exec: execOf() }, { 'tls-server-name': 'evil.example' }],
  ])('needs --allow-exec with %s', async (_, server, user, cluster) => {
    await expect(opened(server, user, cluster)).rejects.toThrow(
      'users[0].user.exec: it runs a command to get credentials, which is not allowed. If you trust the file, pass --allow-exec.',
    );
  });
});
