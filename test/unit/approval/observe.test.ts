import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { approve } from '../../../lambdas/approval/approve.ts';
import { observe, type SweepTarget } from '../../../lambdas/approval/observe.ts';
import { type ApprovalPolicy, DEFAULT_POLICY, everywhere } from '../../../lambdas/approval/policy.ts';
import type { ClusterContext } from '../../../lambdas/approval/request.ts';
import type { InstanceQuery } from '../../../lambdas/aws/ec2-instances.ts';
import { AwsError } from '../../../lambdas/aws/errors.ts';
import type { KubernetesClient } from '../../../lambdas/kubernetes/client.ts';
import { KubernetesError, type KubernetesErrorKind } from '../../../lambdas/kubernetes/errors.ts';
import { addressOf, csrOf, machineOf, nodeName, requestOf } from '../../bench/fixtures.ts';
import { capiCluster } from '../../providers/objects.ts';
import { PROVIDERS } from '../../providers/table.ts';

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

const benchTarget = (client: KubernetesClient): SweepTarget => ({
  cluster: { name: 'bench', provider: 'eks-anywhere' },
  workload: client,
  management: client,
  machinesNamespace: 'eksa-system',
});

const observeEks = (requests: number, listInstances: ListInstances, change: Partial<ApprovalPolicy> = {}) =>
  observe(
    {
      cluster: { name: 'dublin', provider: 'eks' },
      vpcId: 'vpc-1',
      workload: withRequests(requests),
      machinesNamespace: 'eksa-system',
      listInstances,
    },
    // What a policy of another cluster trusts is not read.
    [
      { ...DEFAULT_POLICY, ...change },
      { ...DEFAULT_POLICY, evidence: ['ec2', 'node'], clusters: ['berlin'] },
    ],
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

const MADE = capiCluster({ provider: PROVIDERS['vSphere, 0.26'], name: 'bench' });
/** The Cluster of Cluster API. */
const clusterObject = (spec: object = {}) => ({
  ...MADE,
  spec: { ...MADE.spec, controlPlaneEndpoint: { host: '10.0.9.9', port: 6443 }, ...spec },
});

/** A cluster of one open request, and this many pages of Machines or Nodes. */
function withPages(
  pages: number,
  page: (index: number) => readonly unknown[],
  clusters: () => readonly unknown[] = () => [clusterObject()],
): KubernetesClient {
  const requests = withRequests(1);
  return {
    ...requests,
    request: async (call) => {
      if (call.path.includes('certificatesigningrequests')) return requests.request(call);
      if (call.path.endsWith('/cluster.x-k8s.io')) return { versions: [{ version: 'v1beta2' }] };
      if (call.path.endsWith('/servicecidrs')) return { items: [], metadata: {} };
      if (call.path.endsWith('/clusters')) return { items: [...clusters()], metadata: {} };
      const index = Number(call.query?.['continue'] ?? 0);
      return { items: [...page(index)], metadata: index + 1 < pages ? { continue: String(index + 1) } : {} };
    },
  };
}

/** The client, with these answers where there are any. */
const answering = (client: KubernetesClient, answer: (path: string, query?: object) => unknown): KubernetesClient => ({
  ...client,
  request: async (call) => {
    const answered = answer(call.path, call.query);
    if (answered instanceof Error) throw answered;
    return (answered ?? client.request(call)) as ReturnType<KubernetesClient['request']>;
  },
});
const listOf = (items: readonly unknown[]) => ({ items: [...items], metadata: {} });
const ofRequests = (path: string) => path.includes('certificatesigningrequests');

describe('the requests of a sweep', () => {
  const now = Date.parse('2026-01-01T00:30:00Z');
  const listing = (...items: readonly object[]) => {
    const client = answering(
      withPages(1, () => []),
      (path) => (ofRequests(path) ? listOf(items) : undefined),
    );
    return observe(benchTarget(client), [DEFAULT_POLICY], signal, () => now);
  };
  const csr = (name: string, at: string, change: object = {}, spec: object = {}) => {
    const made = csrOf(1, requestOf(1), at) as { metadata: object; spec: object };
    return { ...made, metadata: { ...made.metadata, name, uid: name }, spec: { ...made.spec, ...spec }, ...change };
  };

  it('have what their requesters claimed, decided or not, however many others make CSRs', async () => {
    const other = csr('other', '2026-01-01T00:05:00Z');
    const { open } = await listing(
      ...Array.from({ length: 20_000 }, (_, username) => ({
        ...other,
        spec: { ...other.spec, username: `${username}` },
      })),
      csr('denied', '2026-01-01T00:05:00Z', { status: { conditions: [{ type: 'Denied', status: 'True' }] } }),
      csr('open', '2026-01-01T00:25:00Z'),
    );
    expect(open).toHaveLength(1);
    const claims = open[0]?.claims;
    expect([claims?.newest.name, claims?.times.length]).toEqual(['open', 2]);
    expect(claims?.names.get(addressOf(1))).toMatchObject({ first: { name: 'denied' }, count: 2, isApproved: false });
  });

  it('of kubelets under another user are shown, at most twenty', async () => {
    const misnamed = { username: 'arn:aws:iam::111122223333:role/nodes' };
    const { ignored, misnamed: shown } = await listing(
      ...Array.from({ length: 21 }, (_, index) => csr(`m-${index}`, '2026-01-01T00:05:00Z', {}, misnamed)),
      csr('webhook', '2026-01-01T00:05:00Z', {}, { username: 'system:serviceaccount:db:operator' }),
    );
    expect(Object.fromEntries(ignored)).toEqual({ RequesterMisnamed: 21, RequesterNotNode: 1 });
    expect(shown).toHaveLength(20);
    expect(shown?.[0]?.message).toBe(
      'common name is system:node:worker-1, but requester is arn:aws:iam::111122223333:role/nodes',
    );
  });
});

describe('Machines of another namespace', () => {
  const machine = (namespace: string) => ({
    metadata: { name: 'm-1', namespace },
    spec: { clusterName: 'bench' },
    status: { nodeRef: { name: 'worker-1' }, addresses: [{ type: 'InternalIP', address: '10.0.0.1' }] },
  });
  const having = (own: readonly unknown[], foreign: readonly unknown[]) =>
    answering(
      withPages(1, () => own),
      (path) => (path === '/apis/cluster.x-k8s.io/v1beta2/machines' ? listOf([...own, ...foreign]) : undefined),
    );
  const readingOf = async (client: KubernetesClient) =>
    (await observe(benchTarget(client), [DEFAULT_POLICY], signal)).evidence.readings;

  it('change nothing, whatever node they name', async () => {
    const alone = await readingOf(having([machine('eksa-system')], []));
    expect(alone).toMatchObject([{ source: 'machine', ok: true, owners: [{ object: 'Machine eksa-system/m-1' }] }]);
    expect(await readingOf(having([machine('eksa-system')], [machine('tenant-x'), machine('tenant-y')]))).toEqual(
      alone,
    );
  });

  it('are none of the cluster: without its own every request waits, and the reason names the namespace', async () => {
    expect(await readingOf(having([], [machine('team-a')]))).toMatchObject([
      {
        source: 'machine',
        ok: false,
        problem: expect.stringContaining('namespace eksa-system has no Machine of cluster bench'),
        remedy: expect.stringContaining('name and namespace of its Cluster at its entry in fleet.yaml'),
      },
    ]);
  });
});

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

  const withCluster = (spec: object, listed: unknown = machine(0, 1)) => {
    const clusters = () => [clusterObject(spec)];
    return withPages(1, () => [listed], clusters);
  };

  async function machines(pages: number, each: number, shown: number | readonly object[] | undefined) {
    let asked = 0;
    const client = withPages(pages, (page) => {
      asked += 1;
      return Array.from({ length: each }, (_, n) => {
        const { status, ...rest } = machine(page * each + n, typeof shown === 'number' ? shown : 1);
        const addresses = typeof shown === 'object' ? { addresses: shown } : {};
        return { ...rest, status: { ...status, ...addresses, ...(shown === undefined && { nodeRef: undefined }) } };
      });
    });
    const { evidence } = await observe(benchTarget(client), [DEFAULT_POLICY], signal);
    return { asked, reading: evidence.readings[0] };
  }

  it('is read for all nodes that Kubernetes supports', async () => {
    const { reading } = await machines(10, 500, 8);
    expect(reading).toMatchObject({ source: 'machine', ok: true, lookedAt: 5_000 });
  });

  const dns = (n: number) => ({ type: 'InternalDNS', address: `n${n}${`.${'x'.repeat(60)}`.repeat(4)}` });
  const longNames = Array.from({ length: 250 }, (_empty, n) => dns(n));

  it.each([
    ['objects than a cluster has', 500, 1],
    ['names than a cluster has', 100, 1_000],
    ['long names than a cluster has', 100, longNames],
    ['Machines without a node than a cluster has', 500, undefined],
  ])('of more %s is not read on, and proves nothing', async (_, each, addresses) => {
    const { asked, reading } = await machines(1_000, each, addresses);
    expect(reading).toMatchObject({ source: 'machine', ok: false, kind: 'too-large' });
    const [problem, remedy] =
      typeof addresses === 'number' ? [/^there are more than 20000 of them/, /5,000 nodes/] : [/./, /./];
    expect(reading).toMatchObject({
      problem: expect.stringMatching(problem),
      remedy: expect.stringMatching(remedy),
    });
    expect(asked).toBeLessThan(50);
  });

  it.each([
    ['api.example.com', ['api.example.com'], ['10.0.0.5', '10.0.0.6']],
    ['10.0.0.1', ['tunnel.example.net'], ['192.0.2.10']],
  ])('resolves the name of the API endpoint %s, and remembers what it leads to', async (host, names, addresses) => {
    const all: Record<string, readonly string[]> = {
      'api.example.com': ['10.0.0.5', '10.0.0.6', '10.0.0.5'],
      'tunnel.example.net': ['192.0.2.10'],
    };
    const asked: string[] = [];
    const client = withCluster({ controlPlaneEndpoint: { host, port: 6443 } }, machine(0, 2));
    const { cluster, endpointAddresses } = await observe(
      {
        ...benchTarget({ ...client, endpoints: ['tunnel.example.net', '127.0.0.1'] }),
        endpointAddresses: ['10.0.0.9'],
        resolve: async (name) => {
          asked.push(name);
          return all[name] ?? [];
        },
      },
      [DEFAULT_POLICY],
      signal,
    );
    expect(asked).toEqual(names);
    expect(endpointAddresses).toEqual(addresses);
    expect(cluster.endpoints).toEqual(expect.arrayContaining([...addresses, '10.0.0.9']));
  });

  describe('with ServiceCIDRs', () => {
    const services = (answer: () => unknown) => {
      const client = answering(
        withPages(1, () => [machine(0, 2)]),
        (path) => (path.endsWith('/servicecidrs') ? answer() : undefined),
      );
      return observe(benchTarget(client), [{ ...DEFAULT_POLICY, evidence: ['machine', 'node'] }], signal);
    };
    const failure = (kind: KubernetesErrorKind) =>
      new KubernetesError({ kind, object: 'list servicecidrs', problem: 'no', remedy: 'Grant it.' });

    const cidrs = (...all: readonly string[]) => ({ spec: { cidrs: all } });
    const NO_CIDRS = 'are not a list of at most 16 CIDRs';

    it('reserves all of them, beside those of the Cluster', async () => {
      const first = { spec: { cidrs: ['10.100.0.0/16', 'fd00:1::/112'] } };
      const both = listOf([first, { spec: { cidrs: ['10.200.0.0/24'] } }]);
      const { cluster, evidence } = await services(() => both);
      expect(cluster.serviceCidrs).toEqual(expect.arrayContaining(['10.100.0.0/16', 'fd00:1::/112', '10.200.0.0/24']));
      expect(evidence.readings.map(({ ok }) => ok)).toEqual([true, true]);
    });

    it('there are none where the API server does not serve them', async () => {
      const { evidence } = await services(() => failure('not-found'));
      expect(evidence.readings.map(({ ok }) => ok)).toEqual([true, true]);
    });

    it.each([
      ['cannot be read', () => failure('forbidden'), 'list servicecidrs: no'],
      ['are too many', () => listOf(Array.from({ length: 17 }, () => cidrs('10.1.0.0/16'))), NO_CIDRS],
      ['are not CIDRs', () => listOf([cidrs('10.1.0.0/16', '→')]), NO_CIDRS],
    ])('that %s let neither Nodes nor a guest prove a name', async (_name, answer, why) => {
      const { evidence } = await services(answer);
      expect(evidence.readings).toMatchObject([
        { source: 'machine', ok: false, problem: expect.stringContaining(why) },
        { source: 'node', ok: false, problem: expect.stringContaining(why) },
      ]);
    });
  });

  const sweptBy = (client: KubernetesClient, sources: ApprovalPolicy['evidence'], more: object = {}) =>
    observe(
      { ...benchTarget(client), cluster: { name: 'bench', provider: 'eks-anywhere', ...more } },
      [{ ...DEFAULT_POLICY, evidence: sources }],
      signal,
    );

  it.each<ApprovalPolicy['evidence']>([['machine'], ['machine', 'node']])(
    'has Machines that have no node yet, which contest, whatever a policy trusts: %s',
    async (...sources) => {
      const booting = { ...machine(1, 2), status: { ...machine(1, 2).status, nodeRef: undefined } };
      const { evidence } = await sweptBy(
        withPages(1, () => [machine(0, 2), booting]),
        sources,
      );
      expect(evidence.readings[0]).toMatchObject({ source: 'machine', ok: true, lookedAt: 2, owners: [{}, {}] });
      const holders = evidence.holdersOf('ip', 'fd00::1:0').owners.filter(({ source }) => source === 'machine');
      expect(holders).toMatchObject([{ object: 'Machine eksa-system/m-1', nodes: [], notLive: 'has no node yet' }]);
    },
  );

  const UNKNOWN_SERVICES = { clusterNetwork: undefined };

  it('has the endpoint and the service CIDRs of the Cluster, beside what was known', async () => {
    const client = { ...withPages(1, () => [machine(0, 1)]), endpoints: ['api.example.com', '10.0.9.1'] };
    const { cluster } = await sweptBy(client, ['machine'], {
      endpoints: ['api.example.com'],
      serviceCidrs: ['10.100.0.0/16'],
    });
    expect(cluster).toEqual({
      name: 'bench',
      provider: 'eks-anywhere',
      endpoints: ['api.example.com', '10.0.9.1', '10.0.9.9'],
      serviceCidrs: ['10.100.0.0/16', '10.96.0.0/12'],
    });
  });

  it('has the domain of its Services, where the Cluster has one', async () => {
    const domainIn = async (serviceDomain: unknown) => {
      const spec = { clusterNetwork: { services: { cidrBlocks: ['10.96.0.0/12'] }, serviceDomain } };
      const client = withCluster(spec);
      return (await sweptBy(client, ['machine'])).cluster.serviceDomain;
    };
    expect(await Promise.all(['K8s.Example.com.', '', 'no domain', 7, undefined].map(domainIn))).toEqual([
      'k8s.example.com',
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('has no endpoint where neither fleet.yaml nor the Cluster names one', async () => {
    const { cluster } = await sweptBy(withCluster({ controlPlaneEndpoint: undefined }), ['machine']);
    expect(cluster.endpoints).toEqual([]);
  });

  it('by Nodes is believed where only the Cluster says the service CIDRs', async () => {
    const { evidence } = await sweptBy(
      withPages(1, () => [machine(0, 1)]),
      ['machine', 'node'],
    );
    expect(evidence.readings).toMatchObject([
      { source: 'machine', ok: true },
      { source: 'node', ok: true, lookedAt: 1 },
    ]);
  });

  it('asks for the Cluster once, and only beside Machines for an open request', async () => {
    const asked: string[] = [];
    const counting = (client: KubernetesClient) =>
      answering(client, (path, query = {}) => {
        if (path.endsWith('/clusters')) asked.push(`${path} ${new Map(Object.entries(query)).get('fieldSelector')}`);
      });
    await sweptBy(counting(withRequests(0)), ['machine']);
    await sweptBy(counting(withPages(1, () => [])), ['node']);
    expect(asked).toEqual([]);
    await sweptBy(counting(withPages(1, () => [machine(0, 1)])), ['machine', 'node']);
    expect(asked).toEqual(['/apis/cluster.x-k8s.io/v1beta2/namespaces/eksa-system/clusters metadata.name=bench']);
  });

  it.each<[string, object, object, boolean]>([
    ['vSphere, with them', {}, {}, true],
    ['vSphere, with those of fleet.yaml', UNKNOWN_SERVICES, { serviceCidrs: ['10.96.0.0/12'] }, true],
    ['vSphere, without', UNKNOWN_SERVICES, {}, false],
    ['vSphere, with what are no CIDRs', { clusterNetwork: { services: { cidrBlocks: ['all'] } } }, {}, false],
    ...['NutanixCluster', 'DockerCluster', 'AWSSnowCluster', 'AWSCluster', 'tinkerbellcluster', ''].map(
      (kind): [string, object, object, boolean] => [
        `${kind}, without`,
        { ...UNKNOWN_SERVICES, infrastructureRef: { kind } },
        {},
        false,
      ],
    ),
    ['an unknown kind, without', { ...UNKNOWN_SERVICES, infrastructureRef: { kind: 'OtherCluster' } }, {}, false],
    ['no kind, without', { ...UNKNOWN_SERVICES, infrastructureRef: undefined }, {}, false],
    ['bare metal, without', { ...UNKNOWN_SERVICES, infrastructureRef: { kind: 'TinkerbellCluster' } }, {}, true],
    ['CloudStack, without', { ...UNKNOWN_SERVICES, infrastructureRef: { kind: 'CloudStackCluster' } }, {}, true],
  ])(
    'by Machines is believed where a guest cannot pass off the address of a Service as its own: %s',
    async (_, spec, more, ok) => {
      const client = withCluster(spec);
      const { evidence } = await sweptBy(client, ['machine'], more);
      const remedy = expect.stringContaining('Write serviceCidrs of the cluster in fleet.yaml');
      expect(evidence.readings).toMatchObject([ok ? { source: 'machine', ok } : { source: 'machine', ok, remedy }]);
    },
  );

  it.each<[string, object, number]>([
    ['another one', {}, 1],
    ['the endpoint of the Cluster', { controlPlaneEndpoint: { host: addressOf(0), port: 6443 } }, 0],
    ['in the service CIDR of the Cluster', { clusterNetwork: { services: { cidrBlocks: [`${addressOf(0)}/32`] } } }, 0],
  ])(
    'reserves what the Cluster says, in the decisions of a sweep: the address asked for is %s',
    async (_, spec, approved) => {
      const csr = csrOf(0, requestOf(0), '2026-01-01T00:00:00Z');
      const asked = answering(withCluster(spec, machineOf(0)), (path) =>
        ofRequests(path) ? listOf([structuredClone(csr)]) : undefined,
      );
      const { counts, rows } = await approve(
        benchTarget(asked),
        [{ ...DEFAULT_POLICY, mode: everywhere('observe') }],
        () => Date.UTC(2026, 0, 1, 0, 1),
        signal,
      );
      expect([counts.wouldWrite, rows[0]?.reason]).toEqual([approved, approved === 1 ? 'Proven' : 'SanReserved']);
    },
  );

  const failing = (kind: 'forbidden' | 'not-found' | 'timeout'): (() => never) => {
    return () => {
      throw new KubernetesError({ kind, object: 'list clusters', problem: 'no', remedy: 'Grant it.' });
    };
  };

  it.each<[string, () => readonly unknown[], string]>([
    ['forbidden', failing('forbidden'), 'Grant it.'],
    ['not served', failing('not-found'), 'Grant it.'],
    ['too slow', failing('timeout'), 'Grant it.'],
    ['not there', () => [], 'kubectl get clusters'],
  ])('by Machines is not believed when their Cluster is %s', async (_, clusters, remedy) => {
    const read = await sweptBy(
      withPages(1, () => [machine(0, 1)], clusters),
      ['machine'],
    );
    const [reading] = read.evidence.readings;
    expect(reading).toMatchObject({ source: 'machine', ok: false, remedy: expect.stringContaining(remedy) });
  });

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
    const cluster = { name: 'bench', provider: 'eks-anywhere', serviceCidrs } as const;
    const report = await approve(
      { cluster, workload: withPages(1, () => [NODE]), machinesNamespace: 'eksa-system' },
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

describe('evidence of hybrid nodes', () => {
  const node = {
    metadata: { name: nodeName(0) },
    status: { addresses: [{ type: 'InternalIP', address: '10.80.0.5' }] },
  };
  const cluster: ClusterContext = { name: 'dublin', provider: 'eks', serviceCidrs: ['10.100.0.0/16'] };
  const sources = async (
    evidence: ApprovalPolicy['evidence'],
    change: Partial<ClusterContext>,
    listInstances: ListInstances = async function* () {},
  ) => {
    const target = {
      cluster: { ...cluster, ...change },
      workload: withPages(1, () => [node]),
      machinesNamespace: 'eksa-system',
    };
    const observed = await observe({ ...target, listInstances }, [{ ...DEFAULT_POLICY, evidence }], signal);
    return observed.evidence.readings.map(({ source, ok }) => `${source} ${ok ? 'read' : 'unread'}`);
  };
  const denied: ListInstances = async function* () {
    yield [];
    throw new AwsError({ kind: 'denied', object: 'ec2', problem: 'no', remedy: 'Grant it.' });
  };

  const known = { remoteNodeNetworks: ['10.80.0.0/16'] };
  const lost = { ...known, serviceCidrs: undefined };
  it.each<[string, ApprovalPolicy['evidence'], Partial<ClusterContext>, string[], ListInstances?]>([
    ['beside Nodes and instances', ['ec2', 'hybrid'], known, ['node read', 'ec2 read', 'hybrid read']],
    ['only by opt-in', ['ec2', 'node'], known, ['node read', 'ec2 read']],
    ['of no cluster without such networks', ['ec2', 'hybrid'], {}, ['node read', 'ec2 read']],
    ['never without EC2', ['node', 'hybrid'], known, ['node read']],
    ['never where EC2 cannot be read', ['ec2', 'hybrid'], known, ['node read', 'ec2 unread'], denied],
    ['never while the service CIDRs are not known', ['ec2', 'hybrid'], lost, ['node unread', 'ec2 read']],
  ])('is there %s', async (_, evidence, change, expected, listInstances) => {
    expect(await sources(evidence, change, listInstances)).toEqual(expected);
  });
});

describe('EC2 evidence', () => {
  it('is asked for the nodes of the open requests, never for more than 2,000 at once, then for all, to see whose a name is', async () => {
    const asked: InstanceQuery[] = [];
    const { evidence } = await observeEks(4_001, async function* (query) {
      asked.push(query);
      yield [{}, {}];
    });
    expect(asked.map(({ nodes }) => nodes.length)).toEqual([2_000, 2_000, 1, 0]);
    expect(new Set(asked.flatMap(({ nodes }) => nodes)).size).toBe(4_001);
    expect(asked.every(({ vpcId }) => vpcId === 'vpc-1')).toBe(true);
    expect(asked.map(({ cluster }) => cluster)).toEqual([undefined, undefined, undefined, 'dublin']);
    expect(evidence.readings).toMatchObject([{ source: 'ec2', ok: true, lookedAt: 2 }]);
  });

  // The requests of these tests ask for the names of node 1.
  const own = { ...running('i-0aaaaaaaa', '10.9.9.9'), PrivateDnsName: nodeName(0) };
  const another = { ...running('i-0bbbbbbbb', addressOf(1)), PrivateDnsName: nodeName(1) };

  it.each<[string, (object | AwsError)[], number]>([
    ['asks for no more than those that have every name', [another], 1],
    ['shows whose an address is that the node does not have', [{ ...own, PrivateDnsName: nodeName(1) }, another], 1],
    ['shows whose a DNS name is that the node does not have', [{ ...own, PrivateIpAddress: addressOf(1) }, another], 2],
    [
      'counts as it is if the others cannot be read',
      [own, new AwsError({ kind: 'denied', object: 'ec2', problem: 'no', remedy: '' })],
      0,
    ],
  ])('%s', async (_, answers, owners) => {
    const asked: InstanceQuery[] = [];
    const { evidence } = await observeEks(1, async function* (query) {
      const answer = answers[asked.push(query) - 1];
      if (answer instanceof AwsError) throw answer;
      yield [answer];
    });
    expect(asked).toHaveLength(answers.length);
    expect(evidence.readings).toMatchObject([{ ok: true }]);
    expect(evidence.holdersOf('ip', addressOf(1)).owners).toHaveLength(owners);
  });

  it.each<[string, ApprovalPolicy['evidence']]>([
    ['Nodes', ['ec2', 'node']],
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
      expect(asked).toEqual([{ nodes: [], vpcId: 'vpc-1', cluster: 'dublin' }]);
      const holders = (address: string) => observed.evidence.holdersOf('ip', address).owners;
      expect(holders('10.0.0.77')).toMatchObject([{ object: 'EC2 instance i-0bbbbbbbb' }]);
      expect(holders('10.0.0.78')).toEqual([]);
    },
  );

  it('is asked for all of the cluster beside Machines, whose addresses an instance in any state contests', async () => {
    const asked: InstanceQuery[] = [];
    const stopped = { ...running('i-0bbbbbbbb', '10.0.0.77'), State: { Name: 'stopped' } };
    const listInstances: ListInstances = async function* (query) {
      asked.push(query);
      yield [stopped, { ...stopped, InstanceId: 'i-0cccccccc', VpcId: 'vpc-2' }];
    };
    const workload = withPages(1, () => []);
    const target = { ...benchTarget(workload), cluster: { name: 'dublin', provider: 'eks' }, vpcId: 'vpc-1' } as const;
    const { evidence } = await observe({ ...target, listInstances }, [DEFAULT_POLICY], signal);
    expect(asked).toEqual([{ nodes: [], vpcId: 'vpc-1', cluster: 'dublin' }]);
    const instance = { object: 'EC2 instance i-0bbbbbbbb', notLive: 'is stopped' };
    expect(evidence.ownersOf('i-0bbbbbbbb').owners).toMatchObject([instance]);
    expect(evidence.holdersOf('ip', '10.0.0.77').owners).toMatchObject([instance]);
  });

  it('keeps the weak addresses of the nodes that ask, and of no others', async () => {
    const { open, evidence } = await observeEks(1, async function* () {
      yield [
        { ...running('i-0aaaaaaaa', '10.0.0.76'), PrivateDnsName: nodeName(0), NetworkInterfaces: LATE },
        { ...running('i-0bbbbbbbb', '10.0.0.77'), NetworkInterfaces: LATE },
      ];
    });
    expect(open).toHaveLength(1);
    expect(evidence.ownersOf('i-0aaaaaaaa').owners[0]?.weakAddresses).toHaveLength(1);
    expect(evidence.ownersOf('i-0bbbbbbbb').owners).toMatchObject([{ addresses: ['10.0.0.77'] }]);
    expect(evidence.ownersOf('i-0bbbbbbbb').owners[0]).not.toHaveProperty('weakAddresses', expect.anything());
  });

  it('is not missed where Machines are the nodes of an EKS cluster', async () => {
    const target = { ...benchTarget(withRequests(1)), cluster: { name: 'dublin', provider: 'eks' as const } };
    const { evidence } = await observe(target, [DEFAULT_POLICY], signal);
    expect(evidence.readings.map(({ source }) => source)).toEqual(['machine']);
  });

  it('of a request that cannot be decoded needs no more', async () => {
    const broken = csrOf(0, Buffer.from('no request'), '2026-01-01T00:00:00Z');
    const client = answering(withRequests(1), () => listOf([broken]));
    const asked: InstanceQuery[] = [];
    const listInstances: ListInstances = async function* (query) {
      asked.push(query);
      yield [];
    };
    const target = { workload: client, cluster: { name: 'dublin', provider: 'eks' }, vpcId: 'vpc-1' } as const;
    const policies = [DEFAULT_POLICY];
    const { open } = await observe({ ...target, machinesNamespace: 'eksa-system', listInstances }, policies, signal);
    expect([open.length, asked.length]).toEqual([1, 1]);
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

describe('a page of an API server', () => {
  /** How often others have their turn while it is read. */
  async function turnsOf(requests: number, machines: number): Promise<number> {
    const client = withPages(1, () =>
      Array.from({ length: machines }, (_, index) => ({ metadata: { name: `${index}` } })),
    );
    // Every look at the clock finds it 10 ms later.
    let now = 0;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => {
      now += 10;
      return now;
    });
    onTestFinished(() => clock.mockRestore());
    let over = false;
    let turns = 0;
    const count = (): void => {
      turns += 1;
      if (!over) setImmediate(count);
    };
    setImmediate(count);
    const workload = withRequests(requests);
    const cluster = { name: 'bench', provider: 'eks-anywhere' } as const;
    await observe(
      { cluster, workload, management: client, machinesNamespace: 'eksa-system' },
      [DEFAULT_POLICY],
      signal,
    );
    over = true;
    return turns;
  }

  it('is read in turns with other clusters: requests and Machines', async () => {
    expect(await turnsOf(500, 1)).toBeGreaterThan(100);
    expect(await turnsOf(1, 500)).toBeGreaterThan(100);
  });
});
