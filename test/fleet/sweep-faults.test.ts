import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { approve } from '../../lambdas/approval/approve.ts';
import type { SweepTarget } from '../../lambdas/approval/observe.ts';
import { type ApprovalPolicy, DEFAULT_POLICY, everywhere } from '../../lambdas/approval/policy.ts';
import type { SweepReport } from '../../lambdas/approval/report.ts';
import type { KubernetesClient } from '../../lambdas/kubernetes/client.ts';
import { localClient } from '../support/local-client.ts';
import { type SimulatedApiServer, startSimulatedApiServer } from './api-server.ts';
import { steppedClock } from './clock.ts';
import { addMachine, grantedRules } from './demo-cluster.ts';
import { type Fault, type FaultRule, WRONG_LISTS } from './faults.ts';
import type { StoredCsr } from './kube-object.ts';
import { askFor, type SimulatedNode } from './kubelet.ts';
import { seededRandom } from './random.ts';

const NODES = 3;
/** Deadline of a request, in real time, where it is not what ends the request. */
const LONG_MS = 60_000;
const never = new AbortController().signal;
const CSR_LIST = /certificatesigningrequests\?/;
const MACHINES = /machines/;
const APPROVAL = /\/approval$/;

const nodeOf = (index: number): SimulatedNode => ({
  name: `worker-${index}`,
  dnsNames: [`worker-${index}`],
  ipAddresses: [`10.0.0.${index}`],
});

describe('a sweep of a cluster that misbehaves', () => {
  const clock = steppedClock(Date.UTC(2026, 0, 1));
  let clusters: { name: string; server: SimulatedApiServer; client: KubernetesClient }[] = [];

  async function start(name: string, policies?: readonly ApprovalPolicy[]): Promise<void> {
    const server = await startSimulatedApiServer({
      clock,
      name,
      random: seededRandom(1),
      users: [{ name: 'certmarshal', rules: grantedRules(policies) }],
    });
    clusters.push({ name, server, client: clientOf(server, LONG_MS) });
    for (let index = 1; index <= NODES; index += 1) {
      addMachine({ name, server }, nodeOf(index));
      ask(server, nodeOf(index));
    }
  }

  const clientOf = (server: SimulatedApiServer, requestTimeoutMs: number): KubernetesClient =>
    localClient(server, server.tokenFor('certmarshal'), {
      requestTimeoutMs,
      maxResponseBytes: 4 * 1024 * 1024,
      sleep: async () => {},
      random: () => 0,
    });

  const ask = (server: SimulatedApiServer, node: SimulatedNode) => askFor(server.api, node.name, node);

  const sweepOne = (
    { name, client }: (typeof clusters)[number],
    changes: Partial<SweepTarget> = {},
    { policies = [DEFAULT_POLICY], now = () => clock.now(), signal = never, observed = () => {} } = {},
  ): Promise<SweepReport> => {
    const cluster = { name, provider: 'eks-anywhere' } as const;
    const target = { cluster, workload: client, management: client, machinesNamespace: 'eksa-system', ...changes };
    return approve(target, policies, now, signal, { observed });
  };
  const sweepAll = (): Promise<SweepReport[]> => Promise.all(clusters.map((cluster) => sweepOne(cluster)));

  const approvedIn = ({ api }: SimulatedApiServer) =>
    (api.csrs.all() as StoredCsr[]).filter(({ status }) => (status.conditions ?? []).length > 0).length;

  const at = (index: number) => {
    const cluster = clusters[index];
    if (cluster === undefined) throw new Error(`no cluster ${index}`);
    return cluster;
  };

  beforeEach(async () => {
    clusters = [];
    await start('faulty');
    await start('healthy');
  });

  afterEach(async () => {
    for (const { client, server } of clusters) {
      client.close();
      await server.stop();
    }
  });

  /**
   * Whatever the one cluster does, the other is swept as if it were alone.
   *
   * @param shortMs deadline of a request, where only that ends it
   */
  async function sweepWith(rule: FaultRule, shortMs = 400): Promise<SweepReport> {
    const cluster = at(0);
    cluster.server.inject(rule);
    if (rule.fault.kind === 'hang' || rule.fault.kind === 'drip') {
      cluster.client.close();
      cluster.client = clientOf(cluster.server, shortMs);
    }
    const [faulty, healthy] = await sweepAll();
    if (faulty === undefined || healthy === undefined) throw new Error('a sweep is missing');
    expect(healthy).toMatchObject({ complete: true, counts: { approved: NODES, left: 0, failed: 0 }, problems: [] });
    for (const { object, message, remedy } of faulty.problems) {
      expect(object).toMatch(/\S/);
      expect(message).toMatch(/\S/);
      expect(remedy).toMatch(/[.?]$/);
    }
    return faulty;
  }

  const FAULTS: readonly (readonly [name: string, fault: Fault, kind: string])[] = [
    ['401', { kind: 'status', code: 401 }, 'unauthorized'],
    ['403', { kind: 'status', code: 403 }, 'forbidden'],
    ['404', { kind: 'status', code: 404 }, 'not-found'],
    ['429', { kind: 'status', code: 429 }, 'throttled'],
    ['500', { kind: 'status', code: 500 }, 'server'],
    ['503', { kind: 'status', code: 503 }, 'server'],
    ['HTML', { kind: 'html' }, 'not-kubernetes'],
    ['half a JSON', { kind: 'half-json' }, 'not-kubernetes'],
    ['a broken connection', { kind: 'disconnect' }, 'unreachable'],
    ['a redirect', { kind: 'redirect', location: 'https://127.0.0.1:1/' }, 'not-kubernetes'],
    ['an endless body', { kind: 'endless' }, 'too-large'],
    ['nothing at all', { kind: 'hang' }, 'timeout'],
    ['a byte at a time', { kind: 'drip', millisecondsPerByte: 5 }, 'timeout'],
  ];

  it.each(FAULTS)('lists requests with %s: says so, approves nothing', async (_, fault, kind) => {
    const report = await sweepWith({ fault, path: CSR_LIST });
    expect(report).toMatchObject({ complete: false, counts: { approved: 0 }, rows: [], problems: [{ kind }] });
    expect(approvedIn(at(0).server)).toBe(0);
  });

  it.each(FAULTS)('lists Machines with %s: leaves every request for want of evidence', async (_, fault) => {
    const report = await sweepWith({ fault, path: MACHINES });
    expect(report).toMatchObject({
      complete: false,
      counts: { approved: 0, left: NODES },
      problems: [{ kind: 'evidence' }],
    });
    expect(report.rows.map(({ reason }) => reason)).toEqual(Array(NODES).fill('EvidenceUnreadable'));
    expect(approvedIn(at(0).server)).toBe(0);
  });

  it.each(FAULTS.filter(([name]) => name !== '404'))(
    'takes one approval with %s: reports that one, writes the others',
    async (_, fault, kind) => {
      // Retries of the first write hit the fault again; the other writes get through.
      const [first] = at(0).server.api.csrs.all();
      // Unlike a read, a write that comes late on a busy machine is not tried again.
      const report = await sweepWith({ fault, path: new RegExp(`${first?.metadata.name}/approval$`) }, 2_000);
      expect(report).toMatchObject({ complete: false, counts: { approved: NODES - 1, failed: 1 } });
      expect(report.problems).toMatchObject([{ kind, object: `CertificateSigningRequest ${first?.metadata.name}` }]);
    },
  );

  it('judges all other requests beside one with more fields than any kubelet writes, and names it', async () => {
    const { server } = at(0);
    const poisoned = ask(server, nodeOf(1));
    if (poisoned === undefined) throw new Error('no request');
    const annotations = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`a${index}`, '']));
    server.api.csrs.put({ ...poisoned, metadata: { ...poisoned.metadata, annotations } });
    const [report] = await sweepAll();
    expect(report).toMatchObject({ readable: true, complete: false, counts: { approved: NODES, failed: 0 } });
    expect(report?.problems).toEqual([
      {
        kind: 'unreadable',
        object: `CertificateSigningRequest ${poisoned.metadata.name}`,
        message: expect.stringContaining('by system:node:worker-1 of signer kubernetes.io/kubelet-serving') as string,
        remedy: expect.any(String) as string,
      },
    ]);
  });

  it('takes an approval with 404 or 409 for what it is: somebody else was there', async () => {
    const [first, second] = at(0).server.api.csrs.all();
    at(0).server.inject({
      fault: { kind: 'status', code: 409 },
      path: new RegExp(`${second?.metadata.name}/approval$`),
    });
    const report = await sweepWith({
      fault: { kind: 'status', code: 404 },
      path: new RegExp(`${first?.metadata.name}/approval$`),
    });
    expect(report).toMatchObject({ complete: true, counts: { approved: NODES - 2, failed: 0 } });
    expect(report.rows.filter(({ outcome }) => outcome === 'overtaken')).toHaveLength(2);
  });

  it('writes on after a 429 that says when to come back', async () => {
    const report = await sweepWith({
      fault: { kind: 'status', code: 429, retryAfterSeconds: 1 },
      path: APPROVAL,
      times: 2,
    });
    expect(report).toMatchObject({ complete: true, counts: { approved: NODES }, requests: { retries: 2 } });
  });

  it.each([
    ['items without metadata', WRONG_LISTS.itemsWithoutMetadata, { approved: 0 }, 'unreadable'],
    ['items that are no objects', WRONG_LISTS.itemsThatAreNoObjects, { approved: NODES }, 'unreadable'],
    ['no items', WRONG_LISTS.nullItems, { approved: 0 }, null],
    ['items without status', WRONG_LISTS.itemsWithoutStatus, { approved: NODES }, null],
    ['every item twice', WRONG_LISTS.duplicates, { approved: NODES }, null],
    ['unknown fields', WRONG_LISTS.unknownFields, { approved: NODES }, null],
    ['a request of 1 MiB', WRONG_LISTS.hugeRequest, { approved: NODES - 1, left: 1 }, null],
  ])('reads a list with %s', async (_, spoil, counts, problem) => {
    const report = await sweepWith({ fault: { kind: 'wrong-list', spoil }, path: CSR_LIST });
    expect(report.counts).toMatchObject(counts);
    expect(new Set(report.problems.map(({ kind }) => kind))).toEqual(new Set(problem === null ? [] : [problem]));
  });

  it('quarantines one requester with 10,000 requests alone, in the same sweep', async () => {
    const { server } = at(0);
    addMachine({ name: 'faulty', server }, nodeOf(99));
    const first = ask(server, nodeOf(99));
    if (first === undefined) throw new Error('it was refused');
    // Copies: to make 10,000 keys, and to check as many signatures, is most of a minute.
    for (let copy = 1; copy < 10_000; copy += 1) {
      const { metadata } = first;
      server.api.csrs.put({ ...first, metadata: { ...metadata, name: `${metadata.name}-${copy}`, uid: randomUUID() } });
    }
    await clock.advance(1_000);
    const [report] = await sweepAll();
    expect(report).toMatchObject({
      counts: { approved: NODES, left: 1 },
      ignored: { Superseded: 9_999 },
      requests: { writes: NODES },
    });
    expect(report?.rows.filter(({ verdict }) => verdict === 'leave')).toMatchObject([
      { node: 'worker-99', reason: 'RequesterQuarantined' },
    ]);
  });

  it('leaves what was made in the future of this clock', async () => {
    const { server } = at(0);
    await clock.advance(10 * 60_000);
    ask(server, nodeOf(1));
    const report = await sweepOne(at(0), {}, { now: () => clock.now() - 8 * 60_000 });
    expect(report.rows.map(({ node, reason }) => [node, reason])).toContainEqual(['worker-1', 'ClockSkew']);
  });

  it('judges nothing more when its time is over, and says how many are left', async () => {
    const controller = new AbortController();
    const report = await sweepOne(at(0), {}, { signal: controller.signal, observed: () => controller.abort() });
    expect(report).toMatchObject({
      readable: true,
      complete: false,
      rows: [],
      problems: [{ kind: 'unfinished', object: `${NODES} CertificateSigningRequests` }],
    });
    expect(approvedIn(at(0).server)).toBe(0);
  });

  it('says so when no Machine carries the name of the cluster', async () => {
    const report = await sweepOne(at(0), { cluster: { name: 'fautly', provider: 'eks-anywhere' } });
    expect(report).toMatchObject({ complete: false, counts: { approved: 0, left: NODES } });
    expect(report.problems).toMatchObject([
      { kind: 'evidence', message: expect.stringContaining('namespace eksa-system has no Machine of cluster fautly') },
    ]);
  });

  it('says so when no policy is for the cluster', async () => {
    const report = await sweepOne(at(0), {}, { policies: [{ ...DEFAULT_POLICY, clusters: ['other-*'] }] });
    expect(report).toMatchObject({ complete: false, counts: { approved: 0 }, problems: [{ kind: 'policy' }] });
    expect(report.rows.map(({ reason }) => reason)).toEqual(Array(NODES).fill('NoPolicySelected'));
  });

  it('believes no Node while it does not know the service CIDRs, says so, and goes by Machines all the same', async () => {
    const trusting = { ...DEFAULT_POLICY, evidence: ['machine' as const, 'node' as const] };
    const store = at(0).server.api.clusters;
    // On bare metal no guest tells the addresses of its Machine.
    for (const cluster of store?.all() ?? [])
      store?.put({ ...cluster, spec: { infrastructureRef: { kind: 'TinkerbellCluster' } } });
    const report = await sweepOne(at(0), {}, { policies: [trusting] });
    expect(report).toMatchObject({ complete: false, counts: { approved: NODES } });
    expect(report.problems).toMatchObject([
      { kind: 'evidence', object: 'evidence node', remedy: expect.stringContaining('serviceCidrs') },
    ]);
  });

  it('does not read what only policies for other clusters ask for', async () => {
    const others = { ...DEFAULT_POLICY, name: 'others', clusters: ['other-*'], evidence: ['node' as const] };
    const report = await sweepOne(at(0), {}, { policies: [DEFAULT_POLICY, others] });
    expect(report).toMatchObject({ complete: true, counts: { approved: NODES } });
    expect(report.evidence.map(({ source }) => source)).toEqual(['machine']);
  });

  const ENFORCING: ApprovalPolicy = { ...DEFAULT_POLICY, mode: everywhere('enforce') };
  const onEks = { cluster: { name: 'faulty', provider: 'eks' }, management: undefined } as const;

  it('approves on EKS by the instance of a node, and explains the nodes that have none', async () => {
    const { server } = at(0);
    const ec2: SimulatedNode = {
      name: 'ip-10-0-1-23.eu-west-1.compute.internal',
      dnsNames: ['ip-10-0-1-23.eu-west-1.compute.internal'],
      ipAddresses: ['10.0.1.23'],
    };
    const autoMode = { name: 'i-0123456789abcdef0', dnsNames: ['i-0123456789abcdef0'], ipAddresses: ['10.0.1.24'] };
    const untagged = { name: 'i-0123456789abcdef1', dnsNames: ['i-0123456789abcdef1'], ipAddresses: ['10.0.1.25'] };
    const fargate = { ...nodeOf(4), name: 'fargate-ip-10-0-1-26.eu-west-1.compute.internal' };
    const hybrid = { ...nodeOf(5), name: 'mi-0123456789abcdef0' };
    for (const node of [ec2, autoMode, untagged, fargate, hybrid]) ask(server, node);
    await clock.advance(3 * 60_000);
    const instanceOf = (id: string, { name, ipAddresses }: SimulatedNode, cluster: string) => ({
      InstanceId: id,
      State: { Name: 'running' },
      PrivateDnsName: name.startsWith('ip-') ? name : '',
      PrivateIpAddress: ipAddresses[0],
      Tags: [{ Key: `kubernetes.io/cluster/${cluster}`, Value: 'owned' }],
    });
    const changes = {
      ...onEks,
      async *listInstances() {
        yield [
          instanceOf('i-0123456789abcdef9', ec2, 'faulty'),
          instanceOf(autoMode.name, autoMode, 'faulty'),
          instanceOf(untagged.name, untagged, 'another'),
        ];
      },
    };
    const report = await sweepOne(at(0), changes, { policies: [ENFORCING] });
    const rows = new Map(report.rows.map(({ node, reason, message }) => [node, `${reason}: ${message}`]));
    expect(rows.get(ec2.name)).toMatch(/^Proven: /);
    expect(rows.get(autoMode.name)).toMatch(/^Proven: /);
    expect(rows.get(untagged.name)).toMatch(
      /^EvidenceMissing: no EC2 instance \(3 checked\) names node i-0123456789abcdef1$/,
    );
    expect(rows.get(fargate.name)).toMatch(/^EvidenceMissing: .*: Fargate runs it outside your EC2/);
    expect(rows.get(hybrid.name)).toMatch(/^EvidenceMissing: .*: a hybrid node has no EC2 instance/);
    expect(report).toMatchObject({ complete: true, counts: { approved: 2 } });
  });

  it('approves a hybrid node where EKS names its network and nobody else has its address', async () => {
    const policies: ApprovalPolicy[] = [{ ...ENFORCING, evidence: ['ec2', 'hybrid'] }];
    await start('hybrid', policies);
    const { server } = at(2);
    const hybrid = (index: number, address: string) => ({
      name: `edge-${index}`,
      dnsNames: [`edge-${index}`],
      ipAddresses: [address],
    });
    const [own, contested, elsewhere] = [hybrid(1, '10.80.0.1'), hybrid(2, '10.80.0.2'), hybrid(3, '10.81.0.3')];
    const rival = hybrid(4, '10.80.0.2');
    for (const { name, ipAddresses } of [own, contested, elsewhere, rival])
      server.api.nodes.put({
        metadata: { name, uid: name, creationTimestamp: '2026-01-01T00:00:00Z' },
        status: { addresses: ipAddresses.map((address) => ({ type: 'InternalIP', address })) },
      });
    for (const node of [own, contested, elsewhere]) ask(server, node);
    await clock.advance(3 * 60_000);
    const cluster = { name: 'hybrid', provider: 'eks', serviceCidrs: ['10.100.0.0/16'] } as const;
    const change = { ...onEks, async *listInstances() {} };
    // Of a cluster without such networks nothing is believed.
    expect((await sweepOne(at(2), { ...change, cluster }, { policies })).counts).toMatchObject({ approved: 0 });
    const known = { ...cluster, remoteNodeNetworks: ['10.80.0.0/16'] };
    const report = await sweepOne(at(2), { ...change, cluster: known }, { policies });
    const rows = new Map(report.rows.map(({ node, reason, message }) => [node, `${reason}: ${message}`]));
    expect(rows.get(own.name)).toBe('Proven: edge-1, 10.80.0.1 ← hybrid node edge-1');
    expect(rows.get(contested.name)).toMatch(/^SanContested: IP 10.80.0.2 .* and by edge-4 \(Node edge-4\)$/);
    expect(rows.get(elsewhere.name)).toMatch(/^EvidenceMissing: .*; its Node shows no address in 10.80.0.0\/16$/);
    expect(report).toMatchObject({ complete: true, counts: { approved: 1 } });
  });

  it('says so when EC2 is asked for and not read', async () => {
    await clock.advance(3 * 60_000);
    const report = await sweepOne(at(0), onEks);
    expect(report).toMatchObject({ complete: false, counts: { approved: 0 } });
    expect(report.problems).toMatchObject([{ kind: 'evidence', object: 'evidence ec2' }]);
    expect(report.rows.map(({ reason }) => reason)).toEqual(Array(NODES).fill('EvidenceUnreadable'));
  });
});
