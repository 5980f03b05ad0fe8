import { describe, expect, it } from 'vitest';
import { ownerFromServedCertificate } from '../../../../lambdas/approval/evidence/renewal.ts';
import type { Certificate, DecodedCertificate } from '../../../../lambdas/x509/certificate.ts';
import { NOW } from '../fixtures.ts';
import {
  authority,
  CLUSTER_CA,
  certificatesIn,
  OTHER_CA,
  renewalProof,
  type Served,
  servingCertificate,
} from '../served-certificate-fixtures.ts';

const trusted = certificatesIn(CLUSTER_CA.certificate);
const [good] = certificatesIn(await servingCertificate({ dnsNames: ['Node-1'], ipAddresses: ['10.0.0.1', 'fd00::1'] }));
if (good === undefined) throw new Error('no certificate');
const prove = (chain: readonly DecodedCertificate[], authorities = trusted, now = NOW) =>
  ownerFromServedCertificate({ node: 'node-1', where: '10.0.0.1:10250', chain }, authorities, now);
const changed = (change: Partial<Certificate>) => prove([{ ok: true, certificate: { ...good, ...change } }]);

describe('ownerFromServedCertificate', () => {
  it('gives the node the names of its certificate, in canonical form', () => {
    expect(prove([{ ok: true, certificate: good }])).toEqual({
      ok: true,
      owner: {
        source: 'renewal',
        object: 'certificate that node-1 serves at 10.0.0.1:10250',
        nodes: ['node-1'],
        dnsNames: ['node-1'],
        addresses: ['10.0.0.1', 'fd00::1'],
      },
    });
  });

  it.each<[string, Served, string]>([
    ['that has ended', { until: -1 }, 'expired at 2026-03-01'],
    ['that is not valid yet', { since: 1 }, 'is not valid yet'],
    ['of another authority of the same name', { signedBy: OTHER_CA }, 'is not signed by a CA'],
    ['of another node', { node: 'node-1', commonName: 'system:node:node-2' }, 'is not of system:node:node-1'],
    ['of a node in other letters', { commonName: 'System:Node:node-1' }, 'is not of system:node:node-1'],
    ['of no node', { commonName: 'test.local' }, 'is not of system:node:node-1'],
    ['of a node whose name only begins so', { commonName: 'system:node:node-1.x' }, 'is not of system:node:node-1'],
    ['for clients', { purpose: 'client' }, 'is not for server auth alone'],
    ['of another organization', { organizations: ['system:masters'] }, 'is not of the organization'],
    ['of one more organization', { organizations: ['system:nodes', 'system:masters'] }, 'is not of the organization'],
    ['of no organization', { organizations: [] }, 'is not of the organization'],
    ['without a name', { dnsNames: [], ipAddresses: [] }, 'has no name'],
  ])('takes nothing from a certificate %s', async (_, served, why) => {
    const proof = await renewalProof(served);
    expect(proof.ok ? 'it proves' : proof.why).toContain(why);
    expect(proof.ok ? '' : proof.why).toMatch(/^the certificate that it serves at 10\.0\.0\.1:10250 /);
  });

  it.each<[string, Partial<Certificate>, string]>([
    ['with a name of another kind', { otherNames: true }, 'has names that are neither'],
    ['that is an authority', { isAuthority: true }, 'is a CA'],
    ['with a weak key', { weakKey: 'RSA of 1024 bits' }, 'is weak: RSA of 1024 bits'],
    ['with a weak signature', { weakSignature: 'signed with SHA-1' }, 'is weak: signed with SHA-1'],
    ['for clients too', { extendedKeyUsages: ['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2'] }, 'for server auth alone'],
    ['for anything', { extendedKeyUsages: ['2.5.29.37.0'] }, 'for server auth alone'],
    ['for nothing in particular', { extendedKeyUsages: [] }, 'for server auth alone'],
  ])('takes nothing from a certificate %s', (_, change, why) => {
    const proof = changed(change);
    expect(proof.ok ? 'it proves' : proof.why).toContain(why);
  });

  it('takes nothing from a certificate without usages, or without its one common name', () => {
    const { extendedKeyUsages: _usages, ...anyUse } = good;
    const { commonName: _name, ...nameless } = good;
    expect([anyUse, nameless].map((certificate) => prove([{ ok: true, certificate }]).ok)).toEqual([false, false]);
  });

  it('takes nothing from a self-signed certificate, even where it is trusted', async () => {
    const self = certificatesIn((await authority('system:node:node-1')).certificate);
    const proof = prove(
      self.map((certificate) => ({ ok: true, certificate })),
      self,
    );
    expect(proof).toMatchObject({ ok: false, why: expect.stringContaining('is self-signed') });
  });

  it('wants the signature of an authority that is valid and is one', async () => {
    const [ca] = trusted;
    if (ca === undefined) throw new Error('no authority');
    const leaf: DecodedCertificate = { ok: true, certificate: good };
    expect(prove([leaf], [])).toMatchObject({ ok: false });
    expect(prove([leaf], [{ ...ca, isAuthority: false }])).toMatchObject({ ok: false });
    expect(prove([leaf], [{ ...ca, notAfter: NOW - 1 }])).toMatchObject({ ok: false });
    expect(prove([leaf], [...certificatesIn(OTHER_CA.certificate), ca])).toMatchObject({ ok: true });
  });

  it('believes no chain: the leaf is signed by the authority itself, and what is sent with it does not count', async () => {
    const [stranger] = certificatesIn(await servingCertificate({ signedBy: OTHER_CA }));
    const sent = [stranger, ...certificatesIn(OTHER_CA.certificate), good].flatMap((certificate) =>
      certificate === undefined ? [] : [{ ok: true as const, certificate }],
    );
    expect(prove(sent)).toMatchObject({ ok: false, why: expect.stringContaining('is not signed by') });
  });

  it.each<[string, readonly DecodedCertificate[], string]>([
    ['nothing', [], 'is not a certificate'],
    ['what cannot be read', [{ ok: false, problem: 'not DER' }], 'cannot be read: not DER'],
  ])('takes nothing from %s', (_, chain, why) => {
    expect(prove(chain)).toEqual({ ok: false, why: `what it serves at 10.0.0.1:10250 ${why}` });
  });

  it('counts the first and the last instant of a life in', () => {
    const at = (now: number) => prove([{ ok: true, certificate: good }], trusted, now).ok;
    const { notBefore, notAfter } = good;
    expect([at(notBefore - 1), at(notBefore), at(notAfter), at(notAfter + 1)]).toEqual([false, true, true, false]);
  });
});
