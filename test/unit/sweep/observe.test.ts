import { describe, expect, it } from 'vitest';

import { type ApprovalPolicy, DEFAULT_POLICY } from '../../../lambdas/approval/policy.ts';
import type { InstanceQuery } from '../../../lambdas/aws/ec2-instances.ts';
import { AwsError } from '../../../lambdas/aws/errors.ts';
import type { KubernetesClient } from '../../../lambdas/kubernetes/client.ts';
import { observe, type SweepTarget } from '../../../lambdas/sweep/observe.ts';
import { sweep } from '../../../lambdas/sweep/sweep.ts';
import { csrOf, nodeName, requestOf } from '../../bench/fixtures.ts';

const { signal } = new AbortController();

/** An API server with the open requests of this many nodes. */
function withRequests(count: number): KubernetesClient {
  const pem = requestOf(1);
  const items = Array.from({ length: count }, (_, index) => csrOf(index, pem, '2026-01-01T00:00:00Z'));
  return {
    server: 'https://127.0.0.1',
    stats: { requests: 0, writes: 0, retries: 0, throttled: 0, bytes: 0 },
    request: async () => ({ items: [...items], metadata: {} }),
    close() {},
  };
}

type ListInstances = NonNullable<SweepTarget['listInstances']>;

const observeEks = (requests: number, listInstances: ListInstances, change: Partial<ApprovalPolicy> = {}) =>
  observe(
    { cluster: { name: 'dublin', provider: 'eks' }, vpcId: 'vpc-1', workload: withRequests(requests), listInstances },
    [{ ...DEFAULT_POLICY, ...change }],
    signal,
  );

/** A running instance of the cluster. */
const running = (id: string, address: string) => ({
  InstanceId: id,
  VpcId: 'vpc-1',
  State: { Name: 'running' },
  PrivateIpAddress: address,
  Tags: [{ Key: 'eks:cluster-name', Value: 'dublin' }],
});
const LATE = [{ PrivateIpAddresses: [{ PrivateIpAddress: '10.0.0.200' }] }];

/** A cluster of one open request, and this many pages of Machines or Nodes. */
function withPages(pages: number, page: (index: number) => readonly unknown[]): KubernetesClient {
  const requests = withRequests(1);
  return {
    ...requests,
    request: async (call) => {
      if (call.path.includes('certificatesigningrequests')) return requests.request(call);
      if (call.path.endsWith('/cluster.x-k8s.io')) return { versions: [{ version: 'v1beta2' }] };
      const index = Number(call.query?.['continue'] ?? 0);
      return { items: [...page(index)], metadata: index + 1 < pages ? { continue: String(index + 1) } : {} };
    },
  };
}

describe('evidence of a cluster', () => {
  const machine = (index: number, addresses: number) => ({
    metadata: { name: `m-${index}`, namespace: 'eksa-system' },
    spec: { clusterName: 'bench' },
    status: {
      nodeRef: { name: `n-${index}` },
      addresses: Array.from({ length: addresses }, (_, n) => ({
        type: 'InternalIP',
        address: `fd00::${index.toString(16)}:${n.toString(16)}`,
      })),
    },
  });

  async function machines(pages: number, each: number, addresses: number) {
    let asked = 0;
    const client = withPages(pages, (page) => {
      asked += 1;
      return Array.from({ length: each }, (_, n) => machine(page * each + n, addresses));
    });
    const { evidence } = await observe(
      { cluster: { name: 'bench', provider: 'eks-anywhere' }, workload: client, management: client },
      [DEFAULT_POLICY],
      signal,
    );
    return { asked, reading: evidence.readings[0] };
  }

  it('is read for all nodes that Kubernetes supports', async () => {
    const { reading } = await machines(10, 500, 8);
    expect(reading).toMatchObject({ source: 'machine', ok: true, lookedAt: 5_000 });
  });

  it.each([
    ['objects', 500, 1],
    ['names', 100, 1_000],
  ])('of more %s than a cluster has is not read on, and proves nothing', async (_, each, addresses) => {
    const { asked, reading } = await machines(1_000, each, addresses);
    expect(reading).toMatchObject({
      ok: false,
      kind: 'too-large',
      problem: expect.stringMatching(/^there are more than 20000 of them/),
      remedy: expect.stringContaining('5,000 nodes'),
    });
    expect(asked).toBeLessThan(50);
  });

  it.each<[ApprovalPolicy['evidence'], number]>([
    [['machine'], 0],
    [['machine', 'renewal'], 1],
  ])('keeps Machines that have no node yet where a policy trusts renewals: %j', async (sources, vetoes) => {
    const booting = { ...machine(1, 2), status: { ...machine(1, 2).status, nodeRef: undefined } };
    const client = withPages(1, () => [machine(0, 2), booting]);
    const { evidence } = await observe(
      { cluster: { name: 'bench', provider: 'eks-anywhere' }, workload: client, management: client },
      [{ ...DEFAULT_POLICY, evidence: sources }],
      signal,
    );
    expect(evidence.readings[0]).toMatchObject({ source: 'machine', ok: true, lookedAt: 2, owners: [{}] });
    expect(evidence.vetoesOn('ip', 'fd00::1:0')).toHaveLength(vetoes);
    expect(evidence.holdersOf('ip', 'fd00::1:0')).toEqual([]);
  });

  it.each<ApprovalPolicy['evidence']>([['machine'], ['machine', 'renewal']])(
    'with more Machines without a node than a cluster has proves nothing only where these are kept: %s',
    async (...sources) => {
      const { status, ...rest } = machine(0, 1);
      const client = withPages(41, (page) =>
        Array.from({ length: 500 }, (_, index) => ({
          ...rest,
          metadata: { name: `m-${page}-${index}` },
          status: { ...status, nodeRef: undefined },
        })),
      );
      const { evidence } = await observe(
        { cluster: { name: 'bench', provider: 'eks-anywhere' }, workload: client, management: client },
        [{ ...DEFAULT_POLICY, evidence: sources }],
        signal,
      );
      expect(evidence.readings[0]).toMatchObject({ source: 'machine', ok: sources.length === 1 });
    },
  );

  const NODE = {
    metadata: { name: nodeName(0) },
    status: { addresses: [{ type: 'InternalIP', address: '10.96.0.1' }] },
  };

  it.each<[string, ApprovalPolicy['evidence'], readonly string[] | undefined, boolean]>([
    ['node', ['node'], undefined, false],
    ['node', ['node'], [], false],
    ['patterns', ['patterns'], undefined, false],
    ['node', ['node'], ['10.96.0.0/12'], true],
  ])('by %s is believed only where service CIDRs are known', async (_, sources, serviceCidrs, ok) => {
    const policy: ApprovalPolicy = {
      ...DEFAULT_POLICY,
      evidence: sources,
      patterns: { cidrs: ['10.0.0.0/8'], dnsNames: [] },
    };
    const cluster = { name: 'bench', provider: 'eks-anywhere' as const, ...(serviceCidrs ? { serviceCidrs } : {}) };
    const report = await sweep(
      { cluster, workload: withPages(1, () => [NODE]) },
      [policy],
      () => Date.UTC(2026, 0, 1, 0, 1),
      signal,
    );
    expect(report.counts.approved).toBe(0);
    expect(report.evidence).toMatchObject([{ source: 'node', lookedAt: ok ? 1 : 0 }]);
    const problem = { kind: 'evidence', object: 'evidence node', remedy: expect.stringContaining('serviceCidrs') };
    expect(report.problems).toMatchObject(ok ? [] : [problem]);
  });
});

describe('EC2 evidence', () => {
  it('is asked for the nodes of the open requests, never for more than 2,000 at once', async () => {
    const asked: InstanceQuery[] = [];
    const { evidence } = await observeEks(4_001, async function* (query) {
      asked.push(query);
      yield [{}, {}];
    });
    expect(asked.map(({ nodes }) => nodes.length)).toEqual([2_000, 2_000, 1]);
    expect(new Set(asked.flatMap(({ nodes }) => nodes)).size).toBe(4_001);
    expect(asked.every(({ vpcId, cluster }) => vpcId === 'vpc-1' && cluster === undefined)).toBe(true);
    expect(evidence.readings).toMatchObject([{ source: 'ec2', ok: true, lookedAt: 6 }]);
  });

  it.each<[string, ApprovalPolicy['evidence']]>([
    ['Nodes', ['ec2', 'node']],
    ['renewals', ['ec2', 'renewal']],
    ['patterns', ['machine', 'ec2', 'patterns']],
  ])(
    'is asked for all of the cluster where a policy trusts %s, so that every instance contests',
    async (_, evidence) => {
      const asked: InstanceQuery[] = [];
      const listInstances: ListInstances = async function* (query) {
        asked.push(query);
        yield [running('i-0bbbbbbbb', '10.0.0.77'), { ...running('i-0cccccccc', '10.0.0.78'), VpcId: 'vpc-2' }];
      };
      const observed = await observeEks(1, listInstances, { evidence });
      const notRunningToo = evidence.includes('renewal') ? { notRunningToo: true } : {};
      expect(asked).toEqual([{ nodes: [], vpcId: 'vpc-1', cluster: 'dublin', ...notRunningToo }]);
      expect(observed.evidence.holdersOf('ip', '10.0.0.77')).toMatchObject([{ object: 'EC2 instance i-0bbbbbbbb' }]);
      expect(observed.evidence.holdersOf('ip', '10.0.0.78')).toEqual([]);
    },
  );

  it('is asked for what does not run too where a policy trusts renewals, and that vetoes', async () => {
    const stopped = { ...running('i-0bbbbbbbb', '10.0.0.77'), State: { Name: 'stopped' } };
    const listInstances: ListInstances = async function* () {
      yield [stopped, { ...stopped, InstanceId: 'i-0cccccccc', VpcId: 'vpc-2' }];
    };
    const { evidence } = await observeEks(1, listInstances, { evidence: ['ec2', 'renewal'] });
    expect(evidence.ownersOf('i-0bbbbbbbb')).toEqual([]);
    expect(evidence.vetoesOf('i-0bbbbbbbb')).toMatchObject([{ object: 'EC2 instance i-0bbbbbbbb', why: 'is stopped' }]);
    expect(evidence.vetoesOn('ip', '10.0.0.77')).toHaveLength(1);
    const without = await observeEks(1, listInstances, { evidence: ['ec2', 'node'] });
    expect(without.evidence.vetoesOf('i-0bbbbbbbb')).toEqual([]);
  });

  it('keeps the weak addresses of the nodes that ask, and of no others', async () => {
    const { open, evidence } = await observeEks(1, async function* () {
      yield [
        { ...running('i-0aaaaaaaa', '10.0.0.76'), PrivateDnsName: nodeName(0), NetworkInterfaces: LATE },
        { ...running('i-0bbbbbbbb', '10.0.0.77'), NetworkInterfaces: LATE },
      ];
    });
    expect(open).toHaveLength(1);
    expect(evidence.ownersOf('i-0aaaaaaaa')[0]?.weakAddresses).toHaveLength(1);
    expect(evidence.ownersOf('i-0bbbbbbbb')).toMatchObject([{ addresses: ['10.0.0.77'] }]);
    expect(evidence.ownersOf('i-0bbbbbbbb')[0]).not.toHaveProperty('weakAddresses');
  });

  it('is not asked for when there is no open request', async () => {
    const { evidence } = await observeEks(0, () => expect.unreachable());
    expect(evidence.readings).toEqual([]);
  });

  const failing = (error: Error): ListInstances =>
    // oxlint-disable-next-line require-yield -- it fails before
    async function* () {
      throw error;
    };

  it('that cannot be read is part of what was observed, with the kind of the error', async () => {
    const details = {
      kind: 'throttled',
      object: 'ec2:DescribeInstances',
      problem: 'too often',
      remedy: 'Wait.',
    } as const;
    expect((await observeEks(1, failing(new AwsError(details)))).evidence.readings).toEqual([
      { source: 'ec2', ok: false, kind: 'throttled', problem: 'ec2:DescribeInstances: too often', remedy: 'Wait.' },
    ]);
  });

  it('does not hide a bug', async () => {
    await expect(observeEks(1, failing(new TypeError('bug')))).rejects.toThrow(TypeError);
  });
});
