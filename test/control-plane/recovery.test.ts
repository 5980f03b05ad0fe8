import { X509Certificate } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rbacManifests } from '../../bin/commands/rbac.ts';
import { DEFAULT_POLICY, KUBELET_CLIENT_SIGNER } from '../../lambdas/approval/policy.ts';
import type { ExpiredServer } from '../../lambdas/contracts/order.ts';
import { DEFAULT_BOOTSTRAP_GROUPS, type RecoveryWindow } from '../../lambdas/contracts/recovery-window.ts';
import { createKubernetesClient, type KubernetesClient } from '../../lambdas/kubernetes/client.ts';
import type { Connection } from '../../lambdas/kubernetes/connection.ts';
import { microTime } from '../../lambdas/kubernetes/leases.ts';
import type { RecoveryTarget } from '../../lambdas/recovery/observe.ts';
import { type RecoveryReport, sweepRecovery } from '../../lambdas/recovery/sweep-recovery.ts';
import { keyPair, makeRequest, type RequestOptions } from '../unit/x509/request-factory.ts';
import { type Admin, connectAdmin } from './admin.ts';
import { applyCrds } from './crds.ts';
import { CSRS, type Csr, createMachine, createNode, signedCertificate } from './fixtures.ts';
import { realComponents } from './real.ts';
import { type ControlPlane, startControlPlane, type TokenUser } from './start.ts';

const real = await realComponents('recovery of a real control plane', 'etcd', 'kubeApiserver', 'kubeControllerManager');

const CLUSTER = 'berlin-prod';
const CLUSTER_ID = `berlin-mgmt/eksa-system/${CLUSTER}`;
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
  let target: RecoveryTarget;
  let window: RecoveryWindow;
  const clients: KubernetesClient[] = [];

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
    { usages, credentials, ...request }: RequestOptions & Asking = {},
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
        },
      },
      signal,
    });
  }

  const sweep = (clock: () => number = Date.now): Promise<RecoveryReport> =>
    sweepRecovery(target, window, { clock, signal });
  const told = ({ rows }: RecoveryReport) =>
    Object.fromEntries(rows.map(({ csr, reason, outcome }) => [csr, `${reason} ${outcome}`]));
  const approvedIn = async (client: KubernetesClient): Promise<unknown[]> => {
    const { items } = await client.request({ method: 'GET', path: CSRS, signal });
    const all: readonly Csr[] = Array.isArray(items) ? items : [];
    return all
      .filter(({ status }) => status.conditions?.some(({ type }) => type === 'Approved') === true)
      .map(({ metadata }) => metadata.name)
      .toSorted();
  };

  beforeAll(async () => {
    controlPlane = await startControlPlane({ binaries: real.binaries, users: USERS });
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
    admin.close();
    await controlPlane.restartApiserver({
      notBefore: new Date(Date.now() - 365 * DAY),
      notAfter: new Date(Date.now() - DAY),
    });
    workload = connect('certmarshal', AUTHORITY);
    target = {
      clusterId: CLUSTER_ID,
      cluster: { name: CLUSTER, provider: 'eks-anywhere' },
      workload,
      management: workload,
      machinesNamespace: 'eksa-system',
    };
    window = {
      id: 'w-1',
      cluster: CLUSTER_ID,
      nodes: ['cp-1', 'cp-2', 'cp-3', 'worker-1'],
      openedAt: new Date(Date.now() - MINUTE).toISOString(),
      until: new Date(Date.now() + 20 * MINUTE).toISOString(),
      by: 'mia',
      approvals: 1,
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
      kind: 'certificate',
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

  it('approves the client certificates of the named control plane nodes, and nothing else', async () => {
    await ask('boot-cp-1', BOOTSTRAPPER.name, 'cp-1');
    await ask('self-cp-2', 'system:node:cp-2', 'cp-2', { key: 'rsa2048' });
    await ask('alive-cp-3', BOOTSTRAPPER.name, 'cp-3');
    await ask('unnamed-cp-4', BOOTSTRAPPER.name, 'cp-4');
    await ask('worker', BOOTSTRAPPER.name, 'worker-1');
    await ask('groups', 'system:bootstrap:uvwxyz', 'cp-1');
    await ask('hostile-person', 'mallory', 'cp-1');
    await ask('hostile-organization', BOOTSTRAPPER.name, 'cp-1', { organizations: ['system:masters'] });
    await ask('hostile-name', BOOTSTRAPPER.name, 'cp-1', { commonName: 'kubernetes-admin' });
    await ask('hostile-san', BOOTSTRAPPER.name, 'cp-1', { sans: [{ kind: 'dNSName', value: 'kubernetes' }] });
    await ask('hostile-usages', BOOTSTRAPPER.name, 'cp-1', { usages: ['digital signature', 'server auth'] });

    const report = await sweep();
    expect(report.problems).toEqual([]);
    expect(told(report)).toEqual({
      'boot-cp-1': 'Recovered written',
      'self-cp-2': 'Recovered written',
      'alive-cp-3': 'StillValid none',
      'unnamed-cp-4': 'NodeNotNamed none',
      worker: 'NotControlPlane none',
      groups: 'GroupsNotExact none',
      'hostile-person': 'RequesterNotAllowed none',
      'hostile-organization': 'OrganizationMismatch none',
      'hostile-name': 'CommonNameMismatch none',
      'hostile-san': 'SanNotAllowed none',
      'hostile-usages': 'UsagesNotAllowed none',
    });
    expect(report).toMatchObject({ complete: true, recovering: { pin: 'authority' } });
    expect(await approvedIn(workload)).toEqual(['boot-cp-1', 'self-cp-2']);
  });

  it('approves no more than the window has, also when two look at once', async () => {
    await ask('again-cp-1', BOOTSTRAPPER.name, 'cp-1');
    const reports = await Promise.all([sweep(), sweep(), sweep()]);
    for (const report of reports) expect(told(report)).toMatchObject({ 'again-cp-1': 'ApprovalsSpent none' });
    expect(await approvedIn(workload)).toEqual(['boot-cp-1', 'self-cp-2']);
  });

  it('does not count in the Lease of a window that is open', async () => {
    const own = window;
    window = { ...own, id: 'w-2' };
    const report = await sweep();
    window = own;
    expect(report).toMatchObject({ complete: false, rows: [], problems: [{ kind: 'refused' }] });
  });

  it('approves nothing when the window has closed', async () => {
    const report = await sweep(() => Date.parse(window.until));
    expect(report).toMatchObject({ rows: [], closed: expect.stringContaining('it closed at') });
    expect(await approvedIn(workload)).toEqual(['boot-cp-1', 'self-cp-2']);
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
    const left = await admin.get<{ readonly items: readonly Csr[] }>(CSRS);
    const signed = left.items.filter(({ status }) => status.certificate !== undefined);
    expect(signed.map(({ metadata }) => metadata.name).toSorted()).toEqual(['boot-cp-1', 'self-cp-2']);

    // A node with a certificate that is valid renews it by itself, and says so by asking with it.
    const [certificatePem = ''] = issued;
    const keyPem = keyPair('p256').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const credentials = { kind: 'certificate', certificatePem, keyPem } as const;
    await ask('renewal-cp-1', 'system:node:cp-2', 'cp-1', { credentials });
    expect(told(await sweep())).toMatchObject({ 'renewal-cp-1': 'StillValid none' });

    const renewed = connect('certmarshal', AUTHORITY);
    await renewed.request({ method: 'GET', path: '/version', signal });
    expect(renewed.recovering).toBeUndefined();
  });
});
