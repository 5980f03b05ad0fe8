import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SourceReading } from '../../../lambdas/approval/evidence/evidence.ts';
import { indexEvidence } from '../../../lambdas/approval/evidence/evidence.ts';
import {
  claimOf,
  claimOfApproved,
  claimOfRequest,
  type EarlierVerdict,
  type IssuedGrounds,
  judgeIssued,
  judgeShown,
  type KnownMachines,
} from '../../../lambdas/approval/issued.ts';
import { issuedNames } from '../../../lambdas/approval/issued-names.ts';
import { DEFAULT_POLICY } from '../../../lambdas/approval/policy.ts';
import { ISSUED_VERDICTS, type IssuedVerdict } from '../../../lambdas/tables/issued-verdicts.ts';
import type { Certificate } from '../../../lambdas/x509/certificate.ts';
import type { CertificateRequest } from '../../../lambdas/x509/certificate-request.ts';
import { BERLIN, dns, evidenceFor, instance, ips, machine, nodeObject, type Sources } from './fixtures.ts';

const NOW = Date.parse('2026-11-21T10:00:00Z');
const HOUR = 3_600_000;
const SERVER_AUTH = '1.3.6.1.5.5.7.3.1';
const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2';

/** What the signer of kubelet serving certificates makes for node-1. */
function certificate(change: Partial<Certificate> = {}): Certificate {
  return {
    notBefore: NOW - HOUR,
    notAfter: NOW + 365 * 24 * HOUR,
    subject: 'CN=system:node:node-1,O=system:nodes',
    issuer: 'CN=kubernetes',
    commonName: 'system:node:node-1',
    organizations: ['system:nodes'],
    serialNumber: '01',
    fingerprint: 'f'.repeat(64),
    isAuthority: false,
    selfIssued: false,
    key: 'P-256',
    verifiesFast: true,
    dnsNames: ['node-1'],
    addresses: ['10.0.0.1'],
    otherNames: false,
    extendedKeyUsages: [SERVER_AUTH],
    der: Buffer.alloc(0),
    ...change,
  };
}

const AS_CLIENT = { extendedKeyUsages: [SERVER_AUTH, CLIENT_AUTH] };

const FLEET: Sources = {
  machines: [machine('node-1', { InternalIP: ['10.0.0.1'] }), machine('node-2', { InternalIP: ['10.0.0.2'] })],
};
const CLUSTER = { ...BERLIN, serviceCidrs: ['10.96.0.0/12'], endpoints: ['api.berlin.example.com', '10.0.0.250'] };

const ONLY_EC2 = { ...DEFAULT_POLICY, evidence: ['ec2' as const] };

/** Made a day ago, and nothing was seen of them before. */
const OLD: KnownMachines = { bornAt: () => NOW - 24 * HOUR, madeAt: () => NOW - 24 * HOUR, hadAddress: () => true };

function grounds(sources: Sources = FLEET, change: Partial<IssuedGrounds> = {}): IssuedGrounds {
  const evidence = evidenceFor(CLUSTER, sources);
  return { cluster: CLUSTER, evidence, policies: [DEFAULT_POLICY], machines: OLD, now: NOW, ...change };
}

/** What was said of it a quarter of an hour ago, and not for the first time. */
function said(verdict: IssuedVerdict, change: Partial<EarlierVerdict> = {}): EarlierVerdict {
  const wasProven = verdict === 'proven' || verdict === 'no-longer-proven';
  return { verdict, why: 'of before', since: NOW - HOUR, wasProven, ...change };
}

const UNREAD: SourceReading = { source: 'machine', ok: false, problem: 'forbidden', remedy: 'Grant it.' };
const WITHOUT_EC2 = indexEvidence([...grounds().evidence.readings, { ...UNREAD, source: 'ec2' }]);
const unread = () => grounds({}, { evidence: indexEvidence([UNREAD]) });

function judge(change: Partial<Certificate>, given = grounds(), before?: EarlierVerdict) {
  return judgeIssued(claimOf(certificate(change), 'node-1'), given, before);
}

const LETTERS = {
  proven: 'P',
  'no-longer-proven': 'L',
  'not-proven': 'n',
  unknown: 'u',
  'names-another': 'A',
} as const;

describe('judgeIssued', () => {
  it.each<[string, Partial<Certificate>, IssuedVerdict, RegExp | undefined]>([
    ['its own names', {}, 'proven', undefined],
    ['its own names and the smallest RSA key', { key: 'RSA-2048' }, 'proven', undefined],
    ['an ML-DSA key', { key: 'ML-DSA-65' }, 'proven', undefined],
    ['the name of another node', { dnsNames: ['node-1', 'node-2'] }, 'names-another', /node-2/],
    ['the address of another node', { addresses: ['10.0.0.2'] }, 'names-another', /10\.0\.0\.2 belongs to node-2/],
    ['an address that no one has', { addresses: ['10.0.0.77'] }, 'not-proven', /10\.0\.0\.77/],
    ['an address of a Service', { addresses: ['10.96.0.1'] }, 'names-another', /service CIDR/],
    ['the name of a Service', { dnsNames: ['web.shop.svc'] }, 'names-another', /a Service/],
    ['the name of the API server', { dnsNames: ['kubernetes'] }, 'names-another', /the API server/],
    ['the address of the endpoint', { addresses: ['10.0.0.250'] }, 'not-proven', /API endpoint/],
    ['a wildcard', { dnsNames: ['*.example.com'] }, 'names-another', /wildcard/],
    ['a certificate of another node', { commonName: 'system:node:node-2' }, 'names-another', /node-2/],
    ['no common name', { commonName: undefined }, 'not-proven', /it is for none/],
    ['no common name, as a client', { commonName: undefined, ...AS_CLIENT }, 'names-another', /it is for none/],
    ['the name of no node', { commonName: 'system:node:' }, 'not-proven', /it is for .system:node:.$/],
    ['another organization', { organizations: ['system:masters'] }, 'not-proven', /system:masters/],
    ['one as a client', { organizations: ['system:masters'], ...AS_CLIENT }, 'names-another', /system:masters/],
    ['one for any usage', { organizations: ['system:masters'], extendedKeyUsages: undefined }, 'names-another', /ma/],
    ['a name that no Node can have', { dnsNames: ['a_b.evil.io'] }, 'not-proven', /no Node can have: .a_b\.evil\.io/],
    ['an authority', { isAuthority: true }, 'names-another', /it is a CA/],
    ['client authentication too', { extendedKeyUsages: [SERVER_AUTH, CLIENT_AUTH] }, 'not-proven', /server auth/],
    ['no usage, so any', { extendedKeyUsages: undefined }, 'not-proven', /server auth/],
    ["an e-mail address and another's name", { otherNames: true, dnsNames: ['node-2'] }, 'names-another', /node-2/],
    ["a weak key and another's address", { weakKey: 'x', addresses: ['10.0.0.2'] }, 'names-another', /node-2/],
    ['localhost and the name of another node', { dnsNames: ['localhost', 'node-2'] }, 'names-another', /node-2/],
    ['loopback and the address of another node', { addresses: ['127.0.0.1', '10.0.0.2'] }, 'names-another', /node-2/],
    ['loopback', { addresses: ['10.0.0.1', '127.0.0.1'] }, 'not-proven', /loopback/],
    ['an e-mail address', { otherNames: true }, 'not-proven', /neither DNS names nor addresses/],
    ['no name', { dnsNames: [], addresses: [] }, 'not-proven', /no name/],
    ['an Ed25519 key', { key: 'Ed25519' }, 'proven', undefined],
    ['a weak key', { weakKey: 'RSA of 1024 bits; at least 2048 are required' }, 'not-proven', /weak/],
    ['a weak signature', { weakSignature: 'by SHA-1' }, 'not-proven', /weak: by SHA-1/],
    ['a key that the policy does not allow', { key: 'brainpoolP256r1' }, 'not-proven', /brainpoolP256r1/],
  ])('%s', (_, change, verdict, why) => {
    const judged = judge(change);
    expect(judged.verdict).toBe(verdict);
    expect(judged.why ?? '').toMatch(why ?? /^$/);
  });

  const BEFORE = ['proven', 'no-longer-proven', 'not-proven', 'unknown', 'names-another'] as const;
  type Column = readonly [minutes: number, before?: IssuedVerdict, isUnread?: true];
  const COLUMNS: readonly Column[] = [
    ...[19, 20, 25].map((minutes): Column => [minutes]),
    ...BEFORE.map((before): Column => [25, before]),
    [25, undefined, true],
    [25, 'proven', true],
    [25, 'names-another', true],
  ];
  const BOTH = { machines: [machine('node-1', { InternalIP: ['10.0.0.1', '10.0.0.2'] }), FLEET.machines![1]!] };
  const OTHERS = { machines: [FLEET.machines![1]!] };
  const and = (node: string, addresses: object) => ({ machines: [FLEET.machines![0]!, machine(node, addresses)] });
  const CALLED_BY_ADDRESS = and('10.0.0.9', { InternalIP: ['10.0.0.9'] });
  const LISTED_TWICE = and('node-2', { Hostname: ['node-1'] });
  const WITH_NODE = { ...FLEET, nodes: [nodeObject('node-9')] };

  // New for 19, 20 and 25 minutes; then said before: proven, no longer, not proven, unknown, names another; last while evidence is unread.
  it.each<[string, Partial<Certificate>, string, Sources?]>([
    ['its own names', {}, 'PPPPPPPPuPA'],
    ['an address that nobody has', { addresses: ['10.0.0.77'] }, 'unnLLnnnuPA'],
    ['a name that nobody has', { dnsNames: ['node-7'] }, 'unnLLnnnuPA'],
    ['the address of another node', { addresses: ['10.0.0.2'] }, 'nAALLAAAuPA'],
    ['the name of another node', { dnsNames: ['node-2'] }, 'AAALLAAAuPA'],
    ["another's address, and the name of no one", { dnsNames: ['x'], addresses: ['10.0.0.2'] }, 'nAALLAAAuPA'],
    ['an address that both have', { addresses: ['10.0.0.2'] }, 'unnLLnnnuPA', BOTH],
    ['the address of another node, itself without a Machine', { addresses: ['10.0.0.2'] }, 'unnLLnnnuPA', OTHERS],
    ['the name of another node, itself without a Machine', { dnsNames: ['node-2'] }, 'AAALLAAAuPA', OTHERS],
    ['an address that nobody has, itself without a Machine', { addresses: ['10.0.0.77'] }, 'unnLLnnnuPA', OTHERS],
    ['an address by which another node is called', { addresses: ['10.0.0.9'] }, 'nAALLAAAuPA', CALLED_BY_ADDRESS],
    ['the name of a Node without a Machine', { dnsNames: ['node-9'] }, 'unnLLnnnuPA', WITH_NODE],
    ['its own name, which another lists too', {}, 'unnLLnnnuPA', LISTED_TWICE],
    ['loopback', { addresses: ['127.0.0.1'] }, 'unnLLnnnuPA'],
    ['the name of a Service', { dnsNames: ['web.shop.svc'] }, 'AAAAAAAAAAA'],
    ['its own names with a weak key', { weakKey: 'RSA of 1024 bits' }, 'nnnnnnnnnnA'],
    ['its own names with a key of no policy', { key: 'brainpoolP256r1' }, 'unnLLnnnuPA'],
  ])('%s', (_, change, verdicts, sources = FLEET) => {
    const judged = COLUMNS.map(([minutes, before, isUnread]) => {
      const given = isUnread === true ? unread() : grounds(sources);
      const { verdict } = judge({ ...change, notBefore: NOW - minutes * 60_000 }, given, before && said(before));
      return LETTERS[verdict];
    });
    expect(judged.join('')).toBe(verdicts);
  });

  it('the endpoint is of every machine of the control plane, and of no other node', () => {
    const made = machine('node-1', { InternalIP: ['10.0.0.1'] });
    const labels = { ...made.metadata.labels, 'cluster.x-k8s.io/control-plane': '' };
    const controlPlane = grounds({
      machines: [{ ...made, metadata: { ...made.metadata, labels } }],
      nodes: [nodeObject('node-1')],
    });
    const change = { dnsNames: ['node-1', 'api.berlin.example.com'], addresses: ['10.0.0.1', '10.0.0.250'] };
    expect(judge(change, controlPlane).verdict).toBe('proven');
    expect(judge({ dnsNames: [], addresses: ['10.0.0.250'] }, controlPlane).verdict).toBe('proven');
    expect(judge({ dnsNames: ['node-1', 'kubernetes'] }, controlPlane).verdict).toBe('names-another');
    expect(judge(change).verdict).toBe('names-another');
  });

  it('content that no evidence makes right needs none', () => {
    expect(judge({ isAuthority: true }, unread()).verdict).toBe('names-another');
    expect(judge({ dnsNames: ['kubernetes'] }, unread()).verdict).toBe('names-another');
  });

  describe('an address that may have moved is no crime', () => {
    const theft = { addresses: ['10.0.0.2'] };
    const ofBerlin = { ...instance('i-0abc', '10.0.0.2'), Tags: [{ Key: 'eks:cluster-name', Value: 'berlin' }] };
    const WITH_INSTANCE = evidenceFor(CLUSTER, { machines: FLEET.machines!.slice(0, 1), instances: [ofBerlin] });
    const BY_NAME = { ...OLD, bornAt: (node: string) => (node.startsWith('ip-') ? 0 : undefined) };
    it.each<[string, Partial<IssuedGrounds>, EarlierVerdict | undefined, IssuedVerdict]>([
      ['its owner is as old as ever', {}, undefined, 'names-another'],
      ['one of two policies cannot tell', { policies: [ONLY_EC2, DEFAULT_POLICY] }, undefined, 'names-another'],
      ['its owner was made since', { machines: { ...OLD, bornAt: () => NOW - HOUR / 2 } }, undefined, 'not-proven'],
      ['its owner has no known age', { machines: { ...OLD, bornAt: () => undefined } }, undefined, 'not-proven'],
      ['its owner had it before', { machines: { ...OLD, hadAddress: () => true } }, undefined, 'names-another'],
      ['its owner had it not', { machines: { ...OLD, hadAddress: () => false } }, undefined, 'not-proven'],
      ['its owner is an instance', { evidence: WITH_INSTANCE, machines: BY_NAME }, undefined, 'names-another'],
      ['it may have moved before', {}, said('not-proven', { mayHaveMoved: true }), 'not-proven'],
      ['it was in doubt before', {}, said('not-proven'), 'names-another'],
      ['it could not be told before', {}, said('unknown'), 'names-another'],
      ['it was said before', { machines: { ...OLD, hadAddress: () => false } }, said('names-another'), 'names-another'],
    ])('%s', (_, change, before, verdict) => {
      expect(judge(theft, grounds(FLEET, change), before).verdict).toBe(verdict);
    });
  });

  it('while one source cannot be read, none says that a name is another’s', () => {
    expect(judge({ addresses: ['10.0.0.2'] }, grounds(FLEET, { evidence: WITHOUT_EC2 })).verdict).toBe('unknown');
  });

  it('of a request of a machine that was called so before, the machine of now says nothing', () => {
    const madeAfter = (ms: number) => grounds(FLEET, { machines: { ...OLD, madeAt: () => NOW - HOUR + ms } });
    const given = madeAfter(HOUR / 3);
    const claim = claimOfRequest(certificate({ addresses: ['10.0.0.77'] }), 'system:node:node-1', true);
    expect(judgeIssued(claim, given).verdict).toBe('unknown');
    expect(judgeIssued(claim, given, said('not-proven')).verdict).toBe('unknown');
    expect(judgeIssued({ ...claim, ofRequest: undefined }, given).verdict).toBe('not-proven');
    expect(judgeIssued(claim, madeAfter(HOUR / 3 - 1)).verdict).toBe('not-proven');
  });

  it('a node that no instance stands for is unknown, and one whose sources were not read', () => {
    expect(judge({ addresses: ['10.0.0.77'] }, grounds(FLEET, { policies: [ONLY_EC2] })).verdict).toBe('unknown');
    const node = 'fargate-ip-10-0-0-9';
    const fargate = certificate({ commonName: `system:node:${node}`, dnsNames: [], addresses: ['10.0.0.9'] });
    expect(judgeIssued(claimOf(fargate, node), grounds()).verdict).toBe('unknown');
  });

  it('an address that another node has by now may have moved since the certificate was issued', () => {
    const old = { addresses: ['10.0.0.2'], notBefore: NOW - 90 * 24 * HOUR };
    const seen = (bornAt: number, isAt: (until: number) => boolean) => ({
      machines: {
        ...OLD,
        bornAt: () => bornAt,
        hadAddress: (_: string, __: string, at: number) => isAt(at) || undefined,
      },
      policies: [DEFAULT_POLICY, ONLY_EC2],
    });
    const now = grounds(
      FLEET,
      seen(0, (until) => until >= NOW),
    );
    expect(judge(old, now)).toMatchObject({ verdict: 'not-proven', mayHaveMoved: true });
    expect(judge({ ...old, notBefore: NOW - 2 * HOUR }, now).verdict).toBe('names-another');
    const then = grounds(
      FLEET,
      seen(old.notBefore, (until) => until === old.notBefore + HOUR / 3),
    );
    expect(judge(old, then).verdict).toBe('names-another');
  });

  it('a machine that is called like a Service in a domain of its own takes no name from one', () => {
    const own = ['node-1.svc.corp.com', 'node-1.rack-2.svc.corp.com'];
    const named = machine('node-1', { InternalIP: ['10.0.0.1'], InternalDNS: own });
    const given = grounds({ machines: [named] });
    expect(judge({ dnsNames: own.slice(0, 1) }, given).verdict).toBe('proven');
    expect(judge({ dnsNames: own }, given).verdict).toBe('not-proven');
    expect(judge({ dnsNames: ['web.shop.svc.corp.com'] }, given).verdict).toBe('names-another');
    expect(judge({ dnsNames: ['web.shop.svc'] }, given).verdict).toBe('names-another');
  });

  it('without a policy for the cluster the built-in one counts', () => {
    expect(judge({}, grounds(FLEET, { policies: [] })).verdict).toBe('proven');
    const elsewhere = { ...DEFAULT_POLICY, clusters: ['oslo'], evidence: ['node' as const] };
    expect(judge({}, grounds(FLEET, { policies: [elsewhere] })).verdict).toBe('proven');
  });

  it('says what is not proven, whose it is, and what evidence may still change', () => {
    const names = { dnsNames: ['node-2', 'localhost'], addresses: ['10.0.0.1', '10.0.0.77'] };
    expect(judge(names)).toMatchObject({
      unproven: ['node-2', '10.0.0.77', 'localhost'],
      mayHaveMoved: undefined,
      why: expect.stringMatching(/^DNS name node-2 belongs/) as string,
    });
    expect(judge({ addresses: ['10.0.0.2'] }, grounds(OTHERS)).why).toMatch(
      /^IP 10\.0\.0\.2 belongs to node-2 \(Machine/,
    );
    const again = judge({}, unread(), said('unknown'));
    expect([again.evidenceUnread, again.mayHaveMoved, judge({}, unread(), said('proven')).evidenceUnread]).toEqual([
      true,
      true,
      undefined,
    ]);
  });

  it('never names another for want of evidence, and no verdict gets worse by an unread source', () => {
    const name = fc.constantFrom('node-1', 'node-2', 'node-3', 'web', '10.0.0.1', '10.0.0.2', '10.0.0.77');
    const before = fc.option(fc.constantFrom(...ISSUED_VERDICTS), { nil: undefined });
    fc.assert(
      fc.property(fc.array(name, { minLength: 1, maxLength: 6 }), before, fc.nat(60), (names, verdict, minutes) => {
        const change = {
          dnsNames: names.filter((one) => !one.startsWith('10.')),
          addresses: names.filter((one) => one.startsWith('10.')),
          notBefore: NOW - minutes * 60_000,
        };
        const told = verdict === undefined ? undefined : said(verdict);
        expect(judge(change, grounds({ machines: [] }), told).verdict).not.toBe('names-another');
        expect(judge(change, unread(), told).verdict).toBe(verdict ?? 'unknown');
        const others = names.filter((one) => one !== 'node-1' && one !== '10.0.0.1');
        expect(judge(change).verdict === 'proven').toBe(others.length === 0);
      }),
      { seed: 19, numRuns: 500 },
    );
  });
});

it('issuedNames proves no reserved name, whatever lists it, by the policy that proves most', () => {
  const listed = machine('node-1', { InternalIP: ['10.0.0.1', '10.96.0.9'], Hostname: ['localhost'] });
  const claim = { node: 'node-1', dnsNames: ['node-1', 'localhost'], addresses: ['10.0.0.1', '10.96.0.9'] };
  const given = grounds({ machines: [listed] }, { policies: [ONLY_EC2, DEFAULT_POLICY] });
  const proven = issuedNames(claim, given).map(({ name, proven: is }) => [name, is]);
  expect(proven).toEqual([
    ['node-1', true],
    ['localhost', false],
    ['10.0.0.1', true],
    ['10.96.0.9', false],
  ]);
});

describe('claimOfRequest', () => {
  it('only the node itself may have asked', () => {
    const requested = { subjectAltNames: [...dns('node-1'), ...ips('10.0.0.1')] } as unknown as CertificateRequest;
    const claims = (requester: string, ofNodes = true) => [
      claimOfRequest(certificate(), requester, ofNodes),
      claimOfApproved(requested, { requester, ofNodes, createdAt: NOW }),
    ];
    const verdicts = (...by: Parameters<typeof claims>) =>
      claims(...by).map((one) => judgeIssued(one, grounds()).verdict);
    expect(verdicts('system:node:node-1')).toEqual(['proven', 'proven']);
    const names = { dnsNames: ['node-1'], addresses: ['10.0.0.1'] };
    for (const claim of claims('system:node:node-1'))
      expect(claim).toMatchObject({ node: 'node-1', ofRequest: true, ...names });
    const none = ['names-another', 'names-another'];
    for (const requester of ['alice', 'oidc:people:node-1', 'system:node:node-2', 'system:node:'])
      expect(verdicts(requester)).toEqual(none);
    expect(verdicts('system:node:node-1', false)).toEqual(none);
  });
});

describe('judgeShown', () => {
  const shown = (
    change: Partial<Certificate>,
    address: string,
    { keyProven = true, before, given = grounds() }: Shown = {},
  ) => judgeShown(certificate(change), { node: 'node-1', address, keyProven }, given, before);
  type Shown = { readonly keyProven?: boolean; readonly before?: EarlierVerdict; readonly given?: IssuedGrounds };
  const ofNode2 = { commonName: 'system:node:node-2', dnsNames: ['node-2'], addresses: ['10.0.0.2'] };
  const ofNode2WithName1 = { commonName: 'system:node:node-2' };

  it.each<[string, Partial<Certificate>, string, IssuedVerdict]>([
    ['its own', {}, '10.0.0.1', 'proven'],
    ['one of the node that has the address by now', ofNode2, '10.0.0.2', 'proven'],
    ['one of another node at an address that no one has', ofNode2, '10.0.0.99', 'unknown'],
    ['one of another node that names this one', ofNode2WithName1, '10.0.0.1', 'names-another'],
    ['one that names no node', { commonName: 'web' }, '10.0.0.1', 'not-proven'],
  ])('%s', (_, change, address, verdict) => {
    expect(shown(change, address).verdict).toBe(verdict);
  });

  it('one of another node is an address that was handed on, until that lasts', () => {
    const first = shown(ofNode2, '10.0.0.1');
    expect(first).toMatchObject({ verdict: 'unknown', why: expect.stringContaining('node-1 should be') });
    const since = (minutes: number) => said('unknown', { why: first.why, since: NOW - minutes * 60_000 });
    const again = (change: Shown) => shown(ofNode2, '10.0.0.1', change).verdict;
    expect(again({ before: since(15) })).toBe('unknown');
    expect(again({ before: since(20) })).toBe('names-another');
    expect(again({ before: said('unknown') })).toBe('unknown');
    expect(again({ before: since(20), keyProven: false })).toBe('unknown');
    expect(again({ before: since(20), given: unread() })).toBe('unknown');
    const policies = [{ ...DEFAULT_POLICY, evidence: ['machine' as const] }];
    const half = grounds(FLEET, { evidence: WITHOUT_EC2, policies });
    expect([again({ before: since(20), given: half }), again({ given: half })]).toEqual(['unknown', 'unknown']);
    const [own, other] = FLEET.machines as readonly ReturnType<typeof machine>[];
    const shared = grounds({ machines: [own, other, machine('node-3', { InternalIP: ['10.0.0.1'] })] });
    expect(again({ before: since(20), given: shared })).toBe('names-another');
    const gone = { ...own, metadata: { ...own?.metadata, deletionTimestamp: '2026-11-21T09:59:00Z' } };
    expect(again({ before: since(20), given: grounds({ machines: [gone, other] }) })).toBe('unknown');
    const both = machine('node-2', { InternalIP: ['10.0.0.1', '10.0.0.2'] });
    expect(again({ before: since(20), given: grounds({ machines: [both] }) })).toBe('proven');
  });
});
