import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decideApproval } from '../../../../lambdas/approval/decide-approval.ts';
import type { RenewalProof } from '../../../../lambdas/approval/evidence/renewal.ts';
import { type ApprovalPolicy, DEFAULT_POLICY } from '../../../../lambdas/approval/policy.ts';
import { proveOwnership } from '../../../../lambdas/approval/rules/ownership.ts';
import type { GeneralName } from '../../../../lambdas/x509/certificate-request.ts';
import { runs } from '../../../runs.ts';
import {
  BERLIN,
  csrObject,
  DUBLIN,
  dns,
  evidenceFor,
  instance,
  ips,
  machine,
  NOW,
  nodeObject,
  type Sources,
  signingRequest,
} from '../fixtures.ts';
import { OTHER_CA, renewalProof, type Served } from '../served-certificate-fixtures.ts';

const RENEWING: ApprovalPolicy = { ...DEFAULT_POLICY, evidence: ['machine', 'ec2', 'renewal'] };
const NAMES = [...dns('node-1', 'node-1.corp.example.com'), ...ips('10.0.0.1', 'fd00::1')] as GeneralName[];
const served = { dnsNames: ['node-1', 'node-1.corp.example.com'], ipAddresses: ['10.0.0.1', 'fd00::1'] };
const certificate = await renewalProof(served);
const RENEWED = await renewalProof();
const shown = {
  Hostname: ['node-1'],
  InternalDNS: ['node-1.corp.example.com'],
  InternalIP: ['10.0.0.1', 'fd00::1'],
};
const NODE = nodeObject('node-1', shown);
/** Knows the node, and no name of it but its own. */
const MINE = machine('node-1');
const serving = (proof: RenewalProof = certificate, node = 'node-1'): Sources => ({
  machines: [],
  nodes: [NODE],
  served: new Map([[node, proof]]),
});

const prove = (names: readonly GeneralName[], sources: Sources, policy = RENEWING) =>
  proveOwnership(names, 'node-1', evidenceFor(BERLIN, sources), policy, BERLIN);

describe('the certificate that a node serves', () => {
  it('proves every name of a request for exactly its names', () => {
    const { failure, proofs } = prove(NAMES, serving());
    expect(failure).toBeUndefined();
    expect(proofs.map(({ provenBy }) => provenBy)).toEqual(
      NAMES.map(() => ({ source: 'renewal', object: 'certificate that node-1 serves at 10.0.0.1:10250' })),
    );
  });

  it('takes no proof from a pattern', () => {
    const patterns = { cidrs: ['10.0.0.0/24'], dnsNames: ['{node}.corp.example.com'] };
    const policy: ApprovalPolicy = { ...RENEWING, evidence: [...RENEWING.evidence, 'patterns'], patterns };
    const { proofs } = prove(NAMES, serving(), policy);
    expect(proofs.map(({ provenBy }) => provenBy?.source)).toEqual(['renewal', 'patterns', 'patterns', 'renewal']);
  });

  it('compares names in canonical form, in any order, however often one is asked for', () => {
    const spelled = [
      ...ips('FD00:0:0:0:0:0:0:1', '10.0.0.1', '10.0.0.1'),
      ...dns('Node-1.corp.EXAMPLE.com.', 'NODE-1'),
    ];
    expect(prove(spelled as GeneralName[], serving()).failure).toBeUndefined();
  });

  it.each<[string, readonly GeneralName[]]>([
    ['one name more', [...NAMES, ...ips('10.0.0.9')] as GeneralName[]],
    ['one DNS name more', [...NAMES, ...dns('auth.evil.io')] as GeneralName[]],
    ['one name fewer', NAMES.slice(1)],
    ['one address fewer', NAMES.slice(0, -1)],
    ['another name', [...NAMES.slice(1), ...dns('node-2')] as GeneralName[]],
    ['a name of another kind too', [...NAMES, { kind: 'rfc822Name', value: 'a@b' } as unknown as GeneralName]],
  ])('proves nothing of a request for %s, and takes it for no attack', (_, names) => {
    const { failure, proofs } = prove(names, serving());
    expect(proofs.filter(({ proven }) => proven)).toEqual([]);
    expect(failure).toMatchObject({
      reason: 'SanNotOwned',
      message: expect.stringContaining('not for exactly the names of the certificate that node-1 serves'),
      hostile: false,
    });
  });

  it('counts for nothing in a policy that does not list it', () => {
    expect(prove(NAMES, serving(), DEFAULT_POLICY).failure).toMatchObject({ reason: 'EvidenceMissing' });
    expect(DEFAULT_POLICY.evidence).not.toContain('renewal');
  });

  it('says nothing of other nodes', () => {
    const other = proveOwnership(NAMES, 'node-2', evidenceFor(BERLIN, serving()), RENEWING, BERLIN);
    expect(other.proofs.filter(({ proven }) => proven)).toEqual([]);
  });

  it('says why it proves nothing', async () => {
    const ended = await renewalProof({ ...served, until: -2 });
    expect(prove(NAMES, serving(ended)).failure).toEqual({
      reason: 'EvidenceMissing',
      message: expect.stringMatching(
        /^no Machine \(0 checked\) and no serving certificate \(1 checked\) names node node-1 yet; the certificate that it serves at 10\.0\.0\.1:10250 expired at 2026-02-28/,
      ),
      hostile: false,
    });
  });
});

describe('another source', () => {
  const twoAddresses = { InternalIP: ['10.0.0.1', 'fd00::1'] };
  const booting = (names: Parameters<typeof machine>[1], name = 'booting') => {
    const { status, ...rest } = machine('', names, name);
    return { ...rest, status: { ...status, nodeRef: undefined, phase: 'Provisioned' } };
  };
  const deleting = <T extends ReturnType<typeof machine> | ReturnType<typeof nodeObject>>(one: T) => ({
    ...one,
    metadata: { ...one.metadata, deletionTimestamp: '2026-03-02T11:59:00Z' },
  });
  const inBerlin = (id: string, address: string, state = 'running') => ({
    ...instance(id, address),
    State: { Name: state },
    Tags: [{ Key: 'eks:cluster-name', Value: 'berlin' }],
  });

  it.each<[string, Sources, string]>([
    ['a Machine of another node', { machines: [MINE, machine('node-2', { InternalIP: ['10.0.0.1'] })] }, 'SanNotOwned'],
    ['a Node of another node', { nodes: [NODE, nodeObject('node-2', { InternalIP: ['10.0.0.1'] })] }, 'SanNotOwned'],
    [
      'a Node of another node that is being deleted',
      { nodes: [NODE, deleting(nodeObject('node-2', { InternalIP: ['10.0.0.1'] }))] },
      'SanNotOwned',
    ],
    ['a Machine that has the DNS name', { machines: [MINE, machine('node-1.corp.example.com')] }, 'SanNotOwned'],
    ['a Node that is called so', { nodes: [NODE, nodeObject('node-1.corp.example.com')] }, 'SanNotOwned'],
    ['a booting Machine', { machines: [MINE, booting({ InternalIP: ['10.0.0.1'] })] }, 'SanNotOwned'],
    [
      'a booting Machine that has the DNS name',
      { machines: [MINE, booting({ InternalDNS: ['Node-1.corp.example.com.'] })] },
      'SanNotOwned',
    ],
    [
      'a Machine of another node that is being deleted',
      { machines: [MINE, deleting(machine('node-2', { InternalIP: ['10.0.0.1'] }))] },
      'SanNotOwned',
    ],
    ...['pending', 'shutting-down', 'stopping', 'stopped'].map((state): [string, Sources, string] => [
      `an instance that is ${state}`,
      { machines: [MINE], instances: [inBerlin('i-2', '10.0.0.1', state)] },
      'SanNotOwned',
    ]),
    [
      'the own Machine, with another address',
      { machines: [machine('node-1', { InternalIP: ['10.0.0.5'] })] },
      'SanNotOwned',
    ],
    [
      'the own Machine, with one address of another family',
      { machines: [machine('node-1', { InternalIP: ['10.0.0.1'] })] },
      'SanNotOwned',
    ],
    [
      'the own Machine, with another DNS name',
      { machines: [machine('node-1', { Hostname: ['node-1'] })] },
      'SanNotOwned',
    ],
    [
      'the own Node, with another address',
      { nodes: [nodeObject('node-1', { ...shown, InternalIP: ['10.0.0.5', 'fd00::1'] })] },
      'SanNotOwned',
    ],
    [
      'the own Node, without the DNS name',
      { nodes: [nodeObject('node-1', { ...shown, InternalDNS: [] })] },
      'SanNotOwned',
    ],
    ['no Node any more', { nodes: [] }, 'SanNotOwned'],
    ['the own Node, as it is being deleted', { nodes: [deleting(NODE)] }, 'SanNotOwned'],
    [
      'the own Machine, as it is being deleted',
      { machines: [deleting(machine('node-1', twoAddresses))] },
      'SanNotOwned',
    ],
    [
      'the own Machine of before, beside the one of now',
      { machines: [MINE, deleting(machine('node-1', twoAddresses, 'old'))] },
      'SanNotOwned',
    ],
    ['Machines of other nodes and none of this one', { machines: [machine('node-2')] }, 'EvidenceMissing'],
    [
      'one of several Machines of the node, none with all addresses',
      {
        machines: [
          machine('node-1', { InternalIP: ['10.0.0.5'] }, 'a'),
          machine('node-1', { InternalIP: ['10.0.0.6'] }, 'b'),
        ],
      },
      'EvidenceAmbiguous',
    ],
    [
      'two Machines of the node that list nothing',
      { machines: [machine('node-1', {}, 'a'), machine('node-1', {}, 'b')] },
      'EvidenceAmbiguous',
    ],
  ])('that disagrees is believed instead, whatever the Node says: %s', (_, sources, reason) => {
    const { failure, proofs } = prove(NAMES, { ...serving(), ...sources });
    expect(proofs.some(({ proven }) => !proven)).toBe(true);
    expect(failure?.reason).toBe(reason);
    // Neither does it where only another policy has it read.
    const alone = prove(NAMES, { ...serving(), ...sources }, { ...RENEWING, evidence: ['renewal'] });
    expect(alone.failure?.reason).toBe(reason === 'EvidenceMissing' ? undefined : reason);
  });

  it('that knows other nodes and not this one counts only where the policy trusts it', () => {
    const sources = { ...serving(), machines: [machine('node-2')] };
    expect(prove(NAMES, sources).failure?.message).toBe(
      'DNS name node-1 is not proven: there are Machines of other nodes but none of this one, so its request is no renewal',
    );
    expect(prove(NAMES, sources, { ...RENEWING, evidence: ['renewal'] }).failure).toBeUndefined();
  });

  it('has no instance for a hybrid node: that says nothing of it', async () => {
    const node = 'mi-0123456789abcdef0';
    const proof = await renewalProof({ node, dnsNames: [node], ipAddresses: ['10.0.9.1'] });
    const evidence = evidenceFor(DUBLIN, {
      served: new Map([[node, proof]]),
      instances: [instance('i-1', '10.0.1.1')],
      nodes: [nodeObject(node, { Hostname: [node], InternalIP: ['10.0.9.1'] })],
    });
    const names = [...dns(node), ...ips('10.0.9.1')] as GeneralName[];
    expect(proveOwnership(names, node, evidence, RENEWING, DUBLIN).failure).toBeUndefined();
  });

  it('may be one that is not kept, where more Machines than eight claim to be the node', async () => {
    const ipAddresses = ['10.0.0.1'];
    const sources = serving(await renewalProof({ dnsNames: [], ipAddresses }));
    const machines = Array.from({ length: 9 }, (_, index) => {
      const one = machine('node-1', { InternalIP: [`10.0.1.${index}`] }, `m-${index}`);
      return index < 8 ? deleting(one) : one;
    });
    const alone: ApprovalPolicy = { ...RENEWING, evidence: ['renewal'] };
    expect(prove(ips(...ipAddresses) as GeneralName[], { ...sources, machines }, alone).failure?.message).toBe(
      'IP 10.0.0.1 is not proven: too many objects claim to be the node',
    );
  });

  it('says which Machine is being deleted, and which has no node', () => {
    const alone: ApprovalPolicy = { ...RENEWING, evidence: ['renewal'] };
    expect(prove(NAMES, { ...serving(), machines: [deleting(MINE)] }, alone).failure?.message).toBe(
      'DNS name node-1 is not proven: Machine eksa-system/md-0-node-1, which is the node, is being deleted',
    );
    const { failure } = prove(NAMES, { ...serving(), machines: [booting({ InternalIP: ['10.0.0.1'] })] });
    expect(failure?.message).toBe('IP 10.0.0.1 belongs to Machine eksa-system/booting, which has no node yet');
    const { failure: known } = prove(NAMES, { ...serving(), machines: [MINE, booting({ InternalIP: ['10.0.0.1'] })] });
    expect(known?.message).toBe('IP 10.0.0.1 belongs to Machine eksa-system/booting, which has no node yet');
  });

  it('does not have what is a secondary address of the instance', async () => {
    const node = 'i-0aaaaaaaa';
    const one = instance(node, '10.0.1.1');
    const [first] = one.NetworkInterfaces;
    const instances = [
      {
        ...one,
        NetworkInterfaces: [{ ...first, PrivateIpAddresses: [{ Primary: false, PrivateIpAddress: '10.0.1.200' }] }],
      },
    ];
    const proof = await renewalProof({ node, dnsNames: [], ipAddresses: ['10.0.1.200'] });
    const evidence = evidenceFor(DUBLIN, {
      served: new Map([[node, proof]]),
      instances,
      nodes: [nodeObject(node, { InternalIP: ['10.0.1.200'] })],
    });
    const { failure } = proveOwnership(ips('10.0.1.200') as GeneralName[], node, evidence, RENEWING, DUBLIN);
    expect(failure).toMatchObject({ reason: 'SanNotOwned', hostile: false });
  });

  it('that has an address is named: another Machine has it now', () => {
    const { failure, proofs } = prove(NAMES, {
      ...serving(),
      machines: [MINE, machine('node-2', { InternalIP: ['10.0.0.1'] })],
    });
    expect(failure?.message).toBe('IP 10.0.0.1 belongs to node-2 (Machine eksa-system/md-0-node-2)');
    expect(proofs.map(({ proven }) => proven)).toEqual([true, true, false, true]);
  });

  it('is an instance too, though the policy asks no instances', () => {
    const instances = [inBerlin('i-2', '10.0.0.1')];
    const policy: ApprovalPolicy = { ...RENEWING, evidence: ['renewal'] };
    expect(prove(NAMES, { ...serving(), instances }, policy).failure).toMatchObject({ reason: 'SanNotOwned' });
  });

  it('of the node that has the addresses, and not the DNS name, is added to', () => {
    const agreeing = { machines: [machine('node-1', twoAddresses)] };
    const { failure, proofs } = prove(NAMES, { ...serving(), ...agreeing });
    expect(failure).toBeUndefined();
    expect(proofs.map(({ provenBy }) => provenBy?.source)).toEqual(['machine', 'renewal', 'machine', 'machine']);
  });

  it('takes away a DNS name that spells an address, as it takes that', async () => {
    const names = ['ip-10-0-0-9.eu-west-1.compute.internal', 'i-1'];
    const proof = await renewalProof({ node: 'i-1', dnsNames: names, ipAddresses: [] });
    const evidence = evidenceFor(DUBLIN, {
      served: new Map([['i-1', proof]]),
      instances: [instance('i-1', '10.0.1.1')],
      nodes: [nodeObject('i-1', { InternalDNS: names })],
    });
    const { failure } = proveOwnership(dns(...names) as GeneralName[], 'i-1', evidence, RENEWING, DUBLIN);
    expect(failure).toMatchObject({ reason: 'SanNotOwned', hostile: false });
  });

  it.each(['machine', 'ec2'] as const)('that cannot be read is missed: %s', (source) => {
    const { machines: _, ...unread } = serving();
    const { failure } = prove(NAMES, { ...unread, unreadable: [source] });
    expect(failure).toMatchObject({ reason: 'EvidenceUnreadable', hostile: false });
  });

  it('is not contested by an old certificate: what a Machine or a Node shows is proven without it', async () => {
    const old = await renewalProof({ ...served, node: 'node-2' });
    const sources = { ...serving(old, 'node-2'), nodes: [nodeObject('node-1', { InternalIP: ['10.0.0.1'] })] };
    const policy: ApprovalPolicy = { ...RENEWING, evidence: ['node', 'renewal'] };
    expect(prove(ips('10.0.0.1') as GeneralName[], sources, policy).failure).toBeUndefined();
  });

  it('is a second certificate for the same address', async () => {
    const twin = await renewalProof({ ...served, node: 'node-2' });
    const sources: Sources = {
      ...serving(),
      served: new Map([
        ['node-1', certificate],
        ['node-2', twin],
      ]),
    };
    expect(prove(NAMES, sources).failure?.message).toContain(
      'but certificate that node-2 serves at 10.0.0.1:10250 has it too',
    );
  });

  it('decides whether an address is shown, for a pattern: a certificate does not', () => {
    const policy: ApprovalPolicy = {
      ...DEFAULT_POLICY,
      evidence: ['patterns'],
      patterns: { cidrs: ['10.0.0.0/8'], dnsNames: ['{node}.corp.example.com'] },
    };
    const { proofs } = prove(
      [...ips('10.0.0.1'), ...dns('node-1.corp.example.com')] as GeneralName[],
      { ...serving(), nodes: [] },
      policy,
    );
    expect(proofs.map(({ proven }) => proven)).toEqual([false, false]);
  });
});

describe('a renewal', () => {
  const cluster = { ...BERLIN, serviceCidrs: ['10.96.0.0/12'] };
  const judge = (sans: ReturnType<typeof dns>, sources: Sources) =>
    decideApproval(
      { cluster, csr: signingRequest(csrObject({ request: { sans } })), siblings: { pending: 1 } },
      evidenceFor(cluster, sources),
      [{ ...RENEWING, onHostile: 'deny' }],
      NOW,
    );

  it('is approved, and says by what', () => {
    expect(judge([...dns('node-1'), ...ips('10.0.0.1')], serving(RENEWED))).toMatchObject({
      verdict: 'approve',
      message: 'node-1, 10.0.0.1 ← certificate that node-1 serves at 10.0.0.1:10250',
    });
  });

  it.each([
    ['the API server', dns('kubernetes.default.svc')],
    ['a Service', ips('10.96.0.1')],
    ['loopback', ips('127.0.0.1')],
  ])('of a name that no node may have is not: %s', async (_, forbidden) => {
    const values = (kind: string) =>
      forbidden.flatMap((san) => ('value' in san && san.kind === kind ? [String(san.value)] : []));
    const proof = await renewalProof({ dnsNames: ['node-1', ...values('dNSName')], ipAddresses: values('iPAddress') });
    const shows = { Hostname: ['node-1', ...values('dNSName')], InternalIP: values('iPAddress') };
    const nodes = [nodeObject('node-1', shows)];
    const verdict = judge([...dns('node-1'), ...forbidden], { ...serving(proof), nodes });
    expect(verdict.verdict).not.toBe('approve');
    expect(verdict.reason).toBe('SanReserved');
  });

  it('is approved only for exactly the names of a certificate of this node that is valid now, under the CA', async () => {
    const NODE_NAMES = ['node-1', 'node-1.corp.example.com', 'node-2', 'auth.evil.io'];
    const ADDRESSES = ['10.0.0.1', '10.0.0.2', 'fd00::1'];
    const certificates = fc.record({
      dnsNames: fc.subarray(NODE_NAMES),
      ipAddresses: fc.subarray(ADDRESSES),
      since: fc.constantFrom(-200, -200, -200, 1),
      until: fc.constantFrom(100, 100, 100, -1),
      trusted: fc.constantFrom(true, true, true, false),
      commonName: fc.constantFrom(
        'system:node:node-1',
        'system:node:node-1',
        'system:node:node-1',
        'system:node:node-2',
      ),
      purpose: fc.constantFrom<'server' | 'client'>('server', 'server', 'server', 'client'),
    });
    let approved = 0;
    await fc.assert(
      fc.asyncProperty(
        certificates,
        fc.oneof(
          fc.constant(undefined),
          fc.record({ dnsNames: fc.subarray(NODE_NAMES), ipAddresses: fc.subarray(ADDRESSES) }),
        ),
        async ({ trusted, ...made }, other) => {
          const cert: Served = { ...made, node: 'node-1', ...(trusted ? {} : { signedBy: OTHER_CA }) };
          const asked = other ?? made;
          const proof = await renewalProof(cert);
          const sans = [...dns(...asked.dnsNames), ...ips(...asked.ipAddresses)];
          const everything = nodeObject('node-1', { Hostname: NODE_NAMES, InternalIP: ADDRESSES });
          const { verdict } = judge(sans, { ...serving(proof), nodes: [everything] });
          const same =
            asked.dnsNames.toSorted().join() === made.dnsNames.toSorted().join() &&
            asked.ipAddresses.toSorted().join() === made.ipAddresses.toSorted().join();
          const named = asked.dnsNames.length + asked.ipAddresses.length > 0;
          const sound = trusted && made.since < 0 && made.until > 0 && made.purpose === 'server';
          const own = made.commonName === 'system:node:node-1';
          expect(verdict === 'approve').toBe(same && named && sound && own);
          if (verdict === 'approve') approved += 1;
        },
      ),
      { seed: 20_261_121, numRuns: runs(150) },
    );
    expect(approved).toBeGreaterThan(runs(10));
  });
});
