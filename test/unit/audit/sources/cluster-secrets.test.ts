import { beforeAll, describe, expect, it, test } from 'vitest';
import { clusterSecrets } from '../../../../lambdas/audit/sources/cluster-secrets.ts';
import { base64, CA_ENDS, createPki, LEAF_ENDS, type Pki } from './certificates.ts';
import { type Answers, certificatesOf, contextOf, failure, fakeClient, outline, TOLD } from './fake-cluster.ts';
import { machineMember, NAMESPACE, observeManaged } from './fake-management.ts';

const pathOf = (secret: string, namespace = NAMESPACE) => `/api/v1/namespaces/${namespace}/secrets/berlin-${secret}`;

let pki: Pki;
let secrets: Record<string, object>;
beforeAll(async () => {
  pki = await createPki();
  const ca = { data: { 'tls.crt': base64(pki.ca.certificate), 'tls.key': base64(pki.keyPem) } };
  const client = {
    data: { 'tls.crt': base64(await pki.leaf('berlin-kube-apiserver-etcd-client')), 'tls.key': base64(pki.keyPem) },
  };
  secrets = {
    [pathOf('ca')]: ca,
    [pathOf('proxy')]: ca,
    [pathOf('etcd')]: { data: { 'tls.crt': base64(pki.ca.certificate) } },
    [pathOf('apiserver-etcd-client')]: client,
    [pathOf('kubeconfig')]: { data: { value: base64(kubeconfig(base64(await pki.leaf('kubernetes-admin')))) } },
    [pathOf('aws-iam-authenticator-ca')]: ca,
  };
});

function kubeconfig(certificate: unknown): string {
  return `apiVersion: v1
kind: Config
clusters:
- name: berlin
  cluster: {server: "https://10.0.1.100:6443", certificate-authority-data: ${base64(pki.ca.certificate)}}
users:
- name: berlin-admin
  user:
    client-certificate-data: ${String(certificate)}
    client-key-data: ${base64(pki.keyPem)}
contexts:
- name: berlin-admin@berlin
  context: {cluster: berlin, user: berlin-admin}
current-context: berlin-admin@berlin
`;
}

/** Nothing of a private key, in PEM or in base64, whatever line it is from. */
function expectNoKey(value: unknown): void {
  const text = JSON.stringify(value);
  const lines = [...pki.keyPem.split('\n'), ...(base64(pki.keyPem).match(/.{40}/g) ?? [])].filter(
    ({ length }) => length > 20,
  );
  expect(lines.length).toBeGreaterThan(5);
  for (const line of lines) expect(text).not.toContain(line);
}

test('the certificate in each, and nothing else', async () => {
  const read = await observeManaged(clusterSecrets, secrets);
  expect(read.count).toBe(6);
  expect(outline(read)).toEqual([
    'certificate cluster-ca @ Secret eksa-system/berlin-ca tls.crt #0',
    'certificate front-proxy-ca @ Secret eksa-system/berlin-proxy tls.crt #0',
    'certificate etcd-ca @ Secret eksa-system/berlin-etcd tls.crt #0',
    'certificate apiserver-etcd-client @ Secret eksa-system/berlin-apiserver-etcd-client tls.crt #0',
    'certificate cluster-kubeconfig @ Secret eksa-system/berlin-kubeconfig value #0',
    'certificate aws-iam-authenticator-ca @ Secret eksa-system/berlin-aws-iam-authenticator-ca tls.crt #0',
  ]);
  expect(certificatesOf(read).map(({ notAfter }) => notAfter)).toEqual([
    CA_ENDS,
    CA_ENDS,
    CA_ENDS,
    LEAF_ENDS,
    LEAF_ENDS,
    CA_ENDS,
  ]);
  expect(certificatesOf(read)[4]).toMatchObject({
    source: 'cluster-secrets',
    ...TOLD,
    basis: 'certificate',
    commonName: 'kubernetes-admin',
  });
  expectNoKey(read.observations);
});

describe('without the opt-in', () => {
  it('is off, and reads nothing even when it is asked', async () => {
    const reach = { secrets: false };
    const { target } = contextOf(fakeClient({}), { reach });
    expect(clusterSecrets.off({ ...target, management: fakeClient({}) })).toBe('not opted in');
    const read = await observeManaged(clusterSecrets, secrets, { reach });
    expect(read.client.calls).toEqual([]);
    expect(read).toMatchObject({ observations: [], count: 0 });
  });
});

test('not every cluster has each of them', async () => {
  const { [pathOf('ca')]: ca = {} } = secrets;
  const read = await observeManaged(clusterSecrets, { [pathOf('ca')]: ca });
  const [first, ...others] = read.observations;
  expect(first).toMatchObject({ kind: 'certificate', where: 'Secret eksa-system/berlin-ca tls.crt' });
  expect(others).toHaveLength(5);
  for (const other of others) expect(other).toMatchObject({ kind: 'unread', problem: 'not-found', usual: true });
  expect(read.count).toBe(1);
});

test.each([
  ['forbidden', 'forbidden'],
  ['too-large', 'too-large'],
  ['invalid', 'malformed'],
] as const)('one that is %s is a place that could not be read', async (kind, problem) => {
  const read = await observeManaged(clusterSecrets, { ...secrets, [pathOf('etcd')]: failure(kind) });
  expect(outline(read)).toHaveLength(6);
  expect(outline(read)[2]).toBe(`unread etcd-ca @ Secret eksa-system/berlin-etcd tls.crt: ${problem}`);
  expect(read.observations[2]).not.toHaveProperty('usual', expect.anything());
});

test.each(['unreachable', 'timeout', 'aborted', 'server', 'unauthorized'] as const)(
  '%s is about all of them',
  async (kind) => {
    const answers = { ...secrets, [pathOf('etcd')]: failure(kind) };
    await expect(observeManaged(clusterSecrets, answers)).rejects.toMatchObject({ kind });
  },
);

test('nothing but refusals: the source', async () => {
  const answers = Object.fromEntries(Object.keys(secrets).map((path) => [path, failure('forbidden')]));
  await expect(observeManaged(clusterSecrets, answers)).rejects.toMatchObject({ kind: 'forbidden' });
  const rest = { [pathOf('ca')]: failure('forbidden') };
  await expect(observeManaged(clusterSecrets, rest)).rejects.toMatchObject({ kind: 'forbidden' });
});

test('they are sought in the namespace of the Cluster, wherever Machines are', async () => {
  const client = fakeClient({});
  const members = ['Machine team-b/x', 'Machine team-c/x'].map((name) => ({ ...machineMember('x', 'worker'), name }));
  const context = contextOf(client, { members });
  const target = { ...context.target, management: client, machinesNamespace: 'team-a' };
  // Not one of them: the audit knows whether there was one.
  await expect(clusterSecrets.observe({ ...context, target })).rejects.toMatchObject({ kind: 'not-found' });
  expect(new Set(client.calls.map(({ path }) => path.split('/')[4]))).toEqual(new Set(['team-a']));
  expect(clusterSecrets.optional).toBe('always');
});

test('what holds no certificate is unread, and says nothing of what it holds', async () => {
  const strange: readonly [string, () => object][] = [
    ['ca', () => ({ data: { 'tls.crt': base64(pki.keyPem) } })],
    ['ca', () => ({ data: { 'tls.crt': pki.keyPem } })],
    ['ca', () => ({ data: { 'tls.crt': '', 'tls.key': base64(pki.keyPem) } })],
    ['ca', () => ({ data: { 'tls.crt': 7 } })],
    ['ca', () => ({ data: [pki.keyPem] })],
    ['ca', () => ({ stringData: { 'tls.crt': pki.keyPem } })],
    [
      'ca',
      () => ({
        data: { 'tls.crt': base64(`-----BEGIN CERTIFICATE-----\n${base64(pki.keyPem)}\n-----END CERTIFICATE-----`) },
      }),
    ],
    ['kubeconfig', () => ({ data: { value: base64(pki.keyPem) } })],
    ['kubeconfig', () => ({ data: { value: base64(kubeconfig('""')) } })],
    ['kubeconfig', () => ({ data: { value: base64(kubeconfig(`"${pki.keyPem.slice(0, 20)}"`)) } })],
    ['kubeconfig', () => ({ data: { value: base64(kubeconfig(base64(pki.keyPem))) } })],
    ['kubeconfig', () => ({ data: { value: base64('a: &a [*a, *a]') } })],
    ['kubeconfig', () => ({ data: { value: base64('['.repeat(10_000)) } })],
  ];
  for (const [secret, make] of strange) {
    const answers: Answers = { [pathOf(secret)]: make() };
    const read = await observeManaged(clusterSecrets, answers);
    expect(outline(read).filter((line) => !line.endsWith(': not-found'))).toEqual([
      expect.stringMatching(/^unread .*: malformed$/),
    ]);
    expectNoKey(read.observations);
  }
});

test.each(['../x', 'a/b', 'A', 'x'.repeat(64), ''])('no path is made of the name %j', async (name) => {
  const client = fakeClient({});
  const context = contextOf(client);
  const target = { ...context.target, cluster: { ...context.target.cluster, name }, management: client };
  await expect(clusterSecrets.observe({ ...context, target })).rejects.toMatchObject({ kind: 'invalid' });
  expect(client.calls).toEqual([]);
});
