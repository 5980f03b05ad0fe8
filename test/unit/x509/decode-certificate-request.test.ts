import { describe, expect, it } from 'vitest';
import { decodeCertificateRequest } from '../../../lambdas/x509/decode-certificate-request.ts';
import { functionCalls } from '../function-calls.ts';
import {
  bitString,
  boolean,
  constructed,
  indefiniteLength,
  integer,
  nonMinimalLength,
  nullValue,
  octetString,
  oid,
  sequence,
  setOf,
  TAG,
  tlv,
} from './der-writer.ts';
import { decoded, type Refused, refusalOf } from './reading.ts';
import {
  extension,
  extensionRequest,
  generalName,
  keyPair,
  makeRequest,
  name,
  OID,
  type RequestOptions,
  type San,
  subjectAltName,
  toPem,
} from './request-factory.ts';

const dns = (value: string): San => ({ kind: 'dNSName', value });
const withValues = (...values: readonly Buffer[]): RequestOptions => ({
  attributes: [sequence(oid(OID.extensionRequest), setOf(...values))],
});
const info = (...elements: readonly Buffer[]): Buffer =>
  sequence(sequence(...elements), sequence(oid('1.2.840.10045.4.3.2')), bitString(Buffer.alloc(8)));

describe('a request like a kubelet sends', () => {
  const { der, pem } = makeRequest({ sans: [dns('node-1'), { kind: 'iPAddress', value: '10.0.0.1' }] });
  const result = decodeCertificateRequest(pem);

  it('is read whole', () => {
    expect(result).toMatchObject({
      ok: true,
      request: {
        subject: [
          [{ oid: '2.5.4.10', stringType: 'PrintableString', value: 'system:nodes' }],
          [{ oid: '2.5.4.3', stringType: 'PrintableString', value: 'system:node:node-1' }],
        ],
        extensions: [{ oid: '2.5.29.17', critical: false }],
        subjectAltNames: [
          { kind: 'dNSName', value: 'node-1' },
          { kind: 'iPAddress', value: '10.0.0.1' },
        ],
        publicKey: { kind: 'ECDSA', curve: 'P-256' },
        signatureAlgorithm: '1.2.840.10045.4.3.2',
      },
    });
  });

  it('yields the bytes that are signed, the key and the signature as they stand', () => {
    if (!result.ok) throw new Error(result.refusal.message);
    const { toBeSigned, publicKeyInfo, signature } = result.request;
    const algorithm = sequence(oid('1.2.840.10045.4.3.2'));
    expect(sequence(toBeSigned, algorithm, bitString(signature)).equals(der)).toBe(true);
    expect(keyPair('p256').publicKeyInfo.equals(publicKeyInfo)).toBe(true);
  });
});

describe('attributes and extensions', () => {
  it('there may be none', () => {
    expect(decoded({ sans: [] })).toMatchObject({ extensions: [], subjectAltNames: [] });
  });

  it('every extension is listed, in order', () => {
    const others = [
      extension(OID.basicConstraints, sequence(boolean(true)), true),
      extension(OID.keyUsage, bitString(Buffer.from([0x80]), 7)),
    ];
    expect(decoded({ extensions: others }).extensions).toEqual([
      { oid: '2.5.29.17', critical: false },
      { oid: '2.5.29.19', critical: true },
      { oid: '2.5.29.15', critical: false },
    ]);
  });

  const san = subjectAltName([dns('node-1')]);
  const otherSan = subjectAltName([dns('kubernetes')]);
  const constraints = extension(OID.basicConstraints, sequence(boolean(true)), true);
  const challenge = sequence(oid(OID.challengePassword), setOf(tlv(TAG.utf8String, Buffer.from('secret'))));
  const explicitFalse = sequence(oid(OID.subjectAltName), boolean(false), octetString(sequence(generalName(dns('n')))));
  const criticalOne = sequence(oid(OID.subjectAltName), tlv(TAG.boolean, Buffer.from([1])), octetString(sequence()));
  const refused: readonly Refused[] = [
    [
      'two subjectAltName extensions',
      { extensions: [otherSan] },
      'DuplicateExtension: subjectAltName extension: 2 found, 1 allowed',
    ],
    [
      'three subjectAltName extensions',
      { extensions: [otherSan, san] },
      'DuplicateExtension: subjectAltName extension: 3 found, 1 allowed',
    ],
    [
      'two basicConstraints extensions',
      { extensions: [constraints, constraints] },
      'DuplicateExtension: extension 2.5.29.19: 2 found, 1 allowed',
    ],
    [
      'two extensionRequest attributes',
      { attributes: [extensionRequest(san), extensionRequest(constraints)] },
      'DuplicateAttribute: extensionRequest attribute: more than 1 found, 1 allowed',
    ],
    [
      'two values of extensionRequest',
      withValues(sequence(san), sequence(constraints)),
      'DuplicateAttribute: extensionRequest attribute: more than 1 value found, 1 allowed',
    ],
    ['no value of extensionRequest', withValues(), 'UnexpectedStructure: extensionRequest attribute: missing'],
    ['no extension requested', withValues(sequence()), 'UnexpectedStructure: extensions: 0 found, at least 1 expected'],
    [
      'a challengePassword',
      { attributes: [challenge] },
      'UnexpectedStructure: attributes: 1.2.840.113549.1.9.7 found, only extensionRequest is allowed',
    ],
    [
      'a challengePassword after extensionRequest',
      { attributes: [extensionRequest(san), challenge] },
      'UnexpectedStructure: attributes: 1.2.840.113549.1.9.7 found, only extensionRequest is allowed',
    ],
    [
      'the attribute of another vendor',
      { attributes: [sequence(oid('1.3.6.1.4.1.311.2.1.14'), setOf(sequence(san)))] },
      'UnexpectedStructure: attributes: 1.3.6.1.4.1.311.2.1.14 found, only extensionRequest is allowed',
    ],
    [
      'values that are no SET',
      { attributes: [sequence(oid(OID.extensionRequest), sequence(sequence(san)))] },
      'UnexpectedStructure: extensionRequest attribute: tag 0x31 expected, 0x30 found',
    ],
    [
      'an attribute of three elements',
      { attributes: [sequence(oid(OID.extensionRequest), setOf(sequence(san)), nullValue())] },
      'TrailingData: extensionRequest attribute: 2 bytes follow its last element',
    ],
    [
      'an attribute that is no SEQUENCE',
      { attributes: [nullValue()] },
      'UnexpectedStructure: attributes: tag 0x30 expected, 0x05 found',
    ],
    [
      'critical FALSE written out',
      { sans: [], extensions: [explicitFalse] },
      'NotDer: extension 2.5.29.17: critical FALSE is written out, DER leaves a default out',
    ],
    [
      'critical 01',
      { sans: [], extensions: [criticalOne] },
      'NotDer: extension 2.5.29.17: a BOOLEAN that is neither 00 nor FF',
    ],
    [
      'an extension without value',
      { extensions: [sequence(oid(OID.keyUsage))] },
      'UnexpectedStructure: extension 2.5.29.15: missing',
    ],
    [
      'an extension whose value is no OCTET STRING',
      { extensions: [sequence(oid(OID.keyUsage), nullValue())] },
      'UnexpectedStructure: extension 2.5.29.15: tag 0x04 expected, 0x05 found',
    ],
    [
      'an extension of four elements',
      { extensions: [sequence(oid(OID.keyUsage), boolean(true), octetString(nullValue()), nullValue())] },
      'TrailingData: extension 2.5.29.15: 2 bytes follow its last element',
    ],
  ];
  it.each(refused)('%s is refused', (_, options, refusal) => {
    expect(refusalOf(makeRequest(options).pem)).toBe(refusal);
  });
});

describe('the whole', () => {
  const { der } = makeRequest();
  const { publicKeyInfo } = keyPair('p256');
  const subject = name([[{ oid: OID.commonName, value: 'system:node:node-1' }]]);
  const body = der.subarray(2 + (der[1]! & 0x7f));
  const refused: readonly [string, Buffer, string][] = [
    ['nothing but a NULL', nullValue(), 'UnexpectedStructure: CertificationRequest: tag 0x30 expected, 0x05 found'],
    [
      'a byte after the request',
      Buffer.concat([der, Buffer.alloc(1)]),
      'TrailingData: CertificationRequest: 1 bytes follow its last element',
    ],
    [
      'two requests',
      Buffer.concat([der, der]),
      `TrailingData: CertificationRequest: ${der.length} bytes follow its last element`,
    ],
    [
      'an indefinite length',
      indefiniteLength(TAG.sequence, body),
      'NotDer: CertificationRequest: indefinite length at byte 0',
    ],
    [
      'a length in non-minimal form',
      nonMinimalLength(TAG.sequence, body),
      'NotDer: CertificationRequest: a length in non-minimal form at byte 0',
    ],
    [
      'a certificate request without attributes',
      info(integer(0), subject, publicKeyInfo),
      'UnexpectedStructure: attributes: missing',
    ],
    [
      'attributes with another tag',
      info(integer(0), subject, publicKeyInfo, constructed(1)),
      'UnexpectedStructure: attributes: tag 0xa0 expected, 0xa1 found',
    ],
    [
      'something after the attributes',
      info(integer(0), subject, publicKeyInfo, constructed(0), nullValue()),
      'TrailingData: CertificationRequestInfo: 2 bytes follow its last element',
    ],
    [
      'no public key',
      info(integer(0), subject, constructed(0)),
      'UnexpectedStructure: public key: tag 0x30 expected, 0xa0 found',
    ],
    [
      'version 1',
      makeRequest({ version: 1 }).der,
      'UnsupportedVersion: version: only 0 exists (RFC 2986), another number found',
    ],
    [
      'version 128',
      info(tlv(TAG.integer, Buffer.from([0, 0x80])), subject, publicKeyInfo, constructed(0)),
      'UnsupportedVersion: version: only 0 exists (RFC 2986), another number found',
    ],
    [
      'version 256',
      info(tlv(TAG.integer, Buffer.from([1, 0])), subject, publicKeyInfo, constructed(0)),
      'UnsupportedVersion: version: only 0 exists (RFC 2986), another number found',
    ],
    [
      'version 0 in two octets',
      info(tlv(TAG.integer, Buffer.alloc(2)), subject, publicKeyInfo, constructed(0)),
      'NotDer: version: an INTEGER in non-minimal form',
    ],
    [
      'something after the signature',
      sequence(der.subarray(der.length - body.length), nullValue()),
      'TrailingData: CertificationRequest: 2 bytes follow its last element',
    ],
    [
      'no version',
      info(subject, publicKeyInfo, constructed(0)),
      'UnexpectedStructure: version: tag 0x02 expected, 0x30 found',
    ],
  ];
  it.each(refused)('%s is refused', (_, bytes, refusal) => {
    expect(refusalOf(toPem(bytes))).toBe(refusal);
  });

  const signatures: readonly Refused[] = [
    [
      'ECDSA with parameters',
      { signatureAlgorithm: sequence(oid('1.2.840.10045.4.3.2'), nullValue()) },
      'TrailingData: signatureAlgorithm: 2 bytes follow its last element',
    ],
    [
      'Ed25519 with parameters',
      { key: 'ed25519', signatureAlgorithm: sequence(oid('1.3.101.112'), nullValue()) },
      'TrailingData: signatureAlgorithm: 2 bytes follow its last element',
    ],
    [
      'RSA with parameters other than NULL',
      { key: 'rsa2048', signatureAlgorithm: sequence(oid('1.2.840.113549.1.1.11'), sequence()) },
      'UnexpectedStructure: signatureAlgorithm: tag 0x05 expected, 0x30 found',
    ],
    ['algorithm without OID', { signatureAlgorithm: sequence() }, 'UnexpectedStructure: signatureAlgorithm: missing'],
    [
      'an unknown algorithm with two parameters',
      { signatureAlgorithm: sequence(oid('1.2.3'), nullValue(), nullValue()) },
      'TrailingData: signatureAlgorithm: 2 bytes follow its last element',
    ],
  ];
  it.each(signatures)('%s is refused', (_, options, refusal) => {
    expect(refusalOf(makeRequest(options).pem)).toBe(refusal);
  });

  it('RSA may leave NULL out of the signature algorithm', () => {
    const signatureAlgorithm = sequence(oid('1.2.840.113549.1.1.11'));
    expect(decoded({ key: 'rsa2048', signatureAlgorithm }).signatureAlgorithm).toBe('1.2.840.113549.1.1.11');
  });

  it('an unknown signature algorithm is reported, not judged', () => {
    expect(decoded({ signatureAlgorithm: sequence(oid('1.2.3'), sequence()) }).signatureAlgorithm).toBe('1.2.3');
  });

  it('a signature that is not whole octets is refused', () => {
    const partial = sequence(
      sequence(integer(0), subject, publicKeyInfo, constructed(0)),
      sequence(oid('1.3.101.112')),
      bitString(Buffer.alloc(64), 3),
    );
    const refusal = 'UnexpectedStructure: signature: a BIT STRING that is not a whole number of octets';
    expect(refusalOf(toPem(partial))).toBe(refusal);
  });

  it('1 MiB is refused unread', () => {
    const { pem } = makeRequest({ commonName: 'n'.repeat(1024 * 1024) });
    expect(refusalOf(pem)).toBe(`TooLarge: the request: ${pem.length} bytes found, 65536 allowed`);
  });
});

const fill = (unit: Buffer): Buffer => Buffer.alloc(Math.floor(40_000 / unit.length) * unit.length, unit);
const commonNameOf = (value: Buffer): RequestOptions => ({ subject: [setOf(sequence(oid(OID.commonName), value))] });

describe('the worst 64 KiB take a few function calls a byte', () => {
  const [begin, end] = ['-----BEGIN CERTIFICATE REQUEST-----', '-----END CERTIFICATE REQUEST-----'];
  const rdn = setOf(sequence(oid(OID.commonName), tlv(TAG.utf8String)));
  const nested = Array.from({ length: 10_000 }).reduce<Buffer>((inner) => sequence(inner), nullValue());
  const address: San = { kind: 'iPAddress', value: 'fe80::1' };
  const shapes: readonly [string, Buffer][] = [
    ['one character a line', Buffer.from(`${begin}\n${'A\n'.repeat(32_000)}${end}\n`)],
    ['10,000 values in one another', makeRequest(commonNameOf(nested)).pem],
    ['thousands of RDNs', makeRequest({ subject: [fill(rdn)] }).pem],
    ['one RDN with thousands of attributes', makeRequest({ subject: [tlv(TAG.set, fill(rdn.subarray(2)))] }).pem],
    ['thousands of extensions', makeRequest({ extensions: [fill(extension('1.2.3', nullValue()))] }).pem],
    ['thousands of values in a value', makeRequest(commonNameOf(sequence(fill(nullValue())))).pem],
    ['a long BMPString', makeRequest(commonNameOf(tlv(TAG.bmpString, fill(Buffer.from([0, 0x61]))))).pem],
    ['thousands of names', makeRequest({ sans: [fill(generalName(dns('')))] }).pem],
    ['1,024 IPv6 addresses', makeRequest({ sans: Array.from({ length: 1024 }, () => address) }).pem],
  ];
  it.each(shapes)('%s', (_, pem) => {
    expect(pem.length).toBeLessThanOrEqual(65_536);
    expect(functionCalls(() => decodeCertificateRequest(pem))).toBeLessThan(6 * pem.length);
  });
});
