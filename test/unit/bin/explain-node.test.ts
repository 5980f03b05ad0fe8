import { describe, expect, it } from 'vitest';
import { explainNodeCommand, type NodeQuery } from '../../../bin/commands/explain-node.ts';
import type { SweepTarget } from '../../../lambdas/approval/observe.ts';
import { DEFAULT_POLICY } from '../../../lambdas/approval/policy.ts';
import { type HandshakeResult, handshake } from '../../../lambdas/tls/handshake.ts';
import { decodeBundle } from '../../../lambdas/x509/certificate-bundle.ts';
import { BENCH_CLUSTER, csrOf, machineOf, requestOf } from '../../bench/fixtures.ts';
import { NOW, nodeObject } from '../approval/fixtures.ts';
import { type Answers, failure, fakeClient } from '../audit/sources/fake-cluster.ts';
import { listenTls } from '../tls/tls-servers.ts';
import { outcomeOf, recordedIo } from './io.ts';
import { CLUSTER_CA, OTHER_CA, type Served, servingCertificate, servingPair } from './served-certificate-fixtures.ts';

const HOUR = 3_600_000;
const MACHINE = 'Machine eksa-system/md-0';
const CLUSTER_API = '/apis/cluster.x-k8s.io';
const MACHINES = `${CLUSTER_API}/v1beta2/namespaces/eksa-system/machines`;
const REQUESTS = '/apis/certificates.k8s.io/v1/certificatesigningrequests';

const OWN: Served = { node: 'worker-8', ipAddresses: ['10.0.0.8'] };
const own = await servingCertificate(OWN);
const stolen = await servingCertificate({ ...OWN, ipAddresses: ['10.0.0.8', '10.0.0.9'] });

interface Given {
  /** In PEM; what the kubelet shows, or why it shows nothing. */
  readonly shows?: string | Extract<HandshakeResult, { ok: false }>['failure'];
  /** In PEM: what was issued to requests, the oldest first. */
  readonly issued?: readonly string[];
  readonly approvedBy?: string;
  readonly answers?: Answers;
  /** Of the kubeconfig. */
  readonly caPem?: string | undefined;
  readonly workload?: Partial<SweepTarget['workload']>;
}

function issuedRequest(pem: string, index: number, approvedBy: string) {
  const created = new Date(NOW - (10 - index) * HOUR).toISOString();
  const request = csrOf(8, requestOf(8), created);
  return {
    ...request,
    metadata: { ...Reflect.get(request, 'metadata'), name: `csr-${index}`, creationTimestamp: created },
    status: {
      conditions: [{ type: 'Approved', status: 'True', reason: approvedBy }],
      certificate: Buffer.from(pem).toString('base64'),
    },
  };
}

function targetOf(given: Given) {
  const { shows = own, issued = [], approvedBy = 'AutoApproved', answers } = given;
  const client = fakeClient(
    {
      '/api/v1/nodes': [nodeObject('worker-8', { InternalIP: ['10.0.0.8'] })],
      [CLUSTER_API]: { versions: [{ version: 'v1beta2' }] },
      [MACHINES]: [8, 9].map(machineOf),
      [`${CLUSTER_API}/v1beta2/namespaces/eksa-system/clusters`]: [BENCH_CLUSTER],
      [REQUESTS]: issued.map((pem, index) => issuedRequest(pem, index, approvedBy)),
      ...answers,
    },
    'caPem' in given ? given.caPem : CLUSTER_CA.certificate,
  );
  const dialled: string[] = [];
  const target: SweepTarget = {
    cluster: { name: 'bench', provider: 'eks-anywhere', endpoints: ['10.0.9.9'], serviceCidrs: ['10.96.0.0/12'] },
    workload: client,
    management: client,
    machinesNamespace: 'eksa-system',
  };
  const connect: NodeQuery['connect'] = async ({ host, port }) => {
    dialled.push(`${host}:${port}`);
    if (typeof shows === 'object') return { ok: false, failure: shows };
    return { ok: true, chain: decodeBundle(shows).certificates, keyProven: true };
  };
  return { target, connect, client, dialled };
}

async function explain(given: Given = {}, node = 'worker-8', changed: Partial<NodeQuery> = {}) {
  const { target, connect, client, dialled } = targetOf(given);
  const workload = { ...target.workload, ...given.workload };
  const io = recordedIo({ now: NOW });
  const query: NodeQuery = {
    connect,
    node,
    port: 10_250,
    policies: [DEFAULT_POLICY],
    output: 'table',
    places: { program: 'certmarshal', repeatNames: '' },
    ...changed,
  };
  const { signal } = new AbortController();
  const outcome = await outcomeOf(io, explainNodeCommand({ ...target, workload }, query, signal, io));
  return { ...outcome, dialled, writes: client.calls.filter(({ method }) => method !== 'GET') };
}

const JSON_OUTPUT = { output: 'json' } as const;
const json = async (given: Given = {}) => JSON.parse((await explain(given, 'worker-8', JSON_OUTPUT)).stdout);
const REFUSED = { kind: 'refused', message: 'it refuses the connection', remedy: 'Open port 10250.' } as const;

describe('certmarshal explain --node', () => {
  it('shows what the node serves, name by name with its proof, and writes nothing', async () => {
    const { status, stdout, stderr, dialled, writes } = await explain({ issued: [own] });
    expect({ status, stderr, dialled, writes }).toEqual({
      status: 0,
      stderr: '',
      dialled: ['10.0.0.8:10250'],
      writes: [],
    });
    expect(stdout.split('\n')).toEqual([
      'worker-8 serves a certificate for its own names, all proven by Machine eksa-system/md-0-8. ✔ Proven.',
      '  bench',
      '',
      '  seen      in a handshake with 10.0.0.8:10250',
      '  names     ✔ worker-8 ← Machine eksa-system/md-0-8',
      '            ✔ 10.0.0.8 ← Machine eksa-system/md-0-8',
      '  issued    2025-08-14, 200 d ago, by CN=kubernetes, key P-256',
      '  approved  by AutoApproved (csr-0)',
      '  expires   2026-06-10, in 100 d',
      '',
      '  Proven: Every name in it belongs to its node.',
      '',
    ]);
  });

  it('names whose address a certificate has, who approved it, and the runbook', async () => {
    const { status, stdout } = await explain({ shows: stolen, issued: [own, stolen], approvedBy: 'KubectlApprove' });
    expect(status).toBe(0);
    expect(stdout.split('\n')[0]).toBe(
      "worker-8 serves a certificate: IP 10.0.0.9 belongs to worker-9 (Machine eksa-system/md-0-9). ✖ Another node's name.",
    );
    expect(stdout).toContain(
      'names     ✖ 10.0.0.9 owned by worker-9 (Machine eksa-system/md-0-9)\n            ✔ worker-8',
    );
    expect(stdout).toContain('approved  by KubectlApprove (csr-1)');
    expect(stdout).toContain('→ certmarshal runbook issued-names-another');
  });

  it('says where to find the approver of a request that is gone', async () => {
    expect((await explain()).stdout).toMatch(/approved {2}approver not known: its request is gone\. The audit log/);
  });

  it('says the same in JSON', async () => {
    expect(await json({ shows: stolen, issued: [stolen] })).toEqual({
      node: 'worker-8',
      seenIn: 'handshake',
      where: '10.0.0.8:10250',
      keyProven: true,
      verdict: 'names-another',
      why: expect.stringContaining('IP 10.0.0.9 belongs to worker-9'),
      request: 'csr-0',
      approvedBy: 'AutoApproved',
      names: [
        expect.objectContaining({ name: 'worker-8', proven: true }),
        { kind: 'ip', name: '10.0.0.8', proven: true, provenBy: { source: 'machine', object: `${MACHINE}-8` } },
        {
          kind: 'ip',
          name: '10.0.0.9',
          proven: false,
          ownedBy: { node: 'worker-9', source: 'machine', object: `${MACHINE}-9` },
        },
      ],
      certificate: {
        subject: expect.stringContaining('CN=system:node:worker-8'),
        issuer: 'CN=kubernetes',
        serialNumber: expect.any(String),
        fingerprint: expect.stringMatching(/^[\da-f]{64}$/),
        key: 'P-256',
        notBefore: '2025-08-14T12:00:00.000Z',
        notAfter: '2026-06-10T12:00:00.000Z',
      },
      problems: [],
    });
  });

  it('takes the newest issued request where there is no route to the node, and says what it could not see', async () => {
    const { status, stdout } = await explain({ shows: REFUSED, issued: [own, stolen] });
    expect(status).toBe(0);
    expect(stdout).toContain(
      'worker-8 was issued a certificate: IP 10.0.0.9 belongs to worker-9 (Machine eksa-system/md-0-9).',
    );
    expect(stdout).toContain('seen      in csr-1, its newest that was issued; not at the kubelet');
    expect(stdout).toContain(
      '✖ kubelet of worker-8 at 10.0.0.8:10250: it refuses the connection\n    → Open port 10250.',
    );
    expect(await json({ shows: REFUSED, issued: [own] })).toMatchObject({
      seenIn: 'request',
      request: 'csr-0',
      verdict: 'proven',
      problems: [{ kind: 'refused', remedy: 'Open port 10250.' }],
    });
  });

  it('ends with status 1 where nothing can be seen, and says why', async () => {
    const { status, stdout } = await explain({ shows: REFUSED });
    expect(status).toBe(1);
    expect(stdout.split('\n')[0]).toBe('worker-8: its serving certificate cannot be seen. Not judged.');
    expect(stdout).toMatch(/→ kubectl get csr shows whether a request of it waits, and .*certmarshal.* explain why\n/);
    expect(stdout).toContain('→ Open port 10250.');
    expect(await json({ shows: REFUSED })).toEqual({ node: 'worker-8', names: [], problems: [expect.anything()] });
  });

  it('names the newest request that waits where the kubelet has no certificate yet', async () => {
    const waiting = ['2026-03-02T11:40:00Z', '2026-03-02T11:55:00Z', '2026-03-02T11:50:00Z'].map((at, index) => {
      const made = csrOf(8, requestOf(8), at);
      return { ...made, metadata: { ...Reflect.get(made, 'metadata'), name: `csr-${index}` } };
    });
    const { stdout } = await explain({ shows: REFUSED, answers: { [REQUESTS]: waiting } });
    expect(stdout).toContain('→ its request waits: certmarshal explain csr-1\n');
  });

  it('ends with status 1 where evidence cannot be read: that is no word against a certificate', async () => {
    const { status, stdout } = await explain({ shows: stolen, answers: { [MACHINES]: failure('forbidden') } });
    expect(status).toBe(1);
    expect(stdout).toContain('? Unknown.');
    expect(stdout).toContain('✖ evidence machine: list things: is forbidden\n    → Mend it.');
  });

  it.each([
    ['another authority of that name', OTHER_CA],
    ['the kubelet itself', undefined],
  ])('does not judge what %s issued', async (_, signedBy) => {
    const shows = signedBy === undefined ? OTHER_CA.certificate : await servingCertificate({ ...OWN, signedBy });
    const { status, stdout } = await explain({ shows });
    expect(status).toBe(1);
    expect(stdout.split('\n')[0]).toBe('worker-8 serves a certificate that the cluster did not issue. Not judged.');
    expect(stdout).toContain('→ certmarshal runbook issuer-unknown');
    expect(stdout).not.toContain('approved  ');
  });

  it('says that nothing tells who issued it where the kubeconfig has no CA', async () => {
    const { status, stdout } = await explain({ caPem: undefined });
    expect(status).toBe(1);
    expect(stdout).toContain('the kubeconfig has no CA');
  });

  it('says that a server did not show that it has the key', async () => {
    const connect: NodeQuery['connect'] = async () => ({ ok: true, chain: decodeBundle(own).certificates });
    const { stdout } = await explain({}, 'worker-8', { connect, policies: [] });
    expect(stdout).toContain('10.0.0.8:10250, which did not show that it has the key');
  });

  it('proves no name that no node may have', async () => {
    const shows = await servingCertificate({ ...OWN, dnsNames: ['worker-8', 'kubernetes'] });
    const { names, verdict } = await json({ shows });
    expect(verdict).toBe('names-another');
    expect(names).toContainEqual({ kind: 'dns', name: 'kubernetes', proven: false });
  });

  it('shows the certificate where its requests cannot be listed', async () => {
    const { status, stdout } = await explain({ answers: { [REQUESTS]: failure('forbidden', 'list csrs') } });
    expect(status).toBe(0);
    expect(stdout).toContain('✖ list csrs: is forbidden');
  });

  it('looks where the Machine says that the node is, then where its Node says', async () => {
    const lying = { '/api/v1/nodes': [nodeObject('worker-8', { InternalIP: ['10.0.0.77'] })] };
    expect((await explain({ answers: lying })).dialled).toEqual(['10.0.0.8:10250']);
    expect((await explain({ answers: lying, shows: REFUSED })).dialled).toEqual(['10.0.0.8:10250', '10.0.0.77:10250']);
    const nowhere = { '/api/v1/nodes': [nodeObject('worker-88')] };
    const { status, stdout, dialled } = await explain({ answers: nowhere }, 'worker-88');
    expect({ status, dialled }).toEqual({ status: 1, dialled: [] });
    expect(stdout).toContain('✖ kubelet of worker-88: it has no known address');
  });

  it('shakes hands with the kubelet itself', async () => {
    const pair = await servingPair({ node: 'worker-8', ipAddresses: [] });
    const port = await listenTls(pair);
    const here = machineOf(8);
    const addresses = [{ type: 'InternalIP', address: '127.0.0.1' }];
    const answers = { [MACHINES]: [{ ...here, status: { ...Reflect.get(here, 'status'), addresses } }] };
    const workload = { server: 'https://127.0.0.1:6443', addresses: 'local' as const };
    const query = { ...JSON_OUTPUT, port, connect: handshake };
    const { status, stdout } = await explain({ answers, workload }, 'worker-8', query);
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ where: `127.0.0.1:${port}`, keyProven: true, verdict: 'proven' });
  });

  it('prints nothing of an approver that a terminal would run, nor more than a line of it', async () => {
    const given = { issued: [own], approvedBy: `\u001b[2J\u202E${'x'.repeat(1_000)}` };
    for (const { stdout } of [await explain(given), await explain(given, 'worker-8', JSON_OUTPUT)]) {
      for (const hidden of ['\u001b', '\\u001b', '\u202E']) expect(stdout).not.toContain(hidden);
      expect(stdout).not.toContain('x'.repeat(101));
    }
  });

  it('says that there is no such Node', async () => {
    const { status, stdout, stderr, dialled } = await explain({}, 'worker-88');
    expect({ status, stdout, dialled }).toEqual({ status: 1, stdout: '', dialled: [] });
    expect(stderr).toBe('bench has no Node worker-88. kubectl get nodes lists all.\n');
  });

  it.each(['worker-8,metadata.namespace=x', 'a b', '', '../x'])('refuses %j before it asks', async (node) => {
    await expect(explain({}, node)).rejects.toThrow(/is not a name that a Node can have$/);
  });
});
