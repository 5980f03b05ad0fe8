import { describe, expect, it } from 'vitest';
import { indexEvidence } from '../../../../lambdas/approval/evidence/evidence.ts';
import { type ApprovalPolicy, DEFAULT_POLICY } from '../../../../lambdas/approval/policy.ts';
import {
  claimedOfAnother,
  mayBeControlPlane,
  proveOwnership as proveOwnershipOf,
} from '../../../../lambdas/approval/rules/ownership.ts';
import type { EvidenceSource } from '../../../../lambdas/tables/evidence-sources.ts';
import { REASONS } from '../../../../lambdas/tables/reasons.ts';
import { verdictSentence } from '../../../../lambdas/words/verdict-words.ts';
import type { GeneralName } from '../../../../lambdas/x509/certificate-request.ts';
import { BERLIN, DUBLIN, evidenceFor, instance, machine, nodeObject, type Sources } from '../fixtures.ts';

const dnsName = (value: string): GeneralName => ({ kind: 'dNSName', value });
const ip = (value: string): GeneralName => ({ kind: 'iPAddress', value });
const under = (change: Partial<ApprovalPolicy>): ApprovalPolicy => ({ ...DEFAULT_POLICY, ...change });

/** With the sentence of a failure in place of its facts. */
function proveOwnership(...asked: Parameters<typeof proveOwnershipOf>) {
  const { proofs, failure } = proveOwnershipOf(...asked);
  if (failure === undefined) return { proofs };
  const { facts, ...rest } = failure;
  return { proofs, failure: { ...rest, message: verdictSentence(facts) } };
}

/** What becomes of `names` when node-1 of berlin asks for them. */
function prove(names: readonly GeneralName[], sources: Sources, policy = DEFAULT_POLICY) {
  return proveOwnership(names, 'node-1', evidenceFor(BERLIN, sources), policy, BERLIN);
}

const whyNot = (...asked: Parameters<typeof prove>) => prove(...asked).failure;

const mine = machine('node-1', { InternalIP: ['10.0.0.1', 'FD00:0::1'] });
const named = machine('node-1', { InternalIP: ['10.0.0.1'], InternalDNS: ['node-1'] });

const LEADER = { 'cluster.x-k8s.io/control-plane': '' };

describe('a proven name', () => {
  it('names the object that proves it', () => {
    expect(prove([dnsName('node-1'), ip('10.0.0.1')], { machines: [mine] })).toEqual({
      proofs: [
        {
          kind: 'dns',
          name: 'node-1',
          proven: true,
          provenBy: { source: 'machine', object: 'Machine eksa-system/md-0-node-1' },
        },
        {
          kind: 'ip',
          name: '10.0.0.1',
          proven: true,
          provenBy: { source: 'machine', object: 'Machine eksa-system/md-0-node-1' },
        },
      ],
    });
  });

  it.each([
    ['upper case and trailing dot', dnsName('NODE-1.')],
    ['an address that its Machine writes in another text', ip('fd00::1')],
  ])('is compared in canonical form: %s', (_, name) => {
    expect(whyNot([name], { machines: [mine] })).toBeUndefined();
  });

  it('is judged once, however often and in whatever spelling it is asked for', () => {
    const { proofs } = prove([dnsName('node-1'), dnsName('NODE-1.'), dnsName('node-1')], { machines: [mine] });
    expect(proofs.map(({ name }) => name)).toEqual(['node-1']);
  });

  it('can be proven by another source than the next name', () => {
    const names = [dnsName('i-1'), ip('10.0.1.23'), ip('203.0.113.1')];
    const evidence = evidenceFor(DUBLIN, {
      machines: [
        {
          ...machine('i-1', { ExternalIP: ['203.0.113.1'] }),
          metadata: { name: 'm' },
          spec: { clusterName: 'dublin' },
        },
      ],
      instances: [instance('i-1', '10.0.1.23')],
    });
    const { proofs, failure } = proveOwnership(names, 'i-1', evidence, DEFAULT_POLICY, DUBLIN);
    expect(failure).toBeUndefined();
    expect(proofs.map(({ provenBy }) => provenBy?.source)).toEqual(['machine', 'ec2', 'machine']);
  });
});

describe('an address that a node could have given itself', () => {
  const attacker = instance('i-0aaaaaaaa', '10.0.1.23');
  const secondary = {
    ...attacker,
    NetworkInterfaces: attacker.NetworkInterfaces.map((first) => ({
      ...first,
      PrivateIpAddresses: [...first.PrivateIpAddresses, { Primary: false, PrivateIpAddress: '10.0.1.200' }],
    })),
  };
  const ask = (value: string, node: string, sources: Sources, policy = DEFAULT_POLICY) =>
    proveOwnership([ip(value)], node, evidenceFor(DUBLIN, sources), policy, DUBLIN);

  it('is not proven, and the reason says why', () => {
    expect(ask('10.0.1.200', 'i-0aaaaaaaa', { instances: [secondary] }).failure).toEqual({
      reason: 'SanNotOwned',
      message:
        'IP 10.0.1.200 is a secondary address of EC2 instance i-0aaaaaaaa, which its node can assign to itself: set --node-ip to the primary one',
      hostile: false,
    });
  });

  it('is not proven by a pattern that trusts its Node no more either, when another instance has it', () => {
    const victim = instance('i-0bbbbbbbb', '10.0.1.200');
    const nodes = [nodeObject('i-0aaaaaaaa', { InternalIP: ['10.0.1.200'] })];
    const patterns = { cidrs: ['10.0.0.0/16'], dnsNames: [] };
    for (const policy of [
      under({ evidence: ['ec2', 'node'] }),
      under({ evidence: ['ec2', 'patterns'], patterns }),
      under({ evidence: ['ec2', 'node', 'patterns'], patterns }),
    ])
      expect(ask('10.0.1.200', 'i-0aaaaaaaa', { instances: [attacker, victim], nodes }, policy).failure).toMatchObject({
        reason: 'SanContested',
      });
  });

  it('does not take it from the instance that was launched with it', () => {
    const victim = instance('i-0bbbbbbbb', '10.0.1.200');
    expect(ask('10.0.1.200', 'i-0bbbbbbbb', { instances: [secondary, victim] }).failure).toBeUndefined();
    expect(ask('10.0.1.200', 'i-0aaaaaaaa', { instances: [secondary, victim] }).failure).toMatchObject({
      reason: 'SanNotOwned',
      message: expect.stringContaining('belongs to i-0bbbbbbbb'),
      isOfAnother: true,
    });
  });
});

describe('a name that is neither a DNS name nor an address', () => {
  it('is never looked for', () => {
    expect(prove([{ kind: 'rfc822Name', value: '10.0.0.1' }], { machines: [mine] }).proofs).toEqual([]);
  });
});

describe('a node that may be of the control plane', () => {
  it.each([
    ['has no object yet', {}, true],
    ['has only a Node', { nodes: [nodeObject('node-1')] }, true],
    ['is a Machine of workers', { machines: [mine] }, false],
    [
      'is a Machine of the control plane, beside one of workers',
      { machines: [mine, { ...mine, metadata: { ...mine.metadata, labels: LEADER } }] },
      true,
    ],
  ])('%s', (_, sources, may) => {
    expect(mayBeControlPlane('node-1', evidenceFor(BERLIN, sources))).toBe(may);
  });
});

describe('evidence of an unlisted source', () => {
  it.each([
    ['Machine', { machines: [mine] }, under({ evidence: ['ec2', 'node'] })],
    ['Node', { nodes: [nodeObject('node-1', { InternalIP: ['10.0.0.1'] })] }, under({ evidence: ['machine', 'ec2'] })],
  ])('proves nothing: %s', (_, sources, policy) => {
    expect(whyNot([ip('10.0.0.1')], sources, policy)).toMatchObject({ reason: 'EvidenceMissing' });
  });
});

describe('an address of an instance that does not run', () => {
  it.each(['pending', 'shutting-down', 'stopping', 'stopped'])('is still its own where it is %s', (Name) => {
    const machines = [
      { ...machine('node-1', { InternalIP: ['10.0.1.77'] }), metadata: { name: 'm' }, spec: { clusterName: 'dublin' } },
    ];
    const instances = [{ ...instance('i-2', '10.0.1.77'), State: { Name } }];
    const reasonOf = (sources: Sources) =>
      proveOwnership([ip('10.0.1.77')], 'node-1', evidenceFor(DUBLIN, sources), DEFAULT_POLICY, DUBLIN).failure?.reason;
    expect([reasonOf({ machines }), reasonOf({ machines, instances })]).toEqual([undefined, 'SanContested']);
  });
});

describe('a name of another node', () => {
  const theirs = machine('node-2', { InternalIP: ['10.0.0.2'] });

  it('is shown to be that when the asking node has names of its own', () => {
    expect(prove([dnsName('node-1'), ip('10.0.0.2')], { machines: [mine, theirs] })).toEqual({
      proofs: [
        expect.objectContaining({ name: 'node-1', proven: true }),
        {
          kind: 'ip',
          name: '10.0.0.2',
          proven: false,
          ownedBy: { node: 'node-2', source: 'machine', object: 'Machine eksa-system/md-0-node-2' },
        },
      ],
      failure: {
        reason: 'SanNotOwned',
        message: 'IP 10.0.0.2 belongs to node-2 (Machine eksa-system/md-0-node-2)',
        hostile: false,
        isOfAnother: true,
      },
    });
  });

  it.each<[string, boolean, ...string[]]>([
    ['the name of the node', true, 'node-2'],
    ['another that it has', true, 'web.example.com', 'web.example.com'],
    ['the name of a node that spells its address', true, 'ip-10-0-0-3.ec2.internal'],
    ['one that moves with its address', false, 'ec2-203-0-113-25.example', 'ec2-203-0-113-25.example'],
  ])('is hostile as a DNS name, but not as one that moves: %s', (_, hostile, name, ...listed) => {
    const machines = [mine, machine('node-2', { ExternalDNS: listed }), machine('ip-10-0-0-3.ec2.internal')];
    expect(whyNot([dnsName(name)], { machines })).toMatchObject({ hostile, isOfAnother: true });
    // Whatever it is called, a node without an object may have its name late.
    expect(whyNot([dnsName(name)], { machines: machines.slice(1) })).toMatchObject({ hostile: false });
  });

  it('is no theft where it reads as an address', () => {
    const machines = [mine, machine('10.0.0.2', { InternalIP: ['10.0.0.2'] })];
    expect(whyNot([dnsName('10.0.0.2')], { machines })).toMatchObject({ hostile: false });
    expect(whyNot([ip('10.0.0.1')], { machines: [mine, machine('10.0.0.1')] })).toBeUndefined();
  });

  it.each<[GeneralName, object, object]>([
    [dnsName('api.example.com'), LEADER, { hostile: false }],
    [dnsName('api.example.com'), {}, { hostile: true, isOfAnother: true }],
    [ip('10.0.0.9'), {}, { hostile: false }],
  ])('is none where it is the endpoint, which moves: %j, %j', (name, labels, shown) => {
    const other = machine('node-2', { ExternalIP: ['10.0.0.9'], ExternalDNS: ['api.example.com'] });
    const evidence = evidenceFor(BERLIN, { machines: [{ ...mine, metadata: { ...mine.metadata, labels } }, other] });
    const endpoints = ['api.example.com', '10.0.0.9'];
    const { failure } = proveOwnership([name], 'node-1', evidence, DEFAULT_POLICY, { endpoints });
    expect(failure).toEqual({ reason: 'SanNotOwned', message: expect.anything(), ...shown });
  });

  it('may be late evidence when nothing knows the asking node', () => {
    expect(whyNot([ip('10.0.0.2')], { machines: [theirs] })).toMatchObject({ reason: 'SanNotOwned', hostile: false });
  });

  it('is not hostile when only the other node itself says so', () => {
    const nodes = [nodeObject('node-2', { InternalIP: ['10.0.0.2'] })];
    const policy = under({ evidence: ['machine', 'node'] });
    const { failure } = prove([ip('10.0.0.2')], { machines: [mine], nodes }, policy);
    expect(failure).toMatchObject({ reason: 'SanNotOwned', hostile: false, isOfAnother: false });
  });

  it('is shown by a Machine, whatever a Node or a Machine that goes says, and in whatever order', () => {
    const nodes = [nodeObject('node-3', { InternalIP: ['10.0.0.2'] })];
    const metadata = { ...theirs.metadata, deletionTimestamp: '2026-03-02T11:59:00Z' };
    const going = { ...machine('node-4', { InternalIP: ['10.0.0.2'] }), metadata };
    const last = machine('node-5', { InternalIP: ['10.0.0.2'] });
    const index = evidenceFor(BERLIN, { machines: [mine, going, theirs, last], nodes });
    for (const evidence of [['machine', 'node'], ['node', 'machine'], ['machine']] as const)
      for (const read of [index, indexEvidence(index.readings.toReversed())]) {
        const { failure } = proveOwnership([ip('10.0.0.2')], 'node-1', read, under({ evidence }), BERLIN);
        expect(failure).toMatchObject({ isOfAnother: true, message: expect.stringContaining('node-2') });
      }
  });

  it('is named before one that is merely unknown, and one that shows malice before both', () => {
    const toldOf = (...names: GeneralName[]) => whyNot(names, { machines: [mine, theirs] })?.message;
    expect(toldOf(ip('10.0.0.77'), ip('10.0.0.2'))).toContain('10.0.0.2 belongs');
    expect(toldOf(ip('10.0.0.77'), ip('10.0.0.2'), dnsName('node-2'))).toContain('node-2 belongs');
  });
});

describe('an address that a node claims for long', () => {
  const theirs = machine('node-2', { InternalIP: ['10.0.0.2'] });
  const crowd = Array.from('345678901', (name) => machine(name, { InternalIP: ['10.0.0.2'] }));

  it.each([
    ['belongs to another', [mine, theirs], '', true],
    ['is no theft where it has it too', [machine('node-1', { InternalIP: ['10.0.0.2'] }), theirs], '', false],
    ['is no theft where more have it than are kept', [mine, theirs, ...crowd], '', false],
    ['is no theft where it is the endpoint', [mine, theirs], '10.0.0.2', false],
  ])('%s', (_, machines, endpoint, isTheft) => {
    const cluster = { ...BERLIN, endpoints: [endpoint] };
    const claim = claimedOfAnother(['10.0.0.2'], 'node-1', evidenceFor(BERLIN, { machines }), DEFAULT_POLICY, cluster);
    expect(claim).toEqual(
      isTheft
        ? {
            cause: 'of-another',
            name: { kind: 'ip', value: '10.0.0.2' },
            owner: { node: 'node-2', object: 'Machine eksa-system/md-0-node-2' },
          }
        : undefined,
    );
  });
});

describe('a name that nobody lists', () => {
  it('is not hostile as a DNS name, because a guest may be called anything', () => {
    expect(whyNot([dnsName('auth.evil.io')], { machines: [named] })).toEqual({
      reason: 'SanNotOwned',
      message: 'DNS name auth.evil.io is not among the names of Machine eksa-system/md-0-node-1',
      hostile: false,
    });
  });

  it.each<[string, Sources, string]>([
    ['the Machine lists no DNS name, as on bare metal and CloudStack', { machines: [mine] }, 'auth.evil.io'],
    ['it is the name of the node in a domain', { machines: [named] }, 'node-1.corp.example.com'],
  ])('is not hostile where %s', (_, sources, name) => {
    expect(whyNot([dnsName(name)], sources)).toMatchObject({ reason: 'SanNotOwned', hostile: false });
  });

  it('is hostile where it is the name of another node in a domain, and that has it', () => {
    const machines = [named, machine('node-1.corp.example.com')];
    expect(whyNot([dnsName('node-1.corp.example.com')], { machines })).toMatchObject({
      reason: 'SanNotOwned',
      message: expect.stringContaining('belongs to'),
      hostile: true,
    });
  });

  it.each([dnsName('node-1.corp.example.com'), dnsName('auth.evil.io'), ip('10.0.0.1')])(
    'has to wait while the Machine has no addresses yet: $value',
    (name) => {
      expect(whyNot([dnsName('node-1'), name], { machines: [machine('node-1')] })).toEqual({
        reason: 'EvidenceMissing',
        message: 'Machine eksa-system/md-0-node-1 has no addresses yet, or none of a known type',
        hostile: false,
      });
    },
  );

  it.each([
    ['an address', ip('10.0.0.77')],
    ['the private DNS name of an address', dnsName('ip-10-0-0-77.eu-west-1.compute.internal')],
    ['the public DNS name of an address', dnsName('ec2-203-0-113-77.eu-west-1.compute.amazonaws.com')],
  ])('is not hostile as %s, because addresses move', (_, name) => {
    expect(whyNot([name], { machines: [mine] })).toMatchObject({ reason: 'SanNotOwned', hostile: false });
  });

  it('is not hostile when the evidence of the node has no DNS name at all', () => {
    const nodes = [nodeObject('node-1', { InternalIP: ['10.0.0.1'] })];
    expect(whyNot([dnsName('node-1')], { nodes }, under({ evidence: ['node'] }))).toMatchObject({
      reason: 'SanNotOwned',
      hostile: false,
    });
  });

  it('waits for evidence when no source knows the node, and says what was looked at', () => {
    const sources = { machines: [machine('a'), machine('b')], instances: [], nodes: [] };
    expect(whyNot([dnsName('node-1')], sources)).toEqual({
      reason: 'EvidenceMissing',
      message: 'no Machine (2 checked) and no EC2 instance (0 checked) names node node-1 yet',
      hostile: false,
    });
  });

  it.each([
    ['fargate-ip-10-0-1-23.eu-west-1.compute.internal', /: Fargate runs it outside your EC2/],
    [
      'mi-0123456789abcdef0',
      /: a hybrid node has no EC2 instance. EKS approves it automatically if its Node has the label eks.amazonaws.com\/compute-type=hybrid, one DNS name of the request is the name of the node, and every address is in remoteNodeNetworks/,
    ],
    ['i-0123456789abcdef0', /names node i-0123456789abcdef0$/],
    ['ip-10-0-1-23.eu-west-1.compute.internal', /names node ip-10-0-1-23\.eu-west-1\.compute\.internal$/],
    ['mi-casa', /names node mi-casa$/],
  ])('explains a node that can have no instance by its name: %s', (node, says) => {
    const evidence = evidenceFor(DUBLIN, { instances: [] });
    expect(proveOwnership([dnsName(node)], node, evidence, DEFAULT_POLICY, DUBLIN).failure).toEqual({
      reason: 'EvidenceMissing',
      message: expect.stringMatching(says),
      hostile: false,
    });
  });

  it('names the instance that has its address under another name, as DHCP options may make it', () => {
    const messageOf = (asked: GeneralName, more: Sources = {}, change = {}) => {
      const evidence = evidenceFor(DUBLIN, { instances: [{ ...instance('i-1', '10.0.1.23'), ...change }], ...more });
      return proveOwnership([dnsName('glued'), asked], 'glued', evidence, DEFAULT_POLICY, DUBLIN).failure?.message;
    };
    const nothing = 'no EC2 instance (1 checked) names node glued';
    expect(messageOf(ip('10.0.1.23'))).toBe(
      `${nothing}: EC2 instance i-1 has 10.0.1.23, but is called ip-10-0-1-23.eu-west-1.compute.internal: check the hostname of the node, and the domain in the DHCP options of its VPC`,
    );
    expect(messageOf(ip('10.0.1.23'), {}, { PrivateDnsName: '' })).toBe(nothing);
    expect(messageOf(ip('10.0.1.23'), { nodes: [nodeObject('glued')] })).toBe(nothing);
    expect(messageOf(dnsName('10.0.1.23'))).toBe(nothing);
  });

  it('says so when no source was read', () => {
    expect(whyNot([dnsName('node-1')], {})).toEqual({
      reason: 'EvidenceMissing',
      message: 'no evidence was read (policy asks for machine, ec2); nothing names node node-1',
      hostile: false,
    });
  });

  it('blames a source that could not be read', () => {
    expect(whyNot([dnsName('node-1')], { unreadable: ['machine'] })).toEqual({
      reason: 'EvidenceUnreadable',
      message: 'DNS name node-1 is not proven: Machines prove nothing now',
      hostile: false,
    });
  });

  it('blames no source that the policy does not ask', () => {
    expect(whyNot([dnsName('node-1')], { machines: [], unreadable: ['node'] })?.reason).toBe('EvidenceMissing');
  });
});

describe('an unreadable source', () => {
  it('stops a proof that it could contest: it is as independent', () => {
    expect(whyNot([ip('10.0.0.1')], { machines: [mine], unreadable: ['ec2'] })).toEqual({
      reason: 'EvidenceUnreadable',
      message: 'IP 10.0.0.1 is not proven: EC2 instances prove nothing now',
      hostile: false,
    });
  });

  it.each<[string, EvidenceSource[], 'ec2' | 'node']>([
    ['that the policy does not ask', ['machine'], 'ec2'],
    ['that is less independent', ['machine', 'node'], 'node'],
  ])('stops no proof where it is one %s', (_, evidence, source) => {
    const policy = { ...DEFAULT_POLICY, evidence };
    expect(whyNot([ip('10.0.0.1')], { machines: [mine], unreadable: [source] }, policy)).toBeUndefined();
  });

  it('takes the malice from a name that it might prove', () => {
    expect(whyNot([dnsName('auth.evil.io')], { machines: [mine], unreadable: ['ec2'] })).toMatchObject({
      reason: 'EvidenceUnreadable',
      hostile: false,
    });
  });
});

describe('several objects that claim to be one node', () => {
  const twins = [
    machine('node-1', { InternalIP: ['10.0.0.1'] }, 'old'),
    machine('node-1', { InternalIP: ['10.0.0.1'] }, 'new'),
  ];

  it('prove nothing, even where they agree', () => {
    expect(whyNot([ip('10.0.0.1')], { machines: twins })).toEqual({
      reason: 'EvidenceAmbiguous',
      message: '2 objects claim to be node node-1: Machine eksa-system/old, Machine eksa-system/new',
      hostile: false,
    });
  });

  it('are told apart once one of them is being deleted, unless they are more than are kept', () => {
    const [old, fresh] = twins;
    const deleting = { ...old, metadata: { ...old?.metadata, deletionTimestamp: '2026-03-02T11:00:00Z' } };
    expect(whyNot([ip('10.0.0.1')], { machines: [deleting, fresh] })).toBeUndefined();
    const many = Array.from('123456789', (name) => ({ ...deleting, metadata: { ...deleting.metadata, name } }));
    expect(whyNot([ip('10.0.0.7')], { machines: many })?.message).toMatch(/^8 objects claim to be node node-1/);
  });

  it('do not spoil another source', () => {
    const nodes = [nodeObject('node-1', { InternalIP: ['10.0.0.1'] })];
    const { failure, proofs } = prove(
      [ip('10.0.0.1')],
      { machines: twins, nodes },
      under({ evidence: ['machine', 'node'] }),
    );
    expect(failure).toBeUndefined();
    expect(proofs[0]?.provenBy?.source).toBe('node');
  });
});

describe('a contested name', () => {
  it('is left when two Machines own it', () => {
    const rival = machine('node-2', { InternalIP: ['10.0.0.1'] });
    expect(prove([ip('10.0.0.1')], { machines: [mine, rival] })).toEqual({
      proofs: [
        {
          kind: 'ip',
          name: '10.0.0.1',
          proven: false,
          ownedBy: { node: 'node-2', source: 'machine', object: 'Machine eksa-system/md-0-node-2' },
        },
      ],
      failure: {
        reason: 'SanContested',
        message:
          'IP 10.0.0.1 is owned by node-1 (Machine eksa-system/md-0-node-1) and by node-2 (Machine eksa-system/md-0-node-2)',
        hostile: false,
      },
    });
  });

  it('is left when more Machines own it than are kept of one name, and is no attack', () => {
    const rivals = Array.from({ length: 9 }, (_, index) => machine(`node-${index + 2}`, { InternalIP: ['10.0.0.1'] }));
    expect(whyNot([ip('10.0.0.1')], { machines: [mine, ...rivals] })).toEqual({
      reason: 'SanContested',
      message: 'IP 10.0.0.1 belongs to more Machines than a name can belong to',
      hostile: false,
    });
  });

  it('is left when an instance contests a Machine, though the policy asks no instances', () => {
    const instances = [{ ...instance('i-2', '10.0.0.1'), Tags: [{ Key: 'eks:cluster-name', Value: 'berlin' }] }];
    expect(whyNot([ip('10.0.0.1')], { machines: [mine], instances }, under({ evidence: ['machine'] }))).toMatchObject({
      reason: 'SanContested',
    });
  });

  it('is not proven by an instance whose tags disagree about its cluster, which is named', () => {
    const tags = ['aws:eks:cluster-name', 'eks:cluster-name', 'eks:eks-cluster-name'].map((Key, index) => ({
      Key,
      Value: ['berlin', 'oslo', 'paris'][index],
    }));
    const instances = [{ ...instance('i-1', '10.0.0.1'), Tags: tags }];
    const evidence = evidenceFor(BERLIN, { instances });
    expect(proveOwnership([ip('10.0.0.1')], 'i-1', evidence, DEFAULT_POLICY, BERLIN).failure).toEqual({
      reason: 'EvidenceMissing',
      message: 'EC2 instance i-1, which is node i-1, has tags of cluster oslo too',
      hostile: false,
    });
    expect(REASONS.EvidenceMissing.next).toContain('its tags name this cluster and no other');
  });

  it.each([[['machine', 'node']], [['node', 'machine']]] as const)(
    'is not contested by a Node against a Machine: a node cannot block another (%j)',
    (evidence) => {
      const nodes = [
        nodeObject('node-1', { InternalIP: ['10.0.0.1'] }),
        nodeObject('node-2', { InternalIP: ['10.0.0.1'] }),
      ];
      expect(whyNot([ip('10.0.0.1')], { machines: [mine], nodes }, under({ evidence }))).toBeUndefined();
    },
  );

  it('is contested by a Node against a Node', () => {
    const nodes = [
      nodeObject('node-1', { InternalIP: ['10.0.0.1'] }),
      nodeObject('node-2', { InternalIP: ['10.0.0.1'] }),
    ];
    expect(whyNot([ip('10.0.0.1')], { nodes }, under({ evidence: ['node'] }))?.reason).toBe('SanContested');
  });

  it.each<EvidenceSource>(['node', 'patterns'])(
    'is contested by a Node that is being deleted, for its machine may serve until it is gone: %s',
    (source) => {
      const going = nodeObject('node-2', { InternalIP: ['10.0.0.1'] });
      const deletionTimestamp = '2026-03-02T11:59:00Z';
      const nodes = [
        nodeObject('node-1', { InternalIP: ['10.0.0.1'] }),
        { ...going, metadata: { ...going.metadata, deletionTimestamp } },
      ];
      const policy = under({ evidence: [source], patterns: { cidrs: ['10.0.0.0/8'], dnsNames: [] } });
      expect(whyNot([ip('10.0.0.1')], { nodes }, policy)).toMatchObject({
        reason: 'SanContested',
        message: expect.stringContaining('Node node-2), which is being deleted'),
      });
    },
  );

  it('is contested by a Machine against a Node', () => {
    const nodes = [nodeObject('node-1', { InternalIP: ['10.0.0.2'] })];
    const machines = [machine('node-2', { InternalIP: ['10.0.0.2'] })];
    expect(whyNot([ip('10.0.0.2')], { nodes, machines }, under({ evidence: ['node'] }))?.reason).toBe('SanContested');
  });
});

describe('patterns', () => {
  const policy = under({
    evidence: ['machine', 'patterns'],
    patterns: { cidrs: ['10.8.0.0/16', 'fd08::/32'], dnsNames: ['{node}.corp.example.com', 'api.{node}.{node}.test.'] },
  });
  const shown = [nodeObject('node-1', { InternalIP: ['10.8.0.1', 'fd08::1'] })];

  it.each([
    dnsName('node-1.corp.example.com'),
    dnsName('Node-1.CORP.example.com.'),
    dnsName('api.node-1.node-1.test'),
    ip('10.8.0.1'),
    ip('fd08::1'),
  ])('prove $value', (name) => {
    expect(prove([name], { nodes: shown }, policy)).toEqual({
      proofs: [expect.objectContaining({ provenBy: { source: 'patterns', object: 'pattern of policy default' } })],
    });
  });

  it.each([
    ['another domain', dnsName('node-1.evil.io')],
    ['the name of another node', dnsName('node-2.corp.example.com')],
    ['more labels', dnsName('x.node-1.corp.example.com')],
    ['an address in the CIDR that its Node does not show', ip('10.8.0.2')],
    ['an address outside the CIDR that its Node shows', ip('10.9.0.1')],
  ])('do not prove %s', (_, name) => {
    const nodes = [nodeObject('node-1', { InternalIP: ['10.8.0.1', '10.9.0.1'] })];
    expect(prove([name], { nodes }, policy).proofs[0]?.proven).toBe(false);
  });

  it('do not prove an address that another Node shows too', () => {
    const nodes = [...shown, nodeObject('node-2', { InternalIP: ['10.8.0.1'] })];
    expect(whyNot([ip('10.8.0.1')], { nodes }, policy)).toMatchObject({ reason: 'SanContested' });
  });

  it('do not prove a DNS name that another Machine has', () => {
    const machines = [machine('node-2', { ExternalDNS: ['node-1.corp.example.com'] })];
    expect(
      whyNot([dnsName('node-1.corp.example.com')], { machines, nodes: [nodeObject('node-1')] }, policy),
    ).toMatchObject({ reason: 'SanContested' });
  });

  describe.each([
    ['beside Machines', ['machine', 'patterns']],
    ['beside Machines and Nodes', ['machine', 'node', 'patterns']],
    ['alone', ['patterns']],
  ] as const)('%s', (_, evidence) => {
    const listing = under({ evidence, patterns: policy.patterns });
    const reasonOf = (sources: Sources) => whyNot([dnsName('node-1.corp.example.com')], sources, listing)?.reason;

    it('prove nothing while Nodes cannot be read: another one could be called so', () => {
      expect(reasonOf({ machines: [mine], unreadable: ['node'] })).toBe('EvidenceUnreadable');
    });

    it('prove nothing without the Node', () => {
      expect(reasonOf({ machines: [mine], nodes: [nodeObject('node-2')] })).toBeDefined();
    });

    it('prove nothing of a Machine or an instance that goes, though its Node is still there', () => {
      const going = { ...mine, metadata: { ...mine.metadata, deletionTimestamp: '2026-03-02T11:59:00Z' } };
      expect(reasonOf({ machines: [going], nodes: shown })).toBeDefined();
    });
  });

  it('prove nothing for a node whose instance does not run', () => {
    const nodes = [nodeObject('i-1', { InternalIP: ['10.0.1.23'] })];
    const reasonOf = (State: object) => {
      const evidence = evidenceFor(DUBLIN, { instances: [{ ...instance('i-1', '10.0.1.23'), State }], nodes });
      return proveOwnership(
        [dnsName('i-1.corp.example.com')],
        'i-1',
        evidence,
        under({ evidence: ['ec2', 'patterns'], patterns: policy.patterns }),
        DUBLIN,
      ).failure?.reason;
    };
    expect(reasonOf({ Code: 16, Name: 'running' })).toBeUndefined();
    for (const Name of ['pending', 'shutting-down', 'terminated', 'stopping', 'stopped'])
      expect([Name, reasonOf({ Name })]).not.toContain(undefined);
  });

  it('prove no DNS name of a node with dots in its name: two nodes could spell the same one', () => {
    const evidence = evidenceFor(BERLIN, { nodes: [nodeObject('a.b')] });
    const { proofs } = proveOwnership([dnsName('a.b.corp.example.com')], 'a.b', evidence, policy, BERLIN);
    expect(proofs[0]?.proven).toBe(false);
  });

  it('count for nothing in a policy that does not list them', () => {
    const silent = under({ patterns: policy.patterns });
    expect(whyNot([dnsName('node-1.corp.example.com'), ip('10.8.0.1')], { nodes: shown }, silent)).toBeDefined();
  });
});

describe('a hybrid node', () => {
  const NODE = 'mi-0123456789abcdef0';
  const cluster = { ...DUBLIN, remoteNodeNetworks: ['10.80.0.0/16'] };
  const own = nodeObject(NODE, { InternalIP: ['10.80.0.5'], InternalDNS: ['db.example.com'] });
  const ask = (names: readonly GeneralName[], sources: Sources = {}, evidence: EvidenceSource[] = ['ec2', 'hybrid']) =>
    proveOwnership(
      names,
      NODE,
      evidenceFor(cluster, { nodes: [own], instances: [], ...sources }),
      under({ evidence }),
      cluster,
    );
  const asked = [dnsName(NODE), ip('10.80.0.5')];

  it('is proven by its name and the networks that EKS names', () => {
    const { proofs, failure } = ask(asked);
    expect(failure).toBeUndefined();
    expect(proofs.map(({ provenBy }) => provenBy)).toEqual(
      asked.map(() => ({ source: 'hybrid', object: `hybrid node ${NODE}` })),
    );
  });

  it('is proven only by opt-in', () => {
    expect(DEFAULT_POLICY.evidence).not.toContain('hybrid');
    expect(ask(asked, {}, ['machine', 'ec2']).failure?.message).toMatch(/check which of the three is missing$/);
  });

  const other = nodeObject('mi-0123456789abcdef1', { InternalIP: ['10.80.0.5'] });

  it.each<[string, readonly GeneralName[], Sources, object]>([
    ['a DNS name that is not its own', [...asked, dnsName('db.example.com')], {}, { reason: 'SanNotOwned' }],
    ['an address in no network', [...asked, ip('10.81.0.5')], {}, { reason: 'SanNotOwned' }],
    ['an address that its Node does not show', [dnsName(NODE), ip('10.80.0.6')], {}, { reason: 'SanNotOwned' }],
    ['an address that another Node shows', asked, { nodes: [own, other] }, { reason: 'SanContested' }],
    [
      'an address that another Node shows, which is being deleted',
      asked,
      { nodes: [own, { ...other, metadata: { ...other.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }] },
      { reason: 'SanContested' },
    ],
    [
      'an address that an instance has',
      asked,
      { instances: [instance('i-0aaaaaaaa', '10.80.0.5')] },
      { reason: 'SanContested' },
    ],
    [
      'addresses, and not its name',
      [dnsName('db.example.com'), ip('10.80.0.5')],
      { nodes: [own, nodeObject('mi-0123456789abcdef2', { InternalIP: ['10.80.0.9'] })] },
      {
        reason: 'EvidenceMissing',
        message: expect.stringMatching(/; the DNS names of the request lack the name of the node$/),
      },
    ],
    [
      'what it has, though its Node is being deleted',
      asked,
      { nodes: [{ ...own, metadata: { name: NODE, deletionTimestamp: '2026-01-01T00:00:00Z' } }] },
      { reason: 'EvidenceMissing' },
    ],
    ['what it has, while instances cannot be read', asked, { unreadable: ['ec2'] }, { reason: 'EvidenceUnreadable' }],
    ['what it has, while Nodes cannot be read', asked, { unreadable: ['node'] }, { reason: 'EvidenceUnreadable' }],
  ])('is left when it asks for %s', (_, names, sources, failure) => {
    expect(ask(names, sources).failure).toMatchObject({ hostile: false, ...failure });
  });

  it('contests nothing of an instance, for it may show any address', () => {
    const instances = [instance('i-0aaaaaaaa', '10.80.0.5')];
    const evidence = evidenceFor(cluster, { nodes: [own], instances });
    const policy = under({ evidence: ['ec2', 'hybrid'] });
    expect(proveOwnership([ip('10.80.0.5')], 'i-0aaaaaaaa', evidence, policy, cluster).failure).toBeUndefined();
  });
});
