import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decideApproval } from '../../../lambdas/approval/decide-approval.ts';
import { type ApprovalPolicy, DEFAULT_POLICY } from '../../../lambdas/approval/policy.ts';
import type { ClusterContext } from '../../../lambdas/approval/request.ts';
import type { EvidenceSource } from '../../../lambdas/tables/evidence-sources.ts';
import { verdictSentence } from '../../../lambdas/words/verdict-words.ts';
import { runs } from '../../runs.ts';
import type { San } from '../x509/request-factory.ts';
import {
  BERLIN,
  csrObject,
  dns,
  evidenceFor,
  ips,
  machine,
  NOW,
  nodeObject,
  type Sources,
  signingRequest,
  timestamp,
} from './fixtures.ts';

const VIP = '10.0.1.5';
const API = 'api.berlin.example.com';
const KUBERNETES = '10.96.0.1';
/** What a sweep knows once it has read the Cluster and was connected. */
const cluster: ClusterContext = {
  ...BERLIN,
  endpoints: [API, VIP, 'tls.berlin.example.com', '10.0.9.1'],
  serviceCidrs: ['10.96.0.0/12'],
};

/** A machine of the control plane in the life of a rollout (Cluster API, `MachineStatus`): it is there, has addresses, has a Node, goes, is gone. */
type Stage = 'created' | 'addressed' | 'live' | 'going' | 'gone';
interface Server {
  readonly name: string;
  readonly address: string;
  readonly stage: Stage;
  /** kube-vip runs there just now. */
  readonly leads: boolean;
}

/** Every moment at which three machines are replaced, one after the other, as a KubeadmControlPlane does it: the new one first. */
function moments(): readonly (readonly Server[])[] {
  const found: Server[][] = [];
  const now = new Map<string, Stage>([1, 2, 3].map((index) => [`cp-${index}`, 'live'] as const));
  const take = (leader: string) =>
    found.push(
      [...now].map(([name, stage]) => ({ name, address: `10.0.1.1${name.at(-1)}`, stage, leads: name === leader })),
    );
  for (const old of [1, 2, 3]) {
    const [before, next] = [`cp-${old}`, `cp-${old + 3}`];
    for (const stage of ['created', 'addressed', 'live'] as const) {
      now.set(next, stage);
      take(before);
    }
    now.set(before, 'going');
    take(before);
    take(next);
    now.delete(before);
    take(next);
  }
  return found;
}

const ADDRESSES = Array.from({ length: 6 }, (_, index) => `10.0.1.1${index + 1}`);
const NAMES = Array.from({ length: 6 }, (_, index) => `cp-${index + 1}`);
const MINE = ['10.0.1.66', 'evil'];

function machineOf({ name, address, stage, leads }: Server): unknown {
  const object = machine(
    name,
    stage === 'created' ? {} : { ExternalIP: leads ? [address, VIP] : [address], InternalDNS: [name] },
    name,
  );
  return {
    ...object,
    metadata: {
      ...object.metadata,
      labels: { ...object.metadata.labels, 'cluster.x-k8s.io/control-plane': '' },
      ...(stage === 'going' ? { deletionTimestamp: timestamp(60) } : {}),
    },
    status: { ...object.status, ...(stage === 'created' || stage === 'addressed' ? { nodeRef: undefined } : {}) },
  };
}

/** An instance of the machine, as `DescribeInstances` shows it: it has its address from its start to its end. */
function instanceOf(name: string, address: string, state: string): unknown {
  return {
    InstanceId: `i-0${name.replace(/\W/g, '')}`,
    State: { Name: state },
    PrivateDnsName: name,
    PrivateIpAddress: address,
    Tags: [
      { Key: 'kubernetes.io/cluster/berlin', Value: 'owned' },
      ...(name === 'evil' ? [] : [{ Key: 'sigs.k8s.io/cluster-api-provider-aws/role', Value: 'control-plane' }]),
    ],
  };
}
const STATES: Readonly<Record<Exclude<Stage, 'gone'>, string>> = {
  created: 'pending',
  addressed: 'running',
  live: 'running',
  going: 'shutting-down',
};

/** What one moment shows, where a worker has told its Machine (VMware Tools) and its Node that it has `claimed`. */
function sourcesAt(servers: readonly Server[], claimed: readonly string[], guest: boolean): Sources {
  const [addresses, names] = [
    claimed.filter((name) => /^[\d.]+$/.test(name)),
    claimed.filter((name) => /[a-z]/.test(name)),
  ];
  const shown = { InternalIP: ['10.0.1.66', ...addresses], Hostname: ['evil', ...names] };
  return {
    machines: [
      ...servers.map(machineOf),
      machine(
        'evil',
        guest
          ? { ExternalIP: shown.InternalIP, InternalDNS: shown.Hostname }
          : { ExternalIP: ['10.0.1.66'], InternalDNS: ['evil'] },
      ),
    ],
    instances: [
      ...servers.flatMap(({ name, address, stage }) =>
        stage === 'gone' ? [] : [instanceOf(name, address, STATES[stage])],
      ),
      instanceOf('evil', '10.0.1.66', 'running'),
    ],
    nodes: [
      ...servers
        .filter(({ stage }) => stage !== 'created')
        .map(({ name, address, leads }) =>
          nodeObject(name, { InternalIP: leads ? [address, VIP] : [address], Hostname: [name] }),
        ),
      nodeObject('evil', shown),
    ],
  };
}

const POLICIES: readonly (readonly EvidenceSource[])[] = [
  ['machine'],
  ['machine', 'node'],
  ['machine', 'ec2'],
  ['ec2'],
  ['ec2', 'node'],
  ['machine', 'ec2', 'node'],
  ['machine', 'patterns'],
  ['machine', 'ec2', 'node', 'patterns'],
];
const policyOf = (evidence: readonly EvidenceSource[]): ApprovalPolicy => ({
  ...DEFAULT_POLICY,
  evidence,
  onHostile: 'deny',
  patterns: { cidrs: ['10.0.0.0/8'], dnsNames: ['{node}.example.com'] },
});

/** Of a policy without Machines these are not read, and of one without ec2 no instances are, as in a sweep. */
function readBy(evidence: readonly EvidenceSource[], { machines, instances, nodes }: Sources): Sources {
  const asks = (...sources: readonly EvidenceSource[]) => sources.some((source) => evidence.includes(source));
  return {
    machines: asks('machine') && machines !== undefined ? machines : undefined,
    instances: asks('ec2') && instances !== undefined ? instances : undefined,
    nodes: asks('node', 'patterns') && nodes !== undefined ? nodes : undefined,
  };
}

/** Signing takes the most time of these tests, and what is asked for is always the same. */
const requests = new Map<string, ReturnType<typeof signingRequest>>();
function requestOf(node: string, names: readonly string[]): ReturnType<typeof signingRequest> {
  const key = [node, ...names].join(' ');
  const known = requests.get(key);
  if (known !== undefined) return known;
  const sans: San[] = names.flatMap((name) => (/[a-z]/.test(name) ? dns(name) : ips(name)));
  const made = signingRequest(csrObject({ node, name: `csr-${node}`, request: { sans } }));
  requests.set(key, made);
  return made;
}

function judge(node: string, names: readonly string[], sources: Sources, evidence: readonly EvidenceSource[]) {
  const request = { cluster, csr: requestOf(node, names), siblings: { pending: 1 } };
  return decideApproval(request, evidenceFor(cluster, readBy(evidence, sources)), [policyOf(evidence)], NOW);
}

const at = moments();
const held = (name: string, servers: readonly Server[]) =>
  servers.some(
    (server) =>
      (server.address === name && server.stage !== 'created') || (server.name === name && server.stage === 'live'),
  );

describe('while a control plane is rolled out', () => {
  const targets = [...ADDRESSES, ...NAMES, VIP, API, 'tls.berlin.example.com', '10.0.9.1', KUBERNETES, 'kubernetes'];

  it.each(POLICIES.map((evidence) => [evidence.join(', '), evidence] as const))(
    'a worker gets no address or name of its machines and its endpoint by %s',
    (_, evidence) => {
      const approved: string[] = [];
      for (const [moment, servers] of at.entries())
        for (const name of targets) {
          const taken = held(name, servers) || !/^(?:10\.0\.1\.1\d|cp-\d)$/.test(name);
          // One that no object has yet, or has no more, is no one's.
          if (!taken) continue;
          const verdict = judge('evil', [...MINE, name], sourcesAt(servers, [name], true), evidence);
          if (verdict.verdict === 'approve')
            approved.push(`moment ${moment}: ${name}: ${verdictSentence(verdict.facts)}`);
        }
      expect(approved).toEqual([]);
    },
  );

  it.each(POLICIES.map((evidence) => [evidence.join(', '), evidence] as const))(
    'no node of it is called hostile, whatever a worker claims and whoever has the address of the endpoint, by %s',
    (_, evidence) => {
      const wrong: string[] = [];
      for (const [moment, servers] of at.entries())
        for (const { name, address, stage } of servers) {
          if (stage === 'created') continue;
          for (const asked of [
            [name, address],
            [name, address, VIP],
            [name, address, API],
          ])
            for (const claimed of [[], [address], [name], [VIP]]) {
              const { hostile, verdict, facts } = judge(name, asked, sourcesAt(servers, claimed, true), evidence);
              if (hostile || (verdict === 'approve' && asked.length > 2))
                wrong.push(`moment ${moment}: ${asked.join(' ')}: ${verdict} ${verdictSentence(facts)}`);
            }
        }
      expect(wrong).toEqual([]);
    },
  );

  it('a worker that asks for what is its own, and no more, is approved at every moment', () => {
    for (const servers of at)
      expect(judge('evil', ['evil', '10.0.1.66'], sourcesAt(servers, [], true), ['machine']).verdict).toBe('approve');
  });

  it('the machine that is in the way is named, with what has become of it', () => {
    const going = at.find((servers) => servers.some(({ stage }) => stage === 'going')) ?? [];
    expect(judge('evil', [...MINE, '10.0.1.11'], sourcesAt(going, ['10.0.1.11'], true), ['machine'])).toMatchObject({
      verdict: 'leave',
      reason: 'SanContested',
      facts: {
        cause: 'contested',
        node: 'evil',
        object: 'Machine eksa-system/md-0-evil',
        owner: { node: 'cp-1', object: 'Machine eksa-system/cp-1', notLive: 'is being deleted' },
      },
    });
    const coming = at.find((servers) => servers.some(({ stage }) => stage === 'addressed')) ?? [];
    expect(
      verdictSentence(
        judge('evil', [...MINE, '10.0.1.14'], sourcesAt(coming, ['10.0.1.14'], true), ['machine', 'node']).facts,
      ),
    ).toBe(
      'IP 10.0.1.14 is owned by evil (Machine eksa-system/md-0-evil) and by Machine eksa-system/cp-4, which has no node yet',
    );
  });

  it('nothing that a worker claims at any moment, by any policy, gets it a name that another object has', () => {
    const stage = fc.constantFrom<Stage>('created', 'addressed', 'live', 'going');
    const servers = fc.array(fc.record({ index: fc.integer({ min: 1, max: 6 }), stage, leads: fc.boolean() }), {
      maxLength: 6,
    });
    fc.assert(
      fc.property(
        servers,
        fc.constantFrom(...targets),
        fc.subarray<EvidenceSource>(['machine', 'ec2', 'node', 'patterns'], { minLength: 1 }),
        fc.boolean(),
        (some, name, evidence, guest) => {
          const unique = [...new Map(some.map((one) => [one.index, one])).values()];
          const now = unique.map((one) => ({ ...one, name: `cp-${one.index}`, address: `10.0.1.1${one.index}` }));
          const reserved = !/^(?:10\.0\.1\.1\d|cp-\d)$/.test(name);
          // Where a policy trusts neither Machines nor instances, only Nodes are read, and can contest.
          const seen = evidence.includes('machine') || evidence.includes('ec2');
          if (!reserved && !(seen && held(name, now))) return;
          expect(judge('evil', [...MINE, name], sourcesAt(now, [name], guest), evidence).verdict).not.toBe('approve');
        },
      ),
      { seed: 20_261_122, numRuns: runs(1_000) },
    );
  });
});
