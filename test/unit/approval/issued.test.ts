import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SourceReading } from '../../../lambdas/approval/evidence/evidence.ts';
import { indexEvidence } from '../../../lambdas/approval/evidence/evidence.ts';
import {
  claimOf,
  claimOfRequest,
  type IssuedGrounds,
  judgeIssued,
  judgeShown,
} from '../../../lambdas/approval/issued.ts';
import { DEFAULT_POLICY } from '../../../lambdas/approval/policy.ts';
import { ISSUED_VERDICTS, type IssuedVerdict } from '../../../lambdas/tables/issued-verdicts.ts';
import type { Certificate } from '../../../lambdas/x509/certificate.ts';
import { BERLIN, evidenceFor, machine, type Sources } from './fixtures.ts';

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

const FLEET: Sources = {
  machines: [machine('node-1', { InternalIP: ['10.0.0.1'] }), machine('node-2', { InternalIP: ['10.0.0.2'] })],
};
const CLUSTER = { ...BERLIN, serviceCidrs: ['10.96.0.0/12'], endpoints: ['api.berlin.example.com', '10.0.0.250'] };

function grounds(sources: Sources = FLEET, change: Partial<IssuedGrounds> = {}): IssuedGrounds {
  return { cluster: CLUSTER, evidence: evidenceFor(CLUSTER, sources), policies: [DEFAULT_POLICY], now: NOW, ...change };
}

const UNREAD: SourceReading = { source: 'machine', ok: false, problem: 'forbidden', remedy: 'Grant it.' };
const unread = () => grounds({}, { evidence: indexEvidence([UNREAD]) });

function judge(change: Partial<Certificate>, given = grounds(), before?: { verdict: IssuedVerdict; why?: string }) {
  return judgeIssued(claimOf(certificate(change), 'node-1'), given, before);
}

describe('judgeIssued', () => {
  it.each<[string, Partial<Certificate>, IssuedVerdict, RegExp | undefined]>([
    ['its own names', {}, 'proven', undefined],
    ['its own names and a large RSA key', { key: 'RSA-4096' }, 'proven', undefined],
    ['the name of another node', { dnsNames: ['node-1', 'node-2'] }, 'names-another', /node-2/],
    ['the address of another node', { addresses: ['10.0.0.2'] }, 'names-another', /10\.0\.0\.2 belongs to node-2/],
    ['an address that no one has', { addresses: ['10.0.0.77'] }, 'not-proven', /10\.0\.0\.77/],
    ['an address of a Service', { addresses: ['10.96.0.1'] }, 'names-another', /service CIDR/],
    ['the name of a Service', { dnsNames: ['web.shop.svc'] }, 'names-another', /a Service/],
    ['the name of the API server', { dnsNames: ['kubernetes'] }, 'names-another', /the API server/],
    ['the address of the endpoint', { addresses: ['10.0.0.250'] }, 'not-proven', /API endpoint/],
    ['a wildcard', { dnsNames: ['*.example.com'] }, 'names-another', /wildcard/],
    ['a certificate of another node', { commonName: 'system:node:node-2' }, 'names-another', /node-2/],
    ['no common name', { commonName: undefined }, 'names-another', /it is for none/],
    ['another organization', { organizations: ['system:masters'] }, 'names-another', /system:masters/],
    ['one organization more', { organizations: ['system:nodes', 'system:masters'] }, 'names-another', /masters/],
    ['an authority', { isAuthority: true }, 'names-another', /authority/],
    ['client authentication too', { extendedKeyUsages: [SERVER_AUTH, CLIENT_AUTH] }, 'not-proven', /server auth/],
    ['no usage, so any', { extendedKeyUsages: undefined }, 'not-proven', /server auth/],
    ['an e-mail address', { otherNames: true }, 'not-proven', /neither DNS names nor addresses/],
    ['no name', { dnsNames: [], addresses: [] }, 'not-proven', /no name/],
    ['a weak key', { weakKey: 'RSA of 1024 bits; 2048 are the least' }, 'not-proven', /weak/],
    ['a key that the policy does not allow', { key: 'brainpoolP256r1' }, 'not-proven', /brainpoolP256r1/],
  ])('%s', (_, change, verdict, why) => {
    const judged = judge(change);
    expect(judged.verdict).toBe(verdict);
    expect(judged.why ?? '').toMatch(why ?? /^$/);
  });

  it.each<[string, IssuedVerdict | undefined, IssuedVerdict]>([
    ['for the first time', undefined, 'unknown'],
    ['after it was proven', 'proven', 'proven'],
    ['after it named another', 'names-another', 'names-another'],
    ['after it was not proven', 'not-proven', 'not-proven'],
  ])('what cannot be read changes no verdict: %s', (_, before, verdict) => {
    const told = before === undefined ? undefined : { verdict: before, why: 'of before' };
    expect(judge({ addresses: ['10.0.0.2'] }, unread(), told).verdict).toBe(verdict);
  });

  it('content that no evidence makes right needs none', () => {
    expect(judge({ isAuthority: true }, unread()).verdict).toBe('names-another');
    expect(judge({ dnsNames: ['kubernetes'] }, unread()).verdict).toBe('names-another');
  });

  it.each<[string, Partial<Certificate>, number, IssuedVerdict]>([
    ['no evidence yet', { addresses: ['10.0.0.77'] }, 5, 'unknown'],
    ['no evidence after a while', { addresses: ['10.0.0.77'] }, 25, 'not-proven'],
    ["another's address, which may just have moved", { addresses: ['10.0.0.2'] }, 5, 'not-proven'],
    ["another's address after a while", { addresses: ['10.0.0.2'] }, 25, 'names-another'],
    ["another's name, which does not move", { dnsNames: ['node-2'] }, 5, 'names-another'],
  ])('%s', (_, change, minutes, verdict) => {
    expect(judge({ ...change, notBefore: NOW - minutes * 60_000 }).verdict).toBe(verdict);
  });

  it.each<IssuedVerdict>(['proven', 'no-longer-proven'])(
    'what was proven before is no longer, at worst: %s',
    (before) => {
      expect(judge({ addresses: ['10.0.0.2'] }, grounds(), { verdict: before }).verdict).toBe('no-longer-proven');
      expect(judge({ dnsNames: ['node-2'] }, grounds(), { verdict: before }).verdict).toBe('no-longer-proven');
      expect(judge({}, grounds(), { verdict: before }).verdict).toBe('proven');
    },
  );

  it('a Machine that lists an address too is a doubt, and no crime', () => {
    const both = [
      machine('node-1', { InternalIP: ['10.0.0.1', '10.0.0.2'] }),
      machine('node-2', { InternalIP: ['10.0.0.2'] }),
    ];
    expect(judge({ addresses: ['10.0.0.2'] }, grounds({ machines: both })).verdict).toBe('not-proven');
  });

  it('a node without any evidence is no crime', () => {
    const others = [machine('node-2', { InternalIP: ['10.0.0.2'] })];
    expect(judge({ addresses: ['10.0.0.2'] }, grounds({ machines: others })).verdict).toBe('not-proven');
  });

  it('what only a renewal can prove is unknown, and so is a node that no instance stands for', () => {
    const renewal = { ...DEFAULT_POLICY, evidence: [...DEFAULT_POLICY.evidence, 'renewal' as const] };
    expect(judge({ addresses: ['10.0.0.77'] }, grounds(FLEET, { policies: [renewal] })).verdict).toBe('unknown');
    const fargate = claimOf(
      certificate({ commonName: 'system:node:fargate-ip-10-0-0-9', dnsNames: [], addresses: ['10.0.0.9'] }),
      'fargate-ip-10-0-0-9',
    );
    expect(judgeIssued(fargate, grounds()).verdict).toBe('unknown');
  });

  it('without a policy for the cluster the built-in one counts', () => {
    expect(judge({}, grounds(FLEET, { policies: [] })).verdict).toBe('proven');
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
        const told = verdict === undefined ? undefined : { verdict };
        expect(judge(change, grounds({ machines: [] }), told).verdict).not.toBe(
          verdict === 'names-another' ? '' : 'names-another',
        );
        expect(judge(change, unread(), told).verdict).toBe(verdict ?? 'unknown');
        const others = names.filter((one) => one !== 'node-1' && one !== '10.0.0.1');
        expect(judge(change).verdict === 'proven').toBe(others.length === 0);
      }),
      { seed: 19, numRuns: 500 },
    );
  });
});

describe('claimOfRequest', () => {
  it('only the node itself may have asked', () => {
    const ok = judgeIssued(claimOfRequest(certificate(), 'system:node:node-1'), grounds());
    expect(ok).toEqual({ verdict: 'proven' });
    for (const requester of ['alice', 'system:serviceaccount:a:b', 'system:node:node-2'])
      expect(judgeIssued(claimOfRequest(certificate(), requester), grounds()).verdict).toBe('names-another');
  });
});

describe('judgeShown', () => {
  const shown = (change: Partial<Certificate>, address: string, keyProven = true, sources = FLEET) =>
    judgeShown(certificate(change), { node: 'node-1', address, keyProven }, grounds(sources)).verdict;
  const ofNode2 = { commonName: 'system:node:node-2', dnsNames: ['node-2'], addresses: ['10.0.0.2'] };

  it.each<[string, Partial<Certificate>, string, boolean, IssuedVerdict]>([
    ['its own', {}, '10.0.0.1', true, 'proven'],
    ['one of another node, with its key', ofNode2, '10.0.0.1', true, 'names-another'],
    ['one of another node, without its key', ofNode2, '10.0.0.1', false, 'unknown'],
    ['one of the node that has the address by now', ofNode2, '10.0.0.2', true, 'proven'],
    ['one of another node at an address that no one has', ofNode2, '10.0.0.99', true, 'unknown'],
    [
      'one that names another node and has its own names',
      { commonName: 'system:node:node-2' },
      '10.0.0.1',
      true,
      'names-another',
    ],
    ['one that names no node', { commonName: 'web' }, '10.0.0.1', true, 'names-another'],
  ])('%s', (_, change, address, keyProven, verdict) => {
    expect(shown(change, address, keyProven)).toBe(verdict);
  });
});
