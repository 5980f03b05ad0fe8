import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Admin, connectAdmin } from './admin.ts';
import { applyCrds } from './crds.ts';
import { approveCsr, createCsr, createMachine, createNode, signedCertificate } from './fixtures.ts';
import { type OracleQuestion, startOracle } from './oracle.ts';
import { createKubeletRequest } from './pki.ts';
import { realComponents } from './real.ts';
import { type ControlPlane, startControlPlane } from './start.ts';

const run = promisify(execFile);

function ask(id: string, pem: string): OracleQuestion {
  return {
    id,
    request: Buffer.from(pem).toString('base64'),
    usages: ['digital signature', 'server auth'],
    username: 'system:node:worker-1',
  };
}

const programs = ['etcd', 'kubeApiserver', 'kubeControllerManager', 'kubectl'] as const;
const real = await realComponents('the control plane itself', ...programs);
const judge = await realComponents('the oracle', 'oracle');

describe.skipIf(real.missing)('a real control plane', () => {
  let controlPlane: ControlPlane;
  let admin: Admin;

  beforeAll(async () => {
    controlPlane = await startControlPlane({
      binaries: real.binaries,
      users: [{ name: 'reader', groups: ['readers'] }],
    });
    admin = connectAdmin(controlPlane);
    await applyCrds(controlPlane);
  });

  afterAll(async () => {
    admin?.close();
    await controlPlane?.stop();
  });

  it('reports its version, which clients look at', async () => {
    const version = await admin.get<{ gitVersion: string; minor: string }>('/version');
    expect(version.gitVersion).toMatch(/^v1\.\d+\.\d+/);
    expect(version.minor).toMatch(/^\d+/);
  });

  it('signs an approved request of a node', async () => {
    const { requestPem } = await createKubeletRequest({
      nodeName: 'worker-1',
      dnsNames: ['worker-1'],
      ipAddresses: ['10.0.0.11'],
    });
    const csr = await createCsr(admin, { name: 'csr-good', nodeName: 'worker-1', requestPem });
    expect(csr.spec.username).toBe('system:node:worker-1');
    expect(csr.spec.groups).toEqual(['system:nodes', 'system:authenticated']);

    await approveCsr(admin, 'csr-good');
    const certificate = new X509Certificate(await signedCertificate(admin, 'csr-good'));

    expect(certificate.verify(new X509Certificate(controlPlane.signerCaPem).publicKey)).toBe(true);
    expect(certificate.subject).toBe('O=system:nodes\nCN=system:node:worker-1');
    expect(certificate.subjectAltName).toBe('DNS:worker-1, IP Address:10.0.0.11');
  });

  it("refuses a node that asks in another node's name", async () => {
    const { requestPem } = await createKubeletRequest({ nodeName: 'worker-2', dnsNames: ['worker-2'] });
    const attempt = createCsr(admin, { name: 'csr-stolen', nodeName: 'worker-1', requestPem });
    await expect(attempt).rejects.toMatchObject({ status: 403, reason: 'Forbidden' });
    await expect(attempt).rejects.toThrow('can only create a node CSR with CN=system:node:worker-1');
  });

  it('serves Machines in both versions, with status', async () => {
    const addresses = [{ type: 'InternalIP', address: '10.0.0.11' }] as const;
    for (const written of ['v1beta1', 'v1beta2'] as const) {
      const name = `machine-${written}`;
      await createMachine(admin, { name, version: written, clusterName: 'blue', nodeName: 'worker-1', addresses });
      for (const read of ['v1beta1', 'v1beta2']) {
        const machine = await admin.get(`/apis/cluster.x-k8s.io/${read}/namespaces/eksa-system/machines/${name}`);
        expect(machine).toMatchObject({
          apiVersion: `cluster.x-k8s.io/${read}`,
          spec: { clusterName: 'blue' },
          status: { phase: 'Running', addresses, nodeRef: { name: 'worker-1' } },
        });
      }
    }
  });

  it('takes Nodes with addresses', async () => {
    const node = await createNode(admin, { name: 'worker-3', addresses: [{ type: 'Hostname', address: 'worker-3' }] });
    expect(node).toMatchObject({ status: { addresses: [{ type: 'Hostname', address: 'worker-3' }] } });
  });

  it('gives a token user exactly what RBAC grants it', async () => {
    const reader = connectAdmin(controlPlane, controlPlane.tokenFor('reader'));
    try {
      await expect(reader.get('/api/v1/nodes')).rejects.toMatchObject({ status: 403 });
      await admin.apply(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: read-nodes }
rules:
  - { apiGroups: [''], resources: [nodes], verbs: [list] }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: read-nodes }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: read-nodes }
subjects:
  - { apiGroup: rbac.authorization.k8s.io, kind: Group, name: readers }
`);
      // The authorizer sees new rules through a watch, a moment later.
      await expect.poll(() => reader.get('/api/v1/nodes')).toMatchObject({ kind: 'NodeList' });
    } finally {
      reader.close();
    }
  });

  it('writes kubeconfigs that kubectl takes, with a token and with a client certificate', async () => {
    const byCertificate = await controlPlane.clientKubeconfig({ name: 'jane', groups: ['system:masters'] });
    for (const [kubeconfig, user] of [
      [controlPlane.kubeconfig('certmarshal'), 'certmarshal'],
      [byCertificate, 'jane'],
    ] as const) {
      const { stdout } = await run(real.binaries.kubectl, ['--kubeconfig', kubeconfig, 'auth', 'whoami', '-o', 'json']);
      expect(JSON.parse(stdout)).toMatchObject({ status: { userInfo: { username: user } } });
    }
  });

  it('survives far more than 64 requests in flight', async () => {
    const answers = await Promise.all(Array.from({ length: 640 }, () => admin.get('/api/v1/nodes')));
    expect(answers).toHaveLength(640);
  });

  it('signs nothing while the controller manager is stopped, and goes on when it is back', async () => {
    await controlPlane.stopControllerManager();
    expect(controlPlane.pids.kubeControllerManager).toBeUndefined();
    const { requestPem } = await createKubeletRequest({ nodeName: 'worker-4', dnsNames: ['worker-4'] });
    await createCsr(admin, { name: 'csr-waiting', nodeName: 'worker-4', requestPem });
    await approveCsr(admin, 'csr-waiting');
    await expect(signedCertificate(admin, 'csr-waiting', 500)).rejects.toThrow('not signed');

    await controlPlane.restartControllerManager({ signingDuration: '45m', kubeApiQps: 1000, kubeApiBurst: 1000 });
    const certificate = new X509Certificate(await signedCertificate(admin, 'csr-waiting'));
    const minutes = (certificate.validToDate.getTime() - certificate.validFromDate.getTime()) / 60_000;
    // Upstream backdates every certificate by five minutes.
    expect(minutes).toBe(50);
  });
});

describe.skipIf(judge.missing)('the oracle', () => {
  it('accepts a good request and says what is wrong with bad ones', async () => {
    const good = await createKubeletRequest({
      nodeName: 'worker-1',
      dnsNames: ['worker-1'],
      ipAddresses: ['10.0.0.11'],
    });
    const nameless = await createKubeletRequest({ nodeName: 'worker-1' });
    const oracle = startOracle(judge.binaries.oracle);
    try {
      const [accepted, refused, garbage] = await oracle.judge([
        ask('good', good.requestPem),
        ask('nameless', nameless.requestPem),
        ask('garbage', 'not a request'),
      ]);
      expect(accepted).toEqual({
        id: 'good',
        parsed: true,
        kubeletServing: true,
        dnsNames: ['worker-1'],
        ipAddresses: ['10.0.0.11'],
        uris: 0,
        emails: 0,
        commonName: 'system:node:worker-1',
        organization: ['system:nodes'],
        signatureValid: true,
        validObject: true,
        validationErrors: [],
        blocks: [],
      });
      expect(refused).toMatchObject({
        id: 'nameless',
        parsed: true,
        kubeletServing: false,
        error: 'DNS or IP subjectAltName is required',
        validObject: true,
      });
      expect(garbage).toMatchObject({ id: 'garbage', parsed: false, validObject: false });
      expect(garbage?.parseError).toContain('CERTIFICATE REQUEST');
    } finally {
      await oracle.stop();
    }
  });
});
