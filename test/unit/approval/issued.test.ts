import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SourceReading } from '../../../lambdas/approval/evidence/evidence.ts';
import { indexEvidence } from '../../../lambdas/approval/evidence/evidence.ts';
import { type IssuedGrounds, judgeIssued } from '../../../lambdas/approval/issued.ts';
import { DEFAULT_POLICY } from '../../../lambdas/approval/policy.ts';
import type { IssuedObservation } from '../../../lambdas/contracts/observation.ts';
import { ISSUED_VERDICTS, type IssuedVerdict } from '../../../lambdas/tables/issued-verdicts.ts';
import type { Certificate } from '../../../lambdas/x509/certificate.ts';
import { BERLIN, evidenceFor, machine, nodeObject, type Sources } from './fixtures.ts';

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

const OWN = { requester: 'system:node:node-1', ofNodes: true };
const AS_CLIENT = { extendedKeyUsages: [SERVER_AUTH, CLIENT_AUTH] };

const FLEET: Sources = {
  machines: [machine('node-1', { InternalIP: ['10.0.0.1'] }), machine('node-2', { InternalIP: ['10.0.0.2'] })],
};
const CLUSTER = { ...BERLIN, serviceCidrs: ['10.96.0.0/12'], endpoints: ['api.berlin.example.com', '10.0.0.250'] };

const UNREAD: SourceReading = { source: 'machine', ok: false, problem: 'forbidden', remedy: 'Grant it.' };
const unread = (): IssuedGrounds => ({ ...grounds(), evidence: indexEvidence([UNREAD]) });

function grounds(sources: Sources = FLEET, policies = [DEFAULT_POLICY]): IssuedGrounds {
  return { cluster: CLUSTER, evidence: evidenceFor(CLUSTER, sources), policies, nodes: new Set(['node-1', 'node-2']) };
}

function judge(change: Partial<Certificate>, given = grounds(), last?: IssuedObservation) {
  return judgeIssued(certificate(change), OWN, given, last);
}

type Told = readonly [first: IssuedVerdict, second: IssuedVerdict];

/** The verdicts of audits in a row, of which some read no evidence. */
function inARow(change: Partial<Certificate>, ...given: readonly IssuedGrounds[]): readonly IssuedVerdict[] {
  let last: IssuedObservation | undefined;
  return given.map((each) => {
    last = judge(change, each, last);
    return last.verdict;
  });
}

const controlPlane = (node: string, addresses: readonly string[]) => {
  const made = machine(node, { InternalIP: addresses });
  const labels = { ...made.metadata.labels, 'cluster.x-k8s.io/control-plane': '' };
  return { ...made, metadata: { ...made.metadata, labels } };
};

const ANOTHER: Told = ['names-another', 'names-another'];
const UNPROVEN: Told = ['not-proven', 'not-proven'];
/** Addresses move: what two audits in a row see is held against a certificate. */
const ADDRESS: Told = ['not-proven', 'names-another'];
const PROVEN: Told = ['proven', 'proven'];
const both = (...addresses: string[]) => machine('node-1', { InternalIP: ['10.0.0.1', ...addresses] });
const node2 = FLEET.machines![1]!;
/** Without an object of its own. */
const OTHERS = { machines: [node2] };
const NONE = { machines: [], nodes: [nodeObject('node-1')] };
const deleted = machine('node-1', { InternalIP: ['10.0.0.1'] });
const LEAVING = {
  machines: [{ ...deleted, metadata: { ...deleted.metadata, deletionTimestamp: '2026-11-20T00:00:00Z' } }, node2],
};
const LED = { machines: [node2, controlPlane('cp-1', ['10.0.0.11'])] };
const MANY = Array.from({ length: 1_024 }, (_, n) => `n${n}`);
/** The guest of node-1 claims names and addresses of all, and a Machine is no node yet. */
const CLAIMED: Sources = {
  machines: [
    machine('node-1', {
      InternalIP: ['10.0.0.1', '10.0.0.2', '10.0.0.250', '10.96.0.9'],
      Hostname: ['node-2', 'ubuntu'],
    }),
    machine('node-2', { InternalIP: ['10.0.0.2'], Hostname: ['ubuntu'] }),
    { ...machine('new', {}), status: { addresses: [{ type: 'InternalIP', address: '10.0.0.5' }] } },
  ],
  nodes: [nodeObject('node-9')],
};

describe('judgeIssued', () => {
  it.each<[string, Partial<Certificate>, Told, (RegExp | undefined)?, Sources?]>([
    ['its own names', {}, PROVEN],
    ['its own names and the smallest RSA key', { key: 'RSA-2048' }, PROVEN],
    ['an ML-DSA key', { key: 'ML-DSA-65' }, PROVEN],
    ['an Ed25519 key', { key: 'Ed25519' }, PROVEN],
    ['the name of another node', { dnsNames: ['node-1', 'node-2'] }, ANOTHER, /node-2/],
    ['… without an object', { dnsNames: ['node-2'] }, ANOTHER, /node-2/, OTHERS],
    ['… that its guest claims', { dnsNames: ['node-2'] }, ANOTHER, /node-2/, CLAIMED],
    ['… of a Node without a Machine', { dnsNames: ['node-9'] }, UNPROVEN, /node-9/, CLAIMED],
    ['a hostname that guests share', { dnsNames: ['ubuntu'] }, UNPROVEN, /ubuntu/, CLAIMED],
    ['the address of another node', { addresses: ['10.0.0.2'] }, ADDRESS, /10\.0\.0\.2 belongs to node-2/],
    ['… that its guest claims too', { addresses: ['10.0.0.2'] }, ADDRESS, /node-2/, CLAIMED],
    ['… without an object', { addresses: ['10.0.0.2'] }, UNPROVEN, /names node node-1/, OTHERS],
    ['… whose own Machine is being deleted', { addresses: ['10.0.0.2'] }, ADDRESS, /node-2/, LEAVING],
    ['… of a Machine that is no node yet', { addresses: ['10.0.0.5'] }, UNPROVEN, /10\.0\.0\.5/, CLAIMED],
    ['an address that no one has', { addresses: ['10.0.0.77'] }, UNPROVEN, /10\.0\.0\.77/],
    ['an address of a Service', { addresses: ['10.96.0.1'] }, ADDRESS, /service CIDR/],
    ['… that its guest claims', { addresses: ['10.96.0.9'] }, ADDRESS, /service CIDR/, CLAIMED],
    ['the name of a Service', { dnsNames: ['web.shop.svc'] }, ANOTHER, /a Service/],
    ['the name of the API server', { dnsNames: ['kubernetes'] }, ANOTHER, /the API server/],
    ['the address of the endpoint', { addresses: ['10.0.0.250'] }, ADDRESS, /API endpoint/],
    ['… that its guest claims', { addresses: ['10.0.0.250'] }, ADDRESS, /API endpoint/, CLAIMED],
    ['… without an object', { addresses: ['10.0.0.250'] }, ADDRESS, /API endpoint/, LED],
    ['… by its name', { dnsNames: ['api.berlin.example.com'] }, ADDRESS, /API endpoint/, LED],
    ['… where no Machine is of the control plane', { addresses: ['10.0.0.250'] }, UNPROVEN, /API endpoint/, OTHERS],
    ['an address of the control plane, without an object', { addresses: ['10.0.0.11'] }, ADDRESS, /cp-1/, LED],
    ['loopback, without an object', { addresses: ['127.0.0.1'] }, UNPROVEN, /loopback/, NONE],
    ['… where no Machine was found', { addresses: ['10.0.0.250'] }, UNPROVEN, /API endpoint/, NONE],
    ['more names than are read', { dnsNames: MANY, addresses: [] }, ANOTHER, /1024 names/],
    ['a wildcard', { dnsNames: ['*.example.com'] }, ANOTHER, /wildcard/],
    ['a certificate of another node', { commonName: 'system:node:node-2' }, ANOTHER, /node-2/],
    ['no common name', { commonName: undefined }, UNPROVEN, /it is for none/],
    ['no common name, as a client', { commonName: undefined, ...AS_CLIENT }, ANOTHER, /it is for none/],
    ['the name of no node', { commonName: 'system:node:' }, UNPROVEN, /it is for .system:node:.$/],
    ['another organization', { organizations: ['system:masters'] }, UNPROVEN, /system:masters/],
    ['one as a client', { organizations: ['system:masters'], ...AS_CLIENT }, ANOTHER, /system:masters/],
    ['one for any usage', { organizations: ['system:masters'], extendedKeyUsages: undefined }, ANOTHER, /ma/],
    ['a name that no Node can have', { dnsNames: ['a_b.evil.io'] }, UNPROVEN, /no Node can have: .a_b\.evil\.io/],
    ['an authority', { isAuthority: true }, ANOTHER, /it is a CA/],
    ['client authentication too', AS_CLIENT, UNPROVEN, /server auth/],
    ['no usage, so any', { extendedKeyUsages: undefined }, UNPROVEN, /server auth/],
    ["an e-mail address and another's name", { otherNames: true, dnsNames: ['node-2'] }, ANOTHER, /node-2/],
    ["a weak key and another's address", { weakKey: 'x', addresses: ['10.0.0.2'] }, ADDRESS, /node-2/],
    ['localhost and the name of another node', { dnsNames: ['localhost', 'node-2'] }, ANOTHER, /node-2/],
    ['loopback and the address of another node', { addresses: ['127.0.0.1', '10.0.0.2'] }, ADDRESS, /node-2/],
    ['loopback', { addresses: ['10.0.0.1', '127.0.0.1'] }, UNPROVEN, /loopback/],
    ['an e-mail address', { otherNames: true }, UNPROVEN, /neither DNS names nor addresses/],
    ['no name', { dnsNames: [], addresses: [] }, UNPROVEN, /no name/],
    ['a weak key', { weakKey: 'RSA of 1024 bits; at least 2048 are required' }, UNPROVEN, /weak/],
    ['a weak signature', { weakSignature: 'by SHA-1' }, UNPROVEN, /weak: by SHA-1/],
  ])('in two audits in a row: %s', (_, change, told, why = /^$/, sources = FLEET) => {
    const first = judge(change, grounds(sources));
    expect(first.why ?? '').toMatch(why);
    expect([first.verdict, judge(change, grounds(sources), first).verdict]).toEqual(told);
  });

  it('an address is another’s only while it is, and an unread audit between two changes nothing', () => {
    const theft = { addresses: ['10.0.0.2'] };
    const moved = grounds({ machines: [both('10.0.0.2')] });
    const another = ['not-proven', 'names-another'];
    expect(inARow(theft, grounds(), moved, grounds(), grounds())).toEqual(['not-proven', 'proven', ...another]);
    expect(inARow(theft, unread(), grounds(), unread(), grounds(), unread(), unread(), moved)).toEqual([
      'unknown',
      'not-proven',
      'not-proven',
      'names-another',
      'names-another',
      'names-another',
      'proven',
    ]);
  });

  it('what no evidence makes right needs none, and what was not proven stays so without', () => {
    expect(inARow({ isAuthority: true }, unread())).toEqual(['names-another']);
    expect(inARow({ dnsNames: ['kubernetes'] }, unread())).toEqual(['names-another']);
    expect(inARow({ weakKey: 'RSA of 1024 bits' }, unread())).toEqual(['not-proven']);
    expect(judge({}, unread())).toMatchObject({ verdict: 'unknown', evidenceUnread: true });
    expect(judge({}, unread(), { verdict: 'proven' }).verdict).toBe('unknown');
    expect(judge({}, unread(), { verdict: 'not-proven', why: 'w' })).toMatchObject({ verdict: 'not-proven', why: 'w' });
  });

  it('the endpoint is of every machine of the control plane, and of no other node', () => {
    const leader = grounds({ machines: [controlPlane('node-1', ['10.0.0.1', '10.0.0.250'])] });
    const follower = grounds({
      machines: [controlPlane('node-1', ['10.0.0.1']), controlPlane('cp-2', ['10.0.0.250'])],
    });
    const change = { dnsNames: ['node-1', 'api.berlin.example.com'], addresses: ['10.0.0.1', '10.0.0.250'] };
    for (const given of [leader, follower]) expect(inARow(change, given, given)).toEqual(['proven', 'proven']);
    expect(judge({ dnsNames: ['node-1', 'kubernetes'] }, leader).verdict).toBe('names-another');
    expect(judge(change).verdict).toBe('names-another');
    // Known only by its name, it moves from one machine to the other.
    const byName = (given: IssuedGrounds) => ({ ...given, cluster: { ...CLUSTER, endpoints: [] } });
    const shared = { addresses: ['10.0.0.250'] };
    expect(inARow(shared, byName(leader), byName(leader))).toEqual(['proven', 'proven']);
    expect(inARow(shared, byName(follower), byName(follower))).toEqual(['not-proven', 'not-proven']);
  });

  it('a worker that claimed addresses before they were those of the control plane has them no longer', () => {
    const free = ['10.0.1.150'];
    const claiming = grounds({ machines: [both(...free), controlPlane('cp-1', ['10.0.1.11'])] });
    const later = grounds({ machines: [both(), controlPlane('cp-2', ['10.0.1.150'])] });
    expect(inARow({ addresses: free }, claiming, later, later)).toEqual(['proven', 'not-proven', 'names-another']);
  });

  it('a node that no instance stands for is unknown, one of no source, and one that is gone', () => {
    const gone = { ...grounds({ machines: [node2] }), nodes: new Set(['node-2']) };
    expect(judge({}, gone).verdict).toBe('unknown');
    expect(judge({}, grounds({ machines: [node2] })).verdict).toBe('not-proven');
    expect(judge({ addresses: ['10.0.0.2'] }, gone).verdict).toBe('not-proven');
    // Deleting its machine gives nothing back.
    expect(inARow({ addresses: ['10.0.0.2'] }, grounds(), grounds(), gone).at(-1)).toBe('names-another');
    const onlyEc2 = [{ ...DEFAULT_POLICY, evidence: ['ec2' as const] }];
    expect(judge({ addresses: ['10.0.0.77'] }, grounds(FLEET, onlyEc2)).verdict).toBe('unknown');
    const node = 'fargate-ip-10-0-0-9';
    const fargate = certificate({ commonName: `system:node:${node}`, dnsNames: [], addresses: ['10.0.0.9'] });
    expect(judgeIssued(fargate, { requester: `system:node:${node}`, ofNodes: true }, grounds()).verdict).toBe(
      'unknown',
    );
  });

  it('a machine that is called like a Service in a domain of its own takes no name from one', () => {
    const own = ['node-1.svc.corp.com', 'node-1.rack-2.svc.corp.com'];
    const given = grounds({ machines: [machine('node-1', { InternalIP: ['10.0.0.1'], InternalDNS: own })] });
    expect(judge({ dnsNames: own.slice(0, 1) }, given).verdict).toBe('proven');
    expect(judge({ dnsNames: own }, given).verdict).toBe('not-proven');
    expect(judge({ dnsNames: ['web.shop.svc.corp.com'] }, given).verdict).toBe('names-another');
  });

  it('without a policy for the cluster the built-in one counts, of several the one that proves', () => {
    const elsewhere = { ...DEFAULT_POLICY, clusters: ['oslo'], evidence: ['node' as const] };
    const onlyEc2 = { ...DEFAULT_POLICY, evidence: ['ec2' as const] };
    for (const policies of [[], [elsewhere], [onlyEc2, DEFAULT_POLICY]])
      expect(judge({}, grounds(FLEET, policies)).verdict).toBe('proven');
  });

  it('proves no reserved name, whatever lists it, and shows all', () => {
    const listed = machine('node-1', { InternalIP: ['10.0.0.1', '10.96.0.9'], Hostname: ['localhost'] });
    const change = { dnsNames: ['node-1', 'localhost'], addresses: ['10.0.0.1', '10.96.0.9'] };
    expect(judge(change, grounds({ machines: [listed] })).names.map(({ name, proven }) => [name, proven])).toEqual([
      ['node-1', true],
      ['localhost', false],
      ['10.0.0.1', true],
      ['10.96.0.9', false],
    ]);
  });

  it('names another only if a live object has it, and no failed read makes a verdict milder', () => {
    const name = fc.constantFrom('node-1', 'node-2', 'node-3', 'web', '10.0.0.1', '10.0.0.2', '10.0.0.77');
    const names = fc.array(name, { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(names, fc.array(fc.constantFrom('read', 'unread', 'empty'), { maxLength: 6 }), (all, audits) => {
        const change = {
          dnsNames: all.filter((one) => !one.startsWith('10.')),
          addresses: all.filter((one) => one.startsWith('10.')),
        };
        const given = { read: grounds(), unread: unread(), empty: grounds({ machines: [] }) };
        const verdicts = inARow(change, ...audits.map((audit) => given[audit]));
        const worse = ISSUED_VERDICTS.slice(0, 2);
        for (const [index, verdict] of verdicts.entries()) {
          const before = verdicts[index - 1];
          const isAllowed = {
            empty: verdict !== 'names-another',
            unread: verdict === (before !== undefined && worse.includes(before) ? before : 'unknown'),
            read: (verdict === 'proven') === all.every((one) => one === 'node-1' || one === '10.0.0.1'),
          };
          expect(isAllowed[audits[index] ?? 'read']).toBe(true);
        }
      }),
      { seed: 19, numRuns: 500 },
    );
  });
});

it('only the node itself may have asked', () => {
  const verdict = (requester: string, ofNodes = true) =>
    judgeIssued(certificate(), { requester: requester, ofNodes: ofNodes }, grounds()).verdict;
  expect(verdict('system:node:node-1')).toBe('proven');
  for (const requester of ['alice', 'oidc:people:node-1', 'system:node:node-2', 'system:node:'])
    expect(verdict(requester)).toBe('names-another');
  expect(verdict('system:node:node-1', false)).toBe('names-another');
});

describe('what a kubelet shows', () => {
  const shown = (
    change: Partial<Certificate>,
    address: string,
    given = grounds(),
    keyProven = true,
    last?: IssuedObservation,
  ) => judgeIssued(certificate(change), { node: 'node-1', address, keyProven }, given, last);
  const ofNode2 = { commonName: 'system:node:node-2', dnsNames: ['node-2'], addresses: ['10.0.0.2'] };

  it.each<[string, Partial<Certificate>, string, IssuedVerdict]>([
    ['its own', {}, '10.0.0.1', 'proven'],
    ['one of the node that has the address by now', ofNode2, '10.0.0.2', 'proven'],
    ['one of another node at an address that no one has', ofNode2, '10.0.0.99', 'unknown'],
    ['one of another node that names this one', { commonName: 'system:node:node-2' }, '10.0.0.1', 'names-another'],
    ['one that names no node', { commonName: 'web' }, '10.0.0.1', 'not-proven'],
  ])('%s', (_, change, address, verdict) => {
    expect(shown(change, address).verdict).toBe(verdict);
  });

  it('one of another node, with its key, is in the wrong place if two audits see it', () => {
    const first = shown(ofNode2, '10.0.0.1');
    expect(first).toMatchObject({ verdict: 'not-proven', why: expect.stringContaining('node-1 should be') });
    expect(shown(ofNode2, '10.0.0.1', grounds(), true, first).verdict).toBe('names-another');
    expect(shown(ofNode2, '10.0.0.1', grounds(), false, first).verdict).toBe('unknown');
    expect(shown(ofNode2, '10.0.0.1', unread(), true, first)).toMatchObject({ ...first, names: expect.anything() });
    const gone = machine('node-1', { InternalIP: ['10.0.0.1'] });
    Object.assign(gone.metadata, { deletionTimestamp: '2026-11-21T09:59:00Z' });
    expect(shown(ofNode2, '10.0.0.1', grounds({ machines: [gone, FLEET.machines![1]!] }), true, first).verdict).toBe(
      'unknown',
    );
  });
});
