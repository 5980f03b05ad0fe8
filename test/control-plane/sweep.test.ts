import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { rbacManifests } from '../../bin/commands/rbac.ts';
import { act } from '../../lambdas/approval/act.ts';
import { approve } from '../../lambdas/approval/approve.ts';
import { decide } from '../../lambdas/approval/decide.ts';
import { observe, type SweepTarget } from '../../lambdas/approval/observe.ts';
import { DEFAULT_POLICY, everywhere } from '../../lambdas/approval/policy.ts';
import { createKubernetesClient, type KubernetesClient } from '../../lambdas/kubernetes/client.ts';
import { loadLocalKubeconfig } from '../../lambdas/kubernetes/local-kubeconfig.ts';
import {
  attribute,
  extension,
  type KeyKind,
  makeRequest,
  OID,
  type RequestOptions,
} from '../unit/x509/request-factory.ts';
import { type Admin, ApiError, connectAdmin } from './admin.ts';
import { applyCrds } from './crds.ts';
import { CSRS, type Csr, createCsr, createMachine, signedCertificate } from './fixtures.ts';
import { realComponents } from './real.ts';
import { type ControlPlane, startControlPlane } from './start.ts';

const run = promisify(execFile);
const real = await realComponents(
  'sweeps of a real control plane',
  'etcd',
  'kubeApiserver',
  'kubeControllerManager',
  'kubectl',
);

const CLUSTER = 'berlin-prod';
const POLICIES = [DEFAULT_POLICY];
const signal = new AbortController().signal;

const requestFor = (node: string, address: string, options: RequestOptions = {}): string =>
  makeRequest({
    commonName: `system:node:${node}`,
    sans: [
      { kind: 'dNSName', value: node },
      { kind: 'iPAddress', value: address },
    ],
    ...options,
  }).pem.toString();

describe.skipIf(real.missing)('a sweep of a real control plane', () => {
  let controlPlane: ControlPlane;
  let admin: Admin;
  let client: KubernetesClient;
  let target: SweepTarget;
  let serial = 0;

  /** A node with its Machine; every test has nodes of its own. */
  async function join(version: 'v1beta1' | 'v1beta2' = 'v1beta2'): Promise<{ node: string; address: string }> {
    serial += 1;
    const node = `worker-${serial}`;
    const address = `10.0.${serial >> 8}.${serial & 0xff}`;
    await createMachine(admin, {
      name: `md-0-${serial}`,
      clusterName: CLUSTER,
      version,
      nodeName: node,
      addresses: [
        { type: 'InternalIP', address },
        { type: 'Hostname', address: node },
      ],
    });
    return { node, address };
  }

  it('does not approve the address of a Service in a second ServiceCIDR', async () => {
    const spec = { cidrs: ['10.200.0.0/24'] };
    await admin.post('/apis/networking.k8s.io/v1/servicecidrs', {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'ServiceCIDR',
      metadata: { name: 'second' },
      spec,
    });
    const addresses = ['10.0.250.1', '10.200.0.5'];
    await createMachine(admin, {
      name: 'md-second',
      clusterName: CLUSTER,
      nodeName: 'worker-second',
      addresses: addresses.map((address) => ({ type: 'InternalIP', address })),
    });
    for (const address of addresses) {
      const sans = [{ kind: 'iPAddress' as const, value: address }];
      const requestPem = requestFor('worker-second', address, { sans });
      await createCsr(admin, { name: `of-${address}`, nodeName: 'worker-second', requestPem });
      const { rows } = await approve(target, POLICIES, Date.now, signal);
      expect(rows).toMatchObject([
        { csr: `of-${address}`, reason: address === '10.200.0.5' ? 'SanReserved' : 'Proven' },
      ]);
    }
  });

  const csrNamed = (name: string) => admin.get<Csr>(`${CSRS}/${name}`);
  const conditionsOf = async (name: string) => (await csrNamed(name)).status.conditions ?? [];

  beforeAll(async () => {
    controlPlane = await startControlPlane({ binaries: real.binaries });
    admin = connectAdmin(controlPlane);
    await applyCrds(controlPlane);
    // What an audit reads, a sweep does without.
    await admin.apply(rbacManifests({ group: 'certmarshal', audit: false }, POLICIES));
    await admin.apply(rbacManifests({ group: 'certmarshal', management: true, audit: false }, POLICIES));
    const kubeconfig = await readFile(controlPlane.kubeconfig('certmarshal'), 'utf8');
    client = createKubernetesClient({ ...(await loadLocalKubeconfig(kubeconfig)), addresses: 'local' });
    target = {
      cluster: { name: CLUSTER, provider: 'eks-anywhere' },
      workload: client,
      management: client,
      machinesNamespace: 'eksa-system',
    };
  });

  afterAll(async () => {
    client?.close();
    admin?.close();
    await controlPlane?.stop();
  });

  // What one test left undecided is not the business of the next.
  beforeEach(async () => {
    const { items } = await admin.get<{ items: Csr[] }>(CSRS);
    await Promise.all(items.map(({ metadata }) => admin.delete(`${CSRS}/${metadata.name}`)));
  });

  it.each<{ key: KeyKind; usages: string[]; version: 'v1beta1' | 'v1beta2' }>([
    { key: 'p256', usages: ['digital signature', 'server auth'], version: 'v1beta2' },
    { key: 'p384', usages: ['digital signature', 'server auth'], version: 'v1beta1' },
    { key: 'p521', usages: ['server auth', 'digital signature'], version: 'v1beta2' },
    { key: 'rsa2048', usages: ['digital signature', 'key encipherment', 'server auth'], version: 'v1beta1' },
    { key: 'ed25519', usages: ['digital signature', 'server auth'], version: 'v1beta2' },
  ])('approves a valid request with a $key key, and the signer issues it', async ({ key, usages, version }) => {
    const { node, address } = await join(version);
    const name = `valid-${node}`;
    await createCsr(admin, { name, nodeName: node, requestPem: requestFor(node, address, { key }), usages });

    const report = await approve(target, POLICIES, Date.now, signal);

    expect(report.problems).toEqual([]);
    expect(report).toMatchObject({ complete: true, counts: { approved: 1, left: 0 }, requests: { writes: 1 } });
    const certificate = new X509Certificate(await signedCertificate(admin, name));
    expect(certificate.verify(new X509Certificate(controlPlane.signerCaPem).publicKey)).toBe(true);
    expect(certificate.subject).toBe(`O=system:nodes\nCN=system:node:${node}`);
    expect(certificate.subjectAltName).toBe(`DNS:${node}, IP Address:${address}`);
    expect(certificate.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1']);
  });

  it('leaves a condition that kubectl shows, naming policy and evidence', async () => {
    const { node, address } = await join();
    await createCsr(admin, { name: 'visible', nodeName: node, requestPem: requestFor(node, address) });
    await approve(target, POLICIES, Date.now, signal);
    const { stdout } = await run(real.binaries.kubectl, [
      '--kubeconfig',
      controlPlane.kubeconfig('admin'),
      'get',
      'csr',
      'visible',
      '-o',
      'jsonpath={range .status.conditions[*]}{.type}|{.status}|{.reason}|{.message}{end}',
    ]);
    expect(stdout).toBe(
      `Approved|True|CertMarshalApproved|policy default: ${node}, ${address} ← Machine eksa-system/md-0-${serial}`,
    );
  });

  it('approves none of the hostile requests, and writes nothing for them', async () => {
    const mine = await join();
    const neighbour = await join();
    const { node, address } = mine;
    const cn = `system:node:${node}`;
    const dns = (value: string) => ({ kind: 'dNSName' as const, value });
    const ip = (value: string) => ({ kind: 'iPAddress' as const, value });
    const own = [dns(node), ip(address)];
    const uri = { kind: 'uniformResourceIdentifier' as const, value: 'spiffe://cluster/node' };
    const email = { kind: 'rfc822Name' as const, value: 'root@example.com' };
    const hostile: Record<string, { options: RequestOptions; usages?: string[]; expirationSeconds?: number }> = {
      'neighbour-address': { options: { sans: [...own, ip(neighbour.address)] } },
      'neighbour-name': { options: { sans: [dns(neighbour.node), ip(neighbour.address)] } },
      'neighbour-name-without-address': {
        options: { sans: [dns(neighbour.node), dns('kubernetes-api.corp.example.com')] },
      },
      'foreign-name': { options: { sans: [...own, dns('auth.evil.io')] } },
      'name-prefix': { options: { sans: [...own, dns(`${node}0`)] } },
      'api-server': { options: { sans: [...own, dns('kubernetes.default.svc')] } },
      'api-server-short': { options: { sans: [...own, dns('KUBERNETES.')] } },
      service: { options: { sans: [...own, dns('vault.prod.svc.cluster.local')] } },
      localhost: { options: { sans: [...own, dns('localhost')] } },
      loopback: { options: { sans: [...own, ip('127.0.0.1')] } },
      'link-local': { options: { sans: [...own, ip('169.254.169.254')] } },
      'mapped-address': { options: { sans: [...own, ip(`::ffff:${address}`)] } },
      wildcard: { options: { sans: [...own, dns('*.berlin.internal')] } },
      'address-as-name': { options: { sans: [dns(address), ip(address)] } },
      'nul-in-name': { options: { sans: [...own, dns(`${node}\u0000.evil.io`)] } },
      'uri-name': { options: { sans: [...own, uri] } },
      'email-name': { options: { sans: [...own, email] } },
      'other-name': { options: { sans: [...own, { kind: 'otherName' }] } },
      'directory-name': { options: { sans: [...own, { kind: 'directoryName' }] } },
      'registered-id': { options: { sans: [...own, { kind: 'registeredID' }] } },
      'no-names': { options: { sans: [] } },
      'masters-too': { options: { sans: own, organizations: ['system:nodes', 'system:masters'] } },
      'nodes-twice': { options: { sans: own, organizations: ['system:nodes', 'system:nodes'] } },
      'no-organization': { options: { sans: own, organizations: [] } },
      'two-common-names': {
        options: {
          sans: own,
          subject: [
            [{ oid: OID.organization, value: 'system:nodes' }],
            [{ oid: OID.commonName, value: `system:node:${neighbour.node}` }],
            [{ oid: OID.commonName, value: cn }],
          ],
        },
      },
      'odd-string-type': {
        options: {
          sans: own,
          subject: [
            [{ oid: OID.organization, value: 'system:nodes' }],
            [{ oid: OID.commonName, value: cn, form: 'ia5String' }],
          ],
        },
      },
      'ca-flag': {
        options: { sans: own, extensions: [extension(OID.basicConstraints, Buffer.from('30030101ff', 'hex'))] },
      },
      'challenge-password': {
        options: { sans: own, attributes: [attribute({ oid: OID.challengePassword, value: 'secret' })] },
      },
      'small-rsa': { options: { sans: own, key: 'rsa1024' } },
      'odd-curve': { options: { sans: own, key: 'p224' } },
      'client-auth': { options: { sans: own }, usages: ['digital signature', 'client auth'] },
      'client-auth-too': { options: { sans: own }, usages: ['digital signature', 'server auth', 'client auth'] },
      'signature-only': { options: { sans: own }, usages: ['digital signature'] },
      signing: { options: { sans: own }, usages: ['digital signature', 'key encipherment', 'server auth', 'signing'] },
      'too-long': { options: { sans: own }, expirationSeconds: 368 * 86_400 },
    };
    const refusedByServer: string[] = [];
    const stored: string[] = [];
    // Oldest first would make all but the newest Superseded: each is judged on its own.
    for (const [name, { options, ...rest }] of Object.entries(hostile)) {
      const requestPem = makeRequest({ commonName: cn, ...options }).pem.toString();
      try {
        await createCsr(admin, { name, nodeName: node, requestPem, ...rest });
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        refusedByServer.push(name);
        continue;
      }
      stored.push(name);
      const report = await approve(target, POLICIES, Date.now, signal);
      expect({ name, counts: report.counts, writes: report.requests.writes }).toMatchObject({
        name,
        counts: { approved: 0, denied: 0, left: 1 },
        writes: 0,
      });
      expect(await conditionsOf(name)).toEqual([]);
      await admin.delete(`${CSRS}/${name}`);
    }
    // kube-apiserver itself refuses what its own decoder cannot read; all others reached the judge.
    expect(stored.length).toBeGreaterThanOrEqual(28);
    expect(refusedByServer.length + stored.length).toBe(Object.keys(hostile).length);
  });

  it('never approves a request of another signer or of a requester that is no node', async () => {
    const { node, address } = await join();
    const requestPem = requestFor(node, address);
    const spec = (signerName: string) => ({
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      spec: {
        request: Buffer.from(requestPem).toString('base64'),
        signerName,
        usages: ['digital signature', 'server auth'],
      },
    });
    await admin
      .as({ user: 'mallory' })
      .post(CSRS, { ...spec('kubernetes.io/kubelet-serving'), metadata: { name: 'no-node' } })
      .catch(() => undefined);
    await admin.post(CSRS, { ...spec('kubernetes.io/kubelet-serving'), metadata: { name: 'admin' } });
    await admin.post(CSRS, { ...spec('example.com/other'), metadata: { name: 'other-signer' } });
    const report = await approve(target, POLICIES, Date.now, signal);
    expect(report.counts.approved).toBe(0);
    expect(report.ignored).toEqual({ RequesterMisnamed: 1 });
    expect(report.misnamed).toMatchObject([{ csr: 'admin' }]);
    expect(await conditionsOf('admin')).toEqual([]);
    expect(await conditionsOf('other-signer')).toEqual([]);
  });

  it('changes nothing in a second sweep, also when both run at once', async () => {
    const names: string[] = [];
    for (let count = 0; count < 40; count += 1) {
      const { node, address } = await join();
      names.push(`twice-${node}`);
      await createCsr(admin, { name: `twice-${node}`, nodeName: node, requestPem: requestFor(node, address) });
    }
    const [first, second] = await Promise.all([
      approve(target, POLICIES, Date.now, signal),
      approve(target, POLICIES, Date.now, signal),
    ]);
    const outcomes = [...first.rows, ...second.rows];
    expect(outcomes.filter(({ outcome }) => outcome === 'written').length).toBe(40);
    expect(outcomes.filter(({ outcome }) => outcome === 'failed')).toEqual([]);
    for (const name of names) {
      expect((await conditionsOf(name)).filter(({ type }) => type === 'Approved').length).toBe(1);
      await signedCertificate(admin, name);
    }
    const before = await Promise.all(names.map(csrNamed));
    const third = await approve(target, POLICIES, Date.now, signal);
    expect(third).toMatchObject({
      complete: true,
      counts: { approved: 0 },
      ignored: { AlreadyIssued: 40 },
      requests: { writes: 0 },
    });
    expect(await Promise.all(names.map(csrNamed))).toEqual(before);
  });

  it('does not approve a request that took the place of the judged one under the same name', async () => {
    const { node, address } = await join();
    const neighbour = await join();
    await createCsr(admin, { name: 'swapped', nodeName: node, requestPem: requestFor(node, address) });
    const observed = await observe(target, POLICIES, signal);
    const decisions = [...decide(target.cluster, observed, POLICIES, Date.now())];
    expect(decisions.map(({ verdict }) => verdict.verdict)).toEqual(['approve']);

    await admin.delete(`${CSRS}/swapped`);
    const hostile = makeRequest({
      commonName: `system:node:${node}`,
      sans: [{ kind: 'iPAddress', value: neighbour.address }],
    }).pem.toString();
    await createCsr(admin, { name: 'swapped', nodeName: node, requestPem: hostile });

    const acted = await act(decisions, {
      client,
      evidence: observed.evidence,
      policies: POLICIES,
      now: Date.now,
      signal,
    });
    expect(acted.map(({ outcome }) => outcome.kind)).toEqual(['overtaken']);
    expect(await conditionsOf('swapped')).toEqual([]);
  });

  it('judges a request again that was changed between read and write', async () => {
    const { node, address } = await join();
    await createCsr(admin, { name: 'labelled', nodeName: node, requestPem: requestFor(node, address) });
    const observed = await observe(target, POLICIES, signal);
    const decisions = [...decide(target.cluster, observed, POLICIES, Date.now())];
    await admin.patch(`${CSRS}/labelled`, { metadata: { labels: { touched: 'yes' } } });
    const acted = await act(decisions, {
      client,
      evidence: observed.evidence,
      policies: POLICIES,
      now: Date.now,
      signal,
    });
    expect(acted.map(({ outcome }) => outcome.kind)).toEqual(['written']);
    const csr = await csrNamed('labelled');
    expect(csr.metadata.labels).toEqual({ touched: 'yes' });
    expect(csr.status.conditions?.map(({ type }) => type)).toEqual(['Approved']);
  });

  it('writes nothing in mode observe', async () => {
    const { node, address } = await join();
    await createCsr(admin, { name: 'shadow', nodeName: node, requestPem: requestFor(node, address) });
    const report = await approve(target, [{ ...DEFAULT_POLICY, mode: everywhere('observe') }], Date.now, signal);
    expect(report).toMatchObject({ counts: { approved: 0, wouldWrite: 1 }, requests: { writes: 0 } });
    expect(await conditionsOf('shadow')).toEqual([]);
  });

  it('denies a provably hostile request only where the policy opts in', async () => {
    const { node, address } = await join();
    const neighbour = await join();
    const requestPem = requestFor(node, address, {
      sans: [
        { kind: 'iPAddress', value: address },
        { kind: 'dNSName', value: neighbour.node },
      ],
    });
    await createCsr(admin, { name: 'thief', nodeName: node, requestPem });
    const report = await approve(target, [{ ...DEFAULT_POLICY, onHostile: 'deny' }], Date.now, signal);
    expect(report).toMatchObject({ counts: { denied: 1 } });
    expect(await conditionsOf('thief')).toMatchObject([
      { type: 'Denied', status: 'True', reason: 'CertMarshalDenied', message: expect.stringContaining(neighbour.node) },
    ]);
  });

  it('judges the others while one requester floods', async () => {
    const flooder = await join();
    const others = [await join(), await join(), await join()];
    const flood = requestFor(flooder.node, flooder.address);
    await Promise.all(
      Array.from({ length: 120 }, (_, index) =>
        createCsr(admin, { name: `flood-${index}`, nodeName: flooder.node, requestPem: flood }),
      ),
    );
    for (const { node, address } of others)
      await createCsr(admin, { name: `calm-${node}`, nodeName: node, requestPem: requestFor(node, address) });
    const report = await approve(target, POLICIES, Date.now, signal);
    expect(report).toMatchObject({
      counts: { approved: 3, left: 1 },
      ignored: { Superseded: 119 },
      requests: { writes: 3 },
    });
    expect(report.rows.find(({ verdict }) => verdict === 'leave')).toMatchObject({ reason: 'RequesterQuarantined' });
  });

  it('says what it may not read, and approves nothing on half the evidence', async () => {
    const { node, address } = await join();
    await createCsr(admin, { name: 'unread', nodeName: node, requestPem: requestFor(node, address) });
    await admin.delete(
      '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/certmarshal-management:group:certmarshal',
    );
    try {
      // The authorizer follows its watch; a moment passes until the binding is gone for it too.
      await expect
        .poll(async () => (await approve(target, POLICIES, Date.now, signal)).problems.map(({ kind }) => kind), {
          timeout: 10_000,
        })
        .toEqual(['evidence']);
      const report = await approve(target, POLICIES, Date.now, signal);
      expect(report).toMatchObject({ complete: false, counts: { approved: 0, left: 1 } });
      expect(report.problems[0]).toMatchObject({ remedy: expect.stringContaining('certmarshal rbac --management') });
      expect(report.rows[0]).toMatchObject({
        reason: 'EvidenceUnreadable',
        message: expect.stringContaining('Machines prove nothing now'),
      });
    } finally {
      await admin.apply(rbacManifests({ group: 'certmarshal', management: true, audit: false }, POLICIES));
    }
  });

  it('holds no permission beyond its task', async () => {
    const own = connectAdmin(controlPlane, controlPlane.tokenFor('certmarshal'));
    try {
      await expect(own.get('/api/v1/secrets')).rejects.toMatchObject({ status: 403 });
      await expect(own.get('/api/v1/nodes')).rejects.toMatchObject({ status: 403 });
      await admin.post(CSRS, {
        apiVersion: 'certificates.k8s.io/v1',
        kind: 'CertificateSigningRequest',
        metadata: { name: 'foreign' },
        spec: {
          request: Buffer.from(makeRequest({ commonName: 'eve', organizations: ['visitors'], sans: [] }).pem).toString(
            'base64',
          ),
          signerName: 'kubernetes.io/kube-apiserver-client',
          usages: ['client auth'],
        },
      });
      const csr = await csrNamed('foreign');
      const conditions = [{ type: 'Approved', status: 'True', reason: 'Stolen', message: '' }];
      await expect(own.put(`${CSRS}/foreign/approval`, { ...csr, status: { conditions } })).rejects.toMatchObject({
        status: 403,
      });
    } finally {
      own.close();
    }
  });
});
