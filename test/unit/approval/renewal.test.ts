import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decideApproval } from '../../../lambdas/approval/decide.ts';
import { proveOwnership } from '../../../lambdas/approval/ownership.ts';
import { type ApprovalPolicy, DEFAULT_POLICY } from '../../../lambdas/approval/policy.ts';
import type { RenewalProof } from '../../../lambdas/approval/renewal-evidence.ts';
import type { GeneralName } from '../../../lambdas/x509/certificate-request.ts';
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
} from './fixtures.ts';
import { OTHER_CA, renewalProof, type Served } from './served-certificates.ts';

const RENEWING: ApprovalPolicy = { ...DEFAULT_POLICY, evidence: ['machine', 'ec2', 'renewal'] };
const NAMES = [...dns('node-1', 'node-1.corp.example.com'), ...ips('10.0.0.1', 'fd00::1')] as GeneralName[];
const served = { dnsNames: ['node-1', 'node-1.corp.example.com'], ipAddresses: ['10.0.0.1', 'fd00::1'] };
const certificate = await renewalProof(served);
const RENEWED = await renewalProof();
const serving = (proof: RenewalProof = certificate, node = 'node-1'): Sources => ({
  machines: [],
  nodes: [],
  served: new Map([[node, proof]]),
});

const prove = (names: readonly GeneralName[], sources: Sources, policy = RENEWING) =>
  proveOwnership(names, 'node-1', evidenceFor(BERLIN, sources), policy);

describe('the certificate that a node serves', () => {
  it('proves every name of a request for exactly its names', () => {
    const { failure, proofs } = prove(NAMES, serving());
    expect(failure).toBeUndefined();
    expect(proofs.map(({ provenBy }) => provenBy)).toEqual(
      NAMES.map(() => ({ source: 'renewal', object: 'certificate that node-1 serves at 10.0.0.1:10250' })),
    );
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
    const other = proveOwnership(NAMES, 'node-2', evidenceFor(BERLIN, serving()), RENEWING);
    expect(other.proofs.filter(({ proven }) => proven)).toEqual([]);
  });

  it('says why it proves nothing', async () => {
    const ended = await renewalProof({ ...served, until: -2 });
    expect(prove(NAMES, serving(ended)).failure).toEqual({
      reason: 'EvidenceMissing',
      message: expect.stringMatching(
        /^no Machine \(0 looked at\) and no serving certificate \(1 looked at\) names node node-1 yet; the certificate that it serves at 10\.0\.0\.1:10250 has ended, 2026-02-28/,
      ),
      hostile: false,
    });
  });
});

describe('another source', () => {
  const twoAddresses = { InternalIP: ['10.0.0.1', 'fd00::1'] };

  it.each<[string, Sources, string]>([
    ['a Machine of another node', { machines: [machine('node-2', { InternalIP: ['10.0.0.1'] })] }, 'SanContested'],
    ['a Node of another node', { nodes: [nodeObject('node-2', { InternalIP: ['10.0.0.1'] })] }, 'SanContested'],
    ['a Machine that has the DNS name', { machines: [machine('node-1.corp.example.com')] }, 'SanContested'],
    ['a Node that is called so', { nodes: [nodeObject('node-1.corp.example.com')] }, 'SanContested'],
    [
      'the own Machine, with another address',
      { machines: [machine('node-1', { InternalIP: ['10.0.0.5'] })] },
      'SanNotOwned',
    ],
    [
      'the own Node, with another address',
      { nodes: [nodeObject('node-1', { InternalIP: ['10.0.0.5'] })] },
      'SanNotOwned',
    ],
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
  ])('that disagrees is believed instead: %s', (_, sources, reason) => {
    const { failure } = prove(NAMES, { ...serving(), ...sources });
    expect(failure).toMatchObject({ reason, hostile: false });
  });

  it('that contests an address is named: another Machine has it now', () => {
    const { failure, proofs } = prove(NAMES, {
      ...serving(),
      machines: [machine('node-2', { InternalIP: ['10.0.0.1'] })],
    });
    expect(failure?.message).toBe(
      'IP 10.0.0.1 is owned by node-1 (certificate that node-1 serves at 10.0.0.1:10250) and by node-2 (Machine eksa-system/md-0-node-2)',
    );
    expect(proofs.map(({ proven }) => proven)).toEqual([true, true, false, true]);
  });

  it('contests with an instance too, though the policy asks no instances', () => {
    const instances = [{ ...instance('i-2', '10.0.0.1'), Tags: [{ Key: 'eks:cluster-name', Value: 'berlin' }] }];
    const policy: ApprovalPolicy = { ...RENEWING, evidence: ['renewal'] };
    expect(prove(NAMES, { ...serving(), instances }, policy).failure).toMatchObject({ reason: 'SanContested' });
  });

  it('of the node that has the addresses, and not the DNS name, is added to', () => {
    const agreeing = { machines: [machine('node-1', twoAddresses)], nodes: [nodeObject('node-1', twoAddresses)] };
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
    });
    const { failure } = proveOwnership(dns(...names) as GeneralName[], 'i-1', evidence, RENEWING);
    expect(failure).toMatchObject({ reason: 'SanNotOwned', hostile: false });
  });

  it.each(['machine', 'ec2'] as const)('that cannot be read is missed: %s', (source) => {
    const { failure } = prove(NAMES, { served: new Map([['node-1', certificate]]), unreadable: [source] });
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
      machines: [],
      served: new Map([
        ['node-1', certificate],
        ['node-2', twin],
      ]),
    };
    expect(prove(NAMES, sources).failure).toMatchObject({ reason: 'SanContested' });
  });

  it('decides whether an address is shown, for a pattern: a certificate does not', () => {
    const policy: ApprovalPolicy = {
      ...DEFAULT_POLICY,
      evidence: ['patterns'],
      patterns: { cidrs: ['10.0.0.0/8'], dnsNames: ['{node}.corp.example.com'] },
    };
    const { proofs } = prove(
      [...ips('10.0.0.1'), ...dns('node-1.corp.example.com')] as GeneralName[],
      serving(),
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
    expect(
      judge([...dns('node-1'), ...ips('10.0.0.1')], {
        machines: [],
        served: new Map([['node-1', RENEWED]]),
      }),
    ).toMatchObject({
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
    const verdict = judge([...dns('node-1'), ...forbidden], { machines: [], served: new Map([['node-1', proof]]) });
    expect(verdict.verdict).not.toBe('approve');
    expect(verdict.reason).toBe('SanReserved');
  });

  it('is approved only for exactly the names of a certificate of this node that is valid now, under the CA', async () => {
    const NODE_NAMES = ['node-1', 'node-1.corp.example.com', 'node-2', 'auth.evil.io'];
    const ADDRESSES = ['10.0.0.1', '10.0.0.2', 'fd00::1'];
    const shown = fc.record({
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
        shown,
        fc.oneof(
          fc.constant(undefined),
          fc.record({ dnsNames: fc.subarray(NODE_NAMES), ipAddresses: fc.subarray(ADDRESSES) }),
        ),
        async ({ trusted, ...made }, other) => {
          const cert: Served = { ...made, node: 'node-1', ...(trusted ? {} : { signedBy: OTHER_CA }) };
          const asked = other ?? made;
          const proof = await renewalProof(cert);
          const sans = [...dns(...asked.dnsNames), ...ips(...asked.ipAddresses)];
          const { verdict } = judge(sans, { machines: [], served: new Map([['node-1', proof]]) });
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
      { seed: 20_261_121, numRuns: 300 },
    );
    expect(approved).toBeGreaterThan(20);
  }, 60_000);
});
