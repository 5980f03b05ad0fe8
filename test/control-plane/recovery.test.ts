import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rbacManifests } from '../../bin/commands/rbac.ts';
import { DEFAULT_POLICY, KUBELET_CLIENT_SIGNER } from '../../lambdas/approval/policy.ts';
import type { SweepReport } from '../../lambdas/approval/report.ts';
import type { RecoveryEntry } from '../../lambdas/config/fleet.ts';
import type { ExpiredServer } from '../../lambdas/contracts/order.ts';
import type { SweepOutcome } from '../../lambdas/contracts/outcome.ts';
import { createKubernetesClient, type KubernetesClient } from '../../lambdas/kubernetes/client.ts';
import type { Connection } from '../../lambdas/kubernetes/connection.ts';
import { microTime } from '../../lambdas/kubernetes/leases.ts';
import { recoverNodes } from '../../lambdas/recovery/recover-nodes.ts';
import { DEFAULT_BOOTSTRAP_GROUPS } from '../../lambdas/recovery/recovery.ts';
import { runCli } from '../unit/bin/run-cli.ts';
import { minuteOf } from '../unit/cluster/minute-over-tls.ts';
import { keyPair, makeRequest, type RequestOptions } from '../unit/x509/request-factory.ts';
import { type Admin, connectAdmin } from './admin.ts';
import { applyCrds } from './crds.ts';
import { approveCsr, asNode, CSRS, type Csr, createMachine, createNode, signedCertificate } from './fixtures.ts';
import { realComponents } from './real.ts';
import { type ControlPlane, startControlPlane, type TokenUser } from './start.ts';

const real = await realComponents('recovery of a real control plane', 'etcd', 'kubeApiserver', 'kubeControllerManager');

const CLUSTER = 'berlin-prod';
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const AUTHORITY: ExpiredServer = { pin: 'authority' };
const signal = new AbortController().signal;

const BOOTSTRAPPER: TokenUser = {
  name: 'system:bootstrap:abcdef',
  groups: ['system:bootstrappers', ...DEFAULT_BOOTSTRAP_GROUPS],
};
const USERS: readonly TokenUser[] = [
  BOOTSTRAPPER,
  { name: 'system:bootstrap:uvwxyz', groups: [...(BOOTSTRAPPER.groups ?? []), 'operators'] },
  { name: 'system:node:cp-2', groups: ['system:nodes'] },
  { name: 'mallory', groups: BOOTSTRAPPER.groups ?? [] },
];

interface Asking {
  readonly usages?: readonly string[];
  readonly expirationSeconds?: number;
  /** @default the token of the user */
  readonly credentials?: Connection['credentials'];
}

/** What a Kubernetes of kubeadm has for its bootstrap tokens. */
const BOOTSTRAP_BINDING = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: kubeadm:kubelet-bootstrap }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: system:node-bootstrapper }
subjects:
  - { apiGroup: rbac.authorization.k8s.io, kind: Group, name: ${DEFAULT_BOOTSTRAP_GROUPS[0]} }
`;

describe.skipIf(real.missing)('recovery of a real control plane', () => {
  let controlPlane: ControlPlane;
  let admin: Admin;
  let workload: KubernetesClient;
  let entry: RecoveryEntry;
  const clients: KubernetesClient[] = [];
  /** The client certificates of cp-1 and cp-2. */
  const expired: string[] = [];

  function connect(user: string, expiredServer?: ExpiredServer, more: Partial<Connection> = {}): KubernetesClient {
    const client = createKubernetesClient(
      {
        server: controlPlane.server,
        caPem: controlPlane.caPem,
        credentials: { kind: 'token', token: controlPlane.tokenFor(user) },
        addresses: 'local',
        expiredServer,
        ...more,
      },
      { sleep: async () => {} },
    );
    clients.push(client);
    return client;
  }

  /** As a kubelet asks, which has to get through as well. */
  async function ask(
    name: string,
    user: string,
    node: string,
    { usages, expirationSeconds, credentials, ...request }: RequestOptions & Asking = {},
  ): Promise<void> {
    const { pem } = makeRequest({ commonName: `system:node:${node}`, sans: [], ...request });
    await connect(user, AUTHORITY, credentials === undefined ? {} : { credentials }).request({
      method: 'POST',
      path: CSRS,
      body: {
        apiVersion: 'certificates.k8s.io/v1',
        kind: 'CertificateSigningRequest',
        metadata: { name },
        spec: {
          request: pem.toString('base64'),
          signerName: KUBELET_CLIENT_SIGNER,
          usages: usages ?? ['digital signature', 'client auth'],
          expirationSeconds,
        },
      },
      signal,
    });
  }

  /** The minute of the hub, by an entry of fleet.yaml. */
  async function minute(
    recovery: readonly RecoveryEntry[] = [entry],
    clock: () => number = Date.now,
  ): Promise<{ readonly outcome: SweepOutcome; readonly rows: Readonly<Record<string, string>> }> {
    const kubeconfig = await readFile(controlPlane.kubeconfig('certmarshal'), 'utf8');
    const sweepOne = minuteOf({
      readSecret: async () => kubeconfig,
      recovery: { entries: recovery, recoverNodes },
      clock,
    });
    const target = {
      id: CLUSTER,
      cluster: { name: CLUSTER, provider: 'eks-anywhere' },
      access: { kind: 'kubeconfig', secret: 'arn:aws:secretsmanager:eu-west-1:111122223333:secret:berlin-AbCdEf' },
      management: { namespace: 'eksa-system' },
      lane: 'default',
    } as const;
    const order = { target, tick: Date.now(), deadlineMs: 30_000, expiredServer: AUTHORITY };
    const { outcome, report } = await sweepOne(order, signal);
    return { outcome, rows: report === undefined ? {} : told(report) };
  }

  /** `run --recover` at a keyboard. */
  async function keyboard(nodes: readonly string[], ...more: readonly string[]) {
    const until = new Date(Date.now() + 20 * MINUTE).toISOString();
    const cluster = ['--kubeconfig', controlPlane.kubeconfig('certmarshal'), '--cluster', CLUSTER];
    const { status, stdout, stderr } = await runCli([
      'run',
      '--no-handshakes',
      ...cluster,
      '--provider',
      'eks-anywhere',
      '--tolerate-expired',
      'authority',
      '--recover',
      ...nodes,
      '--until',
      until,
      '--output',
      'json',
      ...more,
    ]);
    return { status, stderr, rows: stdout === '' ? {} : told({ rows: JSON.parse(stdout).clusters[0].verdicts }) };
  }

  const told = ({ rows }: Pick<SweepReport, 'rows'>) =>
    Object.fromEntries(rows.map(({ csr, reason, outcome }) => [csr, `${reason} ${outcome}`]));
  const approvedIn = async (client: KubernetesClient): Promise<readonly string[]> => {
    const { items } = await client.request({ method: 'GET', path: CSRS, signal });
    const all: readonly Csr[] = Array.isArray(items) ? items : [];
    return all
      .filter(({ status }) => status.conditions?.some(({ type }) => type === 'Approved') === true)
      .map(({ metadata }) => metadata.name)
      .toSorted();
  };

  beforeAll(async () => {
    controlPlane = await startControlPlane({
      binaries: real.binaries,
      users: USERS,
      controllerManager: { signingDuration: '1s' },
    });
    admin = connectAdmin(controlPlane);
    await applyCrds(controlPlane);
    await admin.apply(BOOTSTRAP_BINDING);
    await admin.apply(rbacManifests({ group: 'certmarshal' }, [DEFAULT_POLICY]));
    await admin.apply(rbacManifests({ group: 'certmarshal', recovery: true }, [DEFAULT_POLICY]));
    await admin.apply(rbacManifests({ group: 'certmarshal', management: true }, [DEFAULT_POLICY]));
    for (const node of ['cp-1', 'cp-2', 'cp-3', 'cp-4', 'worker-1']) {
      await createNode(admin, { name: node });
      await createMachine(admin, {
        name: `${CLUSTER}-${node}`,
        clusterName: CLUSTER,
        nodeName: node,
        labels: node === 'worker-1' ? {} : { 'cluster.x-k8s.io/control-plane': '' },
      });
    }
    // cp-3 is alive, by the one thing that tells.
    await admin.post('/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases', {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'cp-3', namespace: 'kube-node-lease' },
      spec: { holderIdentity: 'cp-3', renewTime: microTime(Date.now()) },
    });
    for (const node of ['cp-1', 'cp-2']) {
      await ask(`expired-${node}`, BOOTSTRAPPER.name, node);
      await approveCsr(admin, `expired-${node}`);
      expired.push(await signedCertificate(admin, `expired-${node}`));
    }
    await controlPlane.restartControllerManager({});
    admin.close();
    await controlPlane.restartApiserver({
      notBefore: new Date(Date.now() - 365 * DAY),
      notAfter: new Date(Date.now() - DAY),
    });
    workload = connect('certmarshal', AUTHORITY);
    entry = {
      cluster: CLUSTER,
      until: new Date(Date.now() + 20 * MINUTE).toISOString(),
      nodes: ['cp-1', 'cp-2', 'cp-3', 'worker-1'],
      bootstrapGroups: DEFAULT_BOOTSTRAP_GROUPS,
    };
  });
  afterAll(async () => {
    for (const client of clients) client.close();
    admin?.close();
    await controlPlane?.stop();
  });

  it('connects to an API server whose certificate has expired in recovery mode only', async () => {
    const version = (client: KubernetesClient) => client.request({ method: 'GET', path: '/version', signal });
    await expect(version(connect('certmarshal'))).rejects.toMatchObject({
      kind: 'certificate-expired',
      code: 'CERT_HAS_EXPIRED',
    });

    const byAuthority = connect('certmarshal', AUTHORITY);
    expect(await version(byAuthority)).toHaveProperty('gitVersion');
    const { notAfter = Infinity, sha256 = '' } = byAuthority.recovering ?? {};
    expect(notAfter).toBeLessThan(Date.now());

    const byFingerprint = connect('certmarshal', { pin: 'fingerprint', sha256 });
    expect(await version(byFingerprint)).toHaveProperty('gitVersion');
    const another = connect('certmarshal', { pin: 'fingerprint', sha256: '0'.repeat(64) });
    await expect(version(another)).rejects.toMatchObject({ code: 'CERTMARSHAL_OTHER_CERTIFICATE' });
    // The signer's is an authority too, and not that of the API server.
    const impostor = connect('certmarshal', AUTHORITY, { caPem: controlPlane.signerCaPem });
    await expect(version(impostor)).rejects.toMatchObject({ code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' });
    const renamed = connect('certmarshal', AUTHORITY, { tlsServerName: 'berlin.example.com' });
    await expect(version(renamed)).rejects.toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
  });

  it('has kubelets whose client certificates have expired', async () => {
    const keyPem = keyPair('p256').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    for (const certificatePem of expired) {
      expect(new X509Certificate(certificatePem).validToDate.getTime()).toBeLessThan(Date.now());
      const credentials = { kind: 'certificate', certificatePem, keyPem } as const;
      const kubelet = connect('certmarshal', AUTHORITY, { credentials });
      const read = kubelet.request({ method: 'GET', path: '/api/v1/nodes', signal });
      await expect(read).rejects.toMatchObject({ kind: 'unauthorized' });
    }
  });

  it('approves, in the minute of the hub, the client certificates of named control plane nodes and nothing else', async () => {
    await ask('boot-cp-1', BOOTSTRAPPER.name, 'cp-1');
    await ask('self-cp-2', 'system:node:cp-2', 'cp-2', { key: 'rsa2048' });
    await ask('alive-cp-3', BOOTSTRAPPER.name, 'cp-3');
    await ask('unnamed-cp-4', BOOTSTRAPPER.name, 'cp-4');
    await ask('worker', BOOTSTRAPPER.name, 'worker-1');
    await ask('groups', 'system:bootstrap:uvwxyz', 'cp-1');
    await ask('short', BOOTSTRAPPER.name, 'cp-1', { expirationSeconds: 600 });
    await ask('hostile-person', 'mallory', 'cp-1');
    await ask('hostile-organization', BOOTSTRAPPER.name, 'cp-1', { organizations: ['system:masters'] });
    await ask('hostile-name', BOOTSTRAPPER.name, 'cp-1', { commonName: 'kubernetes-admin' });
    await ask('hostile-san', BOOTSTRAPPER.name, 'cp-1', { sans: [{ kind: 'dNSName', value: 'kubernetes' }] });
    await ask('hostile-usages', BOOTSTRAPPER.name, 'cp-1', { usages: ['digital signature', 'server auth'] });
    const before = await approvedIn(workload);

    for (const none of [[], [{ ...entry, cluster: 'oslo' }], [{ ...entry, nodes: undefined, server: AUTHORITY }]]) {
      expect((await minute(none)).rows).toEqual({});
      expect(await approvedIn(workload)).toEqual(before);
    }
    const { outcome, rows } = await minute();
    expect(outcome.problems.map(({ kind }) => kind)).toEqual(['recovery-nodes', 'recovery-connection']);
    expect(rows).toEqual({
      'boot-cp-1': 'Recovered written',
      'self-cp-2': 'Recovered written',
      'alive-cp-3': 'StillValid none',
      'unnamed-cp-4': 'NodeNotNamed none',
      worker: 'NotControlPlane none',
      groups: 'GroupsNotExact none',
      short: 'ExpirationTooShort none',
      'hostile-person': 'RequesterNotAllowed none',
      'hostile-organization': 'OrganizationMismatch none',
      'hostile-name': 'CommonNameMismatch none',
      'hostile-san': 'SanNotAllowed none',
      'hostile-usages': 'UsagesNotAllowed none',
    });
    expect(await approvedIn(workload)).toEqual([...before, 'boot-cp-1', 'self-cp-2'].toSorted());
  });

  it('approves nothing by a keyboard without --yes, and one more with it', async () => {
    await ask('again-cp-1', BOOTSTRAPPER.name, 'cp-1');
    const dry = await keyboard(['cp-1', 'cp-2']);
    expect(dry).toMatchObject({ status: 1, rows: { 'again-cp-1': 'Recovered observed' } });
    expect(await approvedIn(workload)).not.toContain('again-cp-1');
    const done = await keyboard(['cp-1', 'cp-2'], '--yes');
    expect(done).toMatchObject({ status: 0, rows: { 'again-cp-1': 'Recovered written' } });
    expect(done.stderr).toContain('Client certificates of kubelets are approved until');
    expect(await approvedIn(workload)).toContain('again-cp-1');
  });

  it('approves no third of a node in the hour, by the hub or a keyboard, at once or one after the other', async () => {
    await ask('third-cp-1', BOOTSTRAPPER.name, 'cp-1');
    const before = await approvedIn(workload);
    const swept = await Promise.all([minute(), minute(), keyboard(['cp-1'], '--yes')]);
    for (const { rows } of swept) expect(rows).toMatchObject({ 'third-cp-1': 'ApprovalsSpent none' });
    expect(await approvedIn(workload)).toEqual(before);
  });

  it('lets no one take an approval back to get another', async () => {
    const csr = await workload.request({ method: 'GET', path: `${CSRS}/boot-cp-1`, signal });
    const without = { ...csr, status: {} };
    const taken = workload.request({ method: 'PUT', path: `${CSRS}/boot-cp-1/approval`, body: without, signal });
    await expect(taken).rejects.toMatchObject({ status: 422 });
  });

  it('approves nothing once the entry is over', async () => {
    await ask('late-cp-2', BOOTSTRAPPER.name, 'cp-2');
    const before = await approvedIn(workload);
    const { outcome, rows } = await minute([entry], () => Date.parse(entry.until));
    expect(rows).toEqual({});
    expect(outcome.problems.map(({ kind }) => kind)).not.toContain('recovery-nodes');
    expect(await approvedIn(workload)).toEqual(before);
  });

  it('gives kubelets certificates that the cluster takes, and needs recovery mode no more', async () => {
    await controlPlane.restartApiserver({ notBefore: new Date(Date.now() - MINUTE) });
    await controlPlane.restartControllerManager();
    admin = connectAdmin(controlPlane);
    const issued = await Promise.all(['boot-cp-1', 'self-cp-2'].map((name) => signedCertificate(admin, name)));
    expect(issued.map((pem) => new X509Certificate(pem).subject)).toEqual([
      'O=system:nodes\nCN=system:node:cp-1',
      'O=system:nodes\nCN=system:node:cp-2',
    ]);
    await signedCertificate(admin, 'again-cp-1');
    const left = await admin.get<{ readonly items: readonly Csr[] }>(CSRS);
    const signed = left.items.filter(({ status }) => status.certificate !== undefined);
    const names = signed.map(({ metadata }) => metadata.name).filter((name) => !name.startsWith('expired-'));
    expect(names.toSorted()).toEqual(['again-cp-1', 'boot-cp-1', 'self-cp-2']);

    // A node with a certificate that is valid renews it by itself, and says so by asking with it.
    const [certificatePem = ''] = issued;
    const keyPem = keyPair('p256').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const credentials = { kind: 'certificate', certificatePem, keyPem } as const;
    await ask('renewal-cp-1', 'system:node:cp-2', 'cp-1', { credentials });
    expect((await minute()).rows).toMatchObject({ 'renewal-cp-1': 'StillValid none' });

    const renewed = connect('certmarshal', AUTHORITY);
    await renewed.request({ method: 'GET', path: '/version', signal });
    expect(renewed.recovering).toBeUndefined();
  });

  it('is not stopped by a worker that makes a request and its Node as large as the API server takes', async () => {
    const annotations = Object.fromEntries(Array.from({ length: 12_000 }, (_, index) => [`a${index}`, '']));
    const worker = asNode(admin, 'worker-1');
    await worker.patch('/api/v1/nodes/worker-1', { metadata: { annotations } });
    await worker.post(CSRS, {
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: { name: 'a-poison', annotations },
      spec: {
        request: makeRequest({ commonName: 'system:node:worker-1', sans: [] }).pem.toString('base64'),
        signerName: KUBELET_CLIENT_SIGNER,
        usages: ['digital signature', 'client auth'],
      },
    });
    const { outcome, rows } = await minute([{ ...entry, nodes: ['cp-4'] }]);
    expect(rows).toMatchObject({ 'unnamed-cp-4': 'Recovered written' });
    expect(outcome.problems).toContainEqual(
      expect.objectContaining({
        kind: 'recovery-unreadable',
        object: 'CertificateSigningRequest a-poison',
        message: expect.stringContaining('requested by system:node:worker-1') as string,
      }),
    );
  });
});
