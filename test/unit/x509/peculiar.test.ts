import { createPrivateKey, X509Certificate } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { decodeCertificateRequest } from '../../../lambdas/x509/decode-certificate-request.ts';
import { verifyRequestSignature } from '../../../lambdas/x509/verify-signature.ts';
import {
  createCertificateAuthority,
  createCertificateRequest,
  createKeyPair,
  issuePair,
  type KeyKind,
} from '../../peculiar.ts';

const validity = { notBefore: new Date('2026-01-01T00:00:00Z'), notAfter: new Date('2027-01-01T00:00:00Z') };

describe.each<KeyKind>(['P-256', 'P-384', 'RSA-2048', 'Ed25519'])('%s', (kind) => {
  it('makes requests that decode to what was asked for', async () => {
    const request = await createCertificateRequest({
      commonName: 'system:node:node-1',
      organizations: ['system:nodes'],
      dnsNames: ['node-1.example.com'],
      ipAddresses: ['10.0.0.1', 'fe80::1'],
      keys: await createKeyPair(kind),
    });
    const result = decodeCertificateRequest(Buffer.from(request));
    if (!result.ok) throw new Error(result.refusal.message);
    expect(result.request.subject.map((rdn) => rdn.map(({ value }) => value))).toEqual([
      ['system:nodes'],
      ['system:node:node-1'],
    ]);
    expect(result.request.subjectAltNames).toEqual([
      { kind: 'dNSName', value: 'node-1.example.com' },
      { kind: 'iPAddress', value: '10.0.0.1' },
      { kind: 'iPAddress', value: 'fe80::1' },
    ]);
    expect(verifyRequestSignature(result.request)).toEqual({ valid: true });
  });

  it('issues certificates that OpenSSL reads and chains', async () => {
    const keys = await createKeyPair(kind);
    const authority = await createCertificateAuthority({
      commonName: 'kubernetes',
      keys: await createKeyPair(kind),
      ...validity,
    });
    const { cert, key } = await issuePair(authority, { commonName: 'node-1', dnsNames: ['node-1'], keys, ...validity });
    const issued = new X509Certificate(cert);
    const issuer = new X509Certificate(authority.certificate);
    expect(issued.checkIssued(issuer)).toBe(true);
    expect(issued.verify(issuer.publicKey)).toBe(true);
    expect(issued.checkPrivateKey(createPrivateKey(key))).toBe(true);
    expect(issued.checkHost('node-1')).toBe('node-1');
    expect(issued.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1']);
    expect([issued.validFromDate, issued.validToDate]).toEqual([validity.notBefore, validity.notAfter]);
    expect([issuer.ca, issued.ca]).toEqual([true, false]);
  });
});

it('text is put into a name as it stands', async () => {
  const commonName = 'a"b\\c, O=system:masters';
  const request = await createCertificateRequest({ commonName, keys: await createKeyPair('P-256') });
  expect(decodeCertificateRequest(Buffer.from(request))).toMatchObject({
    ok: true,
    request: { subject: [[{ stringType: 'UTF8String', value: commonName }]] },
  });
});
