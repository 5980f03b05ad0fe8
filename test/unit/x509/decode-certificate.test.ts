import { generateKeyPairSync, type KeyPairKeyObjectResult, randomBytes, X509Certificate } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Certificate } from '../../../lambdas/x509/certificate.ts';
import { decodeBundle } from '../../../lambdas/x509/certificate-bundle.ts';
import { decodeCertificate } from '../../../lambdas/x509/decode-certificate.ts';
import { isIssuedBy, isSelfSigned, leadsTo } from '../../../lambdas/x509/issued-by.ts';
import { createCertificateAuthority, createKeyPair, issuePair } from '../../peculiar.ts';
import { runs } from '../../runs.ts';
import { functionCalls } from '../function-calls.ts';
import {
  attribute,
  certificate,
  cn,
  generalizedTime,
  name,
  type Parts,
  pem,
  set,
  utcTime,
  utf8,
} from './certificate-writer.ts';
import { oid, sequence, tlv } from './der-writer.ts';
import { extension, rsaKeyInfo } from './request-factory.ts';

/** What Node.js has for keys and signatures. */
const KEYS = /^node:internal\/crypto\/(?:keys|sig|x509) /;

function read(der: Uint8Array): Certificate {
  const decoded = decodeCertificate(der);
  if (!decoded.ok) throw new Error(decoded.problem);
  return decoded.certificate;
}

function problem(der: Uint8Array): string {
  const decoded = decodeCertificate(der);
  if (decoded.ok) throw new Error('it was read');
  return decoded.problem;
}

const made = (parts: Parts) => read(certificate(parts));
const validity = { notBefore: new Date('2026-01-01T00:00:00Z'), notAfter: new Date('2027-01-01T00:00:00Z') };

describe('a kubelet serving certificate', async () => {
  const authority = await createCertificateAuthority({
    commonName: 'kubernetes',
    ...validity,
    keys: await createKeyPair('RSA-2048'),
  });
  const { cert: text } = await issuePair(authority, {
    commonName: 'system:node:worker-3',
    organizations: ['system:nodes'],
    dnsNames: ['Worker-3.'],
    ipAddresses: ['10.0.1.23', 'fd00:0:0:0:0:0:0:1'],
    keys: await createKeyPair('P-384'),
    ...validity,
  });
  const leaf = read(new X509Certificate(text).raw);
  const ca = read(new X509Certificate(authority.certificate).raw);

  test('is read whole', () => {
    expect(leaf).toMatchObject({
      notBefore: validity.notBefore.getTime(),
      notAfter: validity.notAfter.getTime(),
      subject: 'CN=system:node:worker-3,O=system:nodes',
      issuer: 'CN=kubernetes',
      commonName: 'system:node:worker-3',
      organizations: ['system:nodes'],
      isAuthority: false,
      selfIssued: false,
      key: 'P-384',
      dnsNames: ['worker-3'],
      addresses: ['10.0.1.23', 'fd00::1'],
      otherNames: false,
      extendedKeyUsages: ['1.3.6.1.5.5.7.3.1'],
      authorityKeyId: ca.subjectKeyId,
    });
    expect(leaf).not.toHaveProperty('weakKey', expect.anything());
    expect(leaf).not.toHaveProperty('weakSignature', expect.anything());
    expect(ca).toMatchObject({ isAuthority: true, selfIssued: true, key: 'RSA-2048' });
    expect([isSelfSigned(ca), isSelfSigned(leaf)]).toEqual([true, false]);
  });

  test('is told as the OpenSSL of Node.js tells it', () => {
    const { fingerprint256, serialNumber, validTo, subject } = new X509Certificate(text);
    expect(leaf.fingerprint).toBe(fingerprint256.replaceAll(':', '').toLowerCase());
    expect(leaf.serialNumber).toBe(serialNumber.toLowerCase());
    expect(leaf.notAfter).toBe(Date.parse(validTo));
    // RFC 2253 has the last one first.
    expect(leaf.subject).toBe(subject.split('\n').toReversed().join(','));
  });

  test('is issued by its authority, and by no other of the same name', async () => {
    const other = await createCertificateAuthority({
      commonName: 'kubernetes',
      ...validity,
    });
    const impostor = read(new X509Certificate(other.certificate).raw);
    expect(isIssuedBy(leaf, ca)).toBe(true);
    expect(isIssuedBy(ca, ca)).toBe(true);
    expect(isIssuedBy(leaf, impostor)).toBe(false);
    expect(isIssuedBy(ca, leaf)).toBe(false);
    expect(leadsTo(leaf, [], [impostor, ca])).toBe(true);
    expect(leadsTo(leaf, [impostor], [impostor])).toBe(false);
    expect(leadsTo(leaf, [ca], [ca])).toBe(true);
    expect(leadsTo(leaf, [], [leaf])).toBe(true);
  });

  test('keeps nothing of what it came in', () => {
    const der = Buffer.from(new X509Certificate(text).raw);
    const own = read(der);
    der.fill(0);
    expect(own.der.equals(new X509Certificate(text).raw)).toBe(true);
  });
});

describe('times', () => {
  test.each([
    ['the year 9999', generalizedTime('99991231235959Z'), '9999-12-31T23:59:59.000Z'],
    ['2049', utcTime('491231235959Z'), '2049-12-31T23:59:59.000Z'],
    ['1950', utcTime('500101000000Z'), '1950-01-01T00:00:00.000Z'],
    ['before the epoch', generalizedTime('16010101000000Z'), '1601-01-01T00:00:00.000Z'],
    ['year 0', generalizedTime('00000101000000Z'), '0000-01-01T00:00:00.000Z'],
    ['no seconds', utcTime('2601010000Z'), '2026-01-01T00:00:00.000Z'],
    ['a time zone', utcTime('260101000000+0130'), '2025-12-31T22:30:00.000Z'],
    ['a time zone west of it', utcTime('260101000000-0130'), '2026-01-01T01:30:00.000Z'],
    ['fractions', generalizedTime('20260101000000.5Z'), '2026-01-01T00:00:00.000Z'],
    ['a leap day', utcTime('240229000000Z'), '2024-02-29T00:00:00.000Z'],
  ])('%s', (_name, time, expected) => {
    expect(new Date(made({ notAfter: time }).notAfter).toISOString()).toBe(expected);
  });

  test.each([
    ['a day that does not exist', utcTime('260229000000Z'), 'notAfter: 260229000000Z does not exist'],
    ['a leap second', utcTime('261231235960Z'), 'notAfter: 261231235960Z does not exist'],
    ['no time zone', generalizedTime('20260101000000'), 'notAfter: not a time in UTC'],
    ['no time', utf8('soon'), 'notAfter: no time found'],
    ['text', utcTime('tomorrow'), 'notAfter: not a time in UTC'],
  ])('%s is a problem', (_name, time, expected) => {
    expect(problem(certificate({ notAfter: time }))).toBe(expected);
  });
});

describe('names', () => {
  test.each([
    ['NUL', 'a\0b', String.raw`CN=a\00b`, String.raw`a\u{0}b`],
    ['escape sequences', '\u001b[2Jx', String.raw`CN=\u{1b}[2Jx`, String.raw`\u{1b}[2Jx`],
    ['what RFC 4514 escapes', ' a,b+c"d\\e<f>g;h ', String.raw`CN=\ a\,b\+c\"d\\e\<f\>g\;h\ `, undefined],
    ['a number sign', '#a#', String.raw`CN=\#a#`, '#a#'],
    ['letters', 'Zürich 東京', 'CN=Zürich 東京', 'Zürich 東京'],
  ])('%s', (_name, text, subject, commonName = text) => {
    expect(made({ subject: name(cn(text)) })).toMatchObject({ subject, commonName });
  });

  test('several values in one RDN, the most specific RDN first', () => {
    const subject = name(
      set(attribute('2.5.4.6', tlv(0x13, Buffer.from('CH')))),
      set(attribute('2.5.4.10', utf8('a')), attribute('2.5.4.11', utf8('b'))),
      cn('c'),
    );
    expect(made({ subject })).toMatchObject({ subject: 'CN=c,O=a+OU=b,C=CH', organizations: ['a'] });
  });

  test.each([
    ['Latin-1', tlv(0x14, [0x5a, 0xfc]), 'CN=Zü'],
    ['BMPString', tlv(0x1e, [0, 0x61, 0x67, 0x71]), 'CN=a東'],
    ['UniversalString', tlv(0x1c, [0, 0, 0, 0x61]), 'CN=a'],
    ['the last character of Unicode', tlv(0x1c, [0, 0x10, 0xff, 0xff]), 'CN=\u{10ffff}'],
    ['beyond it', tlv(0x1c, [0, 0x11, 0, 0]), 'CN=#1c0400110000'],
    ['UTF8String that is none', tlv(0x0c, [0xff]), 'CN=#0c01ff'],
    ['PrintableString beyond ASCII', tlv(0x13, [0xe9]), 'CN=#1301e9'],
    ['no string at all', sequence(tlv(2, [1])), 'CN=#3003020101'],
  ])('%s', (_name, value, subject) => {
    expect(made({ subject: name(set(attribute('2.5.4.3', value))) }).subject).toBe(subject);
  });

  test('an attribute that has no short name, an empty name, two common names', () => {
    expect(made({ subject: name(set(attribute('1.2.3.4', utf8('x')))) }).subject).toBe('1.2.3.4=#0c0178');
    const empty = made({ subject: name() });
    expect(empty.subject).toBe('');
    const two = made({ subject: name(cn('a'), cn('b')) });
    expect(two.subject).toBe('CN=b,CN=a');
    expect(two).not.toHaveProperty('commonName', expect.anything());
  });

  test('are bounded', () => {
    const long = made({ subject: name(cn('x'.repeat(50_000))) });
    expect(long.subject.length).toBeLessThan(1100);
    expect(long.commonName?.length).toBeLessThan(600);
    const many = Array.from({ length: 1025 }, () => cn('x'));
    expect(problem(certificate({ subject: name(...many) }))).toBe('subject: more than 1024 attributes');
    expect(made({ subject: name(...many.slice(1)) }).subject).toContain('CN=x,');
  });

  test('more alternative names than are kept, and of other kinds', () => {
    const dns = (text: string) => tlv(0x82, Buffer.from(text));
    const san = (...names: Buffer[]) => made({ extensions: [extension('2.5.29.17', sequence(...names))] });
    const many = san(...Array.from({ length: 1100 }, (_, index) => dns(`n${index}`)));
    expect(many.dnsNames).toHaveLength(1024);
    expect(many.otherNames).toBe(true);
    expect([dns('n'.repeat(253)), dns('n'.repeat(254))].map((one) => san(one).otherNames)).toEqual([false, true]);
    expect(made({}).otherNames).toBe(false);
    const mixed = (addresses: number) =>
      san(
        ...Array.from({ length: 1000 }, () => dns('a')),
        ...Array.from({ length: addresses }, () => tlv(0x87, [1, 2, 3, 4])),
      );
    expect([mixed(24).otherNames, mixed(25).otherNames]).toEqual([false, true]);
    expect(san(dns('a\0.example'))).toMatchObject({ dnsNames: [String.raw`a\u{0}.example`], otherNames: false });
    expect(san(tlv(0x86, Buffer.from('spiffe://x')))).toMatchObject({ dnsNames: [], otherNames: true });
    expect(san(tlv(0x87, [1, 2, 3]))).toMatchObject({ addresses: [], otherNames: true });
  });
});

describe('oddities that exist', () => {
  test.each([
    [[0], '00'],
    [[0x7f], '7f'],
    [[0, 0x80], '80'],
    [[0xff], '-01'],
    [[0x80, 0], '-8000'],
    [[0, 0, 1], '01'],
  ])('serial number %j', (serial, expected) => {
    expect(made({ serial }).serialNumber).toBe(expected);
  });

  test('a huge serial number', () => {
    expect(made({ serial: Array.from({ length: 5000 }, () => 1) }).serialNumber).toBe(`${'01'.repeat(64)}…`);
  });

  test('version 1, and a root of that version', () => {
    expect(made({ version: undefined })).toMatchObject({ isAuthority: false, selfIssued: false });
    const root = made({ version: undefined, subject: name(cn('ca')) });
    expect(root).toMatchObject({ isAuthority: true, selfIssued: true });
  });

  test('a BOOLEAN that is 01 is true, and one that is 00 is not', () => {
    const constraints = extension('2.5.29.19', sequence(tlv(1, [1])));
    expect(made({ extensions: [constraints] }).isAuthority).toBe(true);
    const none = extension('2.5.29.19', sequence(tlv(1, [0])));
    expect(made({ extensions: [none] }).isAuthority).toBe(false);
  });

  test('a name that is its own issuer without its key', () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    expect(isSelfSigned(made({ subject: name(cn('ca')), signer: privateKey }))).toBe(false);
  });

  test.each([
    ['of another key', [9], false],
    ['of its own key', [1], true],
    ['of no key', undefined, true],
  ])('a name that is its own issuer with the identifier %s', (_name, authorityKey, selfIssued) => {
    const own = extension('2.5.29.14', tlv(4, [1]));
    const authorityKeyId =
      authorityKey === undefined ? [] : [extension('2.5.29.35', sequence(tlv(0x80, authorityKey)))];
    expect(made({ subject: name(cn('ca')), extensions: [own, ...authorityKeyId] }).selfIssued).toBe(selfIssued);
    expect(made({ extensions: [extension('2.5.29.14', tlv(4, Array<number>(65).fill(1)))] }).subjectKeyId).toHaveLength(
      128,
    );
  });

  test('arcs of 128 bits in object identifiers', () => {
    const uuid = '2.25.329800735698586629295641978511506172918';
    const usage = extension('2.5.29.37', sequence(oid(uuid)));
    expect(made({ extensions: [usage, extension(uuid, utf8('x'))] }).extendedKeyUsages).toEqual([uuid]);
    const usages = (count: number) =>
      extension('2.5.29.37', sequence(...Array.from({ length: count }, () => oid(uuid))));
    expect(made({ extensions: [usages(64)] }).extendedKeyUsages).toHaveLength(64);
    expect(problem(certificate({ extensions: [usages(65)] }))).toMatch(/more than 64 usages/);
  });
});

describe('keys and signatures', () => {
  const spki = (type: string, options: object): Buffer => {
    const { publicKey } = generateKeyPairSync(type as 'ed25519', options as never) as unknown as KeyPairKeyObjectResult;
    return publicKey.export({ format: 'der', type: 'spki' });
  };

  test.each([
    ['rsa', { modulusLength: 512 }, 'RSA-512', 'RSA of 512 bits; at least 2048 are required', false],
    ['rsa', { modulusLength: 1024 }, 'RSA-1024', 'RSA of 1024 bits; at least 2048 are required', true],
    ['rsa', { modulusLength: 2048 }, 'RSA-2048', undefined, true],
    ['rsa', { modulusLength: 2048, publicExponent: 2 ** 31 - 1 }, 'RSA-2048', undefined, true],
    ['rsa', { modulusLength: 2048, publicExponent: 2 ** 31 + 11 }, 'RSA-2048', undefined, false],
    ['rsa-pss', { modulusLength: 2048 }, 'RSA-2048', undefined, true],
    ['ec', { namedCurve: 'P-224' }, 'P-224', 'a curve of about 224 bits; at least 256 are required', true],
    ['ec', { namedCurve: 'P-521' }, 'P-521', undefined, true],
    ['ec', { namedCurve: 'secp256k1' }, 'secp256k1', undefined, true],
    [
      'ec',
      { namedCurve: 'sect163k1' },
      'EC with curve 1.3.132.0.1',
      'a curve of about 168 bits; at least 256 are required',
      false,
    ],
    ['ec', { namedCurve: 'sect571r1' }, 'EC with curve 1.3.132.0.39', undefined, false],
    ['ec', { namedCurve: 'P-256', paramEncoding: 'explicit' }, 'EC with a curve of its own', undefined, false],
    ['ed25519', {}, 'Ed25519', undefined, true],
    ['ed448', {}, 'Ed448', undefined, true],
    ['ml-dsa-65', {}, 'ML-DSA-65', undefined, true],
    ['dsa', { modulusLength: 1024, divisorLength: 160 }, 'DSA-1024', expect.stringContaining('DSA'), false],
  ])('%s %j', (type, options, key, weakKey, verifiesFast) => {
    const { weakKey: weak, ...found } = made({ key: spki(type, options) });
    expect(found).toMatchObject({ key, verifiesFast });
    expect(weak).toEqual(weakKey);
  });

  test.each([
    [[0x01], 'RSA-1'],
    [[0x01, 0x01], 'RSA-9'],
    [[0x7f, 0x01], 'RSA-15'],
    [[0, 0x80, 0x01], 'RSA-16'],
  ])('an RSA modulus of the octets %j', (modulus, key) => {
    const rsa = rsaKeyInfo(Buffer.from(modulus), Buffer.from([3]));
    expect(made({ key: rsa })).toMatchObject({ key });
  });

  test.each([
    [2, 21, 'a curve of about 168 bits; at least 256 are required'],
    [3, 32, undefined],
    [4, 42, 'a curve of about 168 bits; at least 256 are required'],
    [4, 64, undefined],
  ])('a point in form %i with %i octets, of a curve that nobody knows', (form, octets, weakKey) => {
    const algorithm = sequence(oid('1.2.840.10045.2.1'), oid('1.3.132.0.1'));
    const key = sequence(algorithm, tlv(3, [0, form, ...Array<number>(octets).fill(1)]));
    expect(made({ key }).weakKey).toBe(weakKey);
  });

  const DSA = '1.2.840.10040.4.1';
  test.each([
    ['no octet', tlv(3, []), oid('1.2.3.4.5'), /a BIT STRING without content/],
    [
      'an RSA modulus of zero',
      tlv(3, [0], sequence(tlv(2, [0]), tlv(2, [3]))),
      oid('1.2.840.113549.1.1.1'),
      /not above zero/,
    ],
    ['negative', tlv(3, [0], sequence(tlv(2, [0x80]), tlv(2, [3]))), oid('1.2.840.113549.1.1.1'), /not above zero/],
    ['a DSA prime of zero', tlv(3, [0, 1]), Buffer.concat([oid(DSA), sequence(tlv(2, [0]))]), /not above zero/],
  ])('%s is a problem', (_name, key, algorithm, expected) => {
    expect(problem(certificate({ key: sequence(sequence(algorithm), key) }))).toMatch(expected);
  });

  test('a DSA key with the parameters of its issuer', () => {
    expect(made({ key: sequence(sequence(oid(DSA)), tlv(3, [0, 1])) })).toMatchObject({ key: 'DSA' });
  });

  test('an RSA key without an exponent', () => {
    const key = sequence(sequence(oid('1.2.840.113549.1.1.1')), tlv(3, [0], sequence(tlv(2, [0x7f, 1]))));
    expect(made({ key })).toMatchObject({ key: 'RSA-15', verifiesFast: false });
  });

  test('a key of a kind that nobody knows', () => {
    const key = sequence(sequence(oid('1.2.3.4.5')), tlv(3, [0, 1]));
    expect(made({ key })).toMatchObject({ key: '1.2.3.4.5', verifiesFast: false });
  });

  const NULL = tlv(5);
  const pss = (...parameters: Buffer[]) => sequence(oid('1.2.840.113549.1.1.10'), sequence(...parameters));
  const digestOf = (type: string) => tlv(0xa0, sequence(oid(type), NULL));
  test.each([
    ['MD5', sequence(oid('1.2.840.113549.1.1.4'), NULL), 'signed with MD5, which can be forged'],
    ['SHA-1', sequence(oid('1.2.840.113549.1.1.5'), NULL), 'signed with SHA-1, which can be forged'],
    ['ECDSA with SHA-1', sequence(oid('1.2.840.10045.4.1')), 'signed with SHA-1, which can be forged'],
    ['RSASSA-PSS by default', pss(), 'signed with SHA-1, which can be forged'],
    ['RSASSA-PSS without parameters', sequence(oid('1.2.840.113549.1.1.10')), undefined],
    ['RSASSA-PSS with SHA-256', pss(digestOf('2.16.840.1.101.3.4.2.1')), undefined],
    ['SHA-256', sequence(oid('1.2.840.113549.1.1.11'), NULL), undefined],
  ])('%s', (_name, algorithm, expected) => {
    expect(made({ algorithm }).weakSignature).toBe(expected);
  });

  test('the signature of a root over itself is not relied upon', () => {
    const weak = { algorithm: sequence(oid('1.2.840.10045.4.1')), digest: 'sha1' };
    expect(isSelfSigned(made({ ...weak, subject: name(cn('ca')) }))).toBe(true);
    expect(made({ ...weak, subject: name(cn('ca')) })).not.toHaveProperty('weakSignature', expect.anything());
    expect(made(weak)).toHaveProperty('weakSignature');
  });
});

describe('what is no certificate', () => {
  const good = certificate({ extensions: [extension('2.5.29.19', sequence())] });

  test.each([
    ['nothing', Buffer.alloc(0), /missing/],
    ['1 MiB', Buffer.alloc(1024 * 1024, 0x30), '1048576 bytes found, 65536 allowed'],
    ['something after it', Buffer.concat([good, Buffer.from([0])]), /1 bytes follow/],
    ['algorithms that differ', certificate({ outerAlgorithm: sequence(oid('1.2.3')) }), /inside and outside differ/],
    ['an RDN without attributes', certificate({ subject: name(set()) }), /an RDN without attributes/],
    [
      'CA of two octets',
      certificate({ extensions: [extension('2.5.29.19', sequence(tlv(1, [1, 1])))] }),
      /not one octet/,
    ],
    ['version 4', certificate({ version: 4 }), 'version: none of 1, 2 and 3'],
    ['extensions in version 1', certificate({ version: undefined, extensions: [] }), /version 1 has none/],
    [
      'the same extension twice',
      certificate({ extensions: [extension('1.2.3', utf8('')), extension('1.2.3', utf8(''))] }),
      'extension 1.2.3: it appears twice',
    ],
  ])('%s', (_name, der, expected) => {
    expect(problem(der)).toMatch(expected);
  });

  test('no bytes make it throw', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
          fc
            .tuple(fc.nat(good.length - 1), fc.uint8Array({ minLength: 1, maxLength: 4 }))
            .map(([at, bytes]) => Buffer.concat([good.subarray(0, at), bytes, good.subarray(at + bytes.length)])),
          fc.nat(good.length - 1).map((end) => good.subarray(0, end)),
        ),
        (der) => {
          const decoded = decodeCertificate(der);
          expect(typeof (decoded.ok ? decoded.certificate.subject : decoded.problem)).toBe('string');
        },
      ),
      { seed: 5, numRuns: runs(1_500) },
    );
  });

  test.each([
    ['deep', Buffer.alloc(60_000, 0x30)],
    ['many attributes', certificate({ subject: name(...Array.from({ length: 1000 }, () => cn('y'))), issuer: name() })],
    ['its own issuer with many attributes', selfIssued(name(...Array.from({ length: 1000 }, () => cn('y'))))],
    ['many extensions', certificate({ extensions: Array.from({ length: 5000 }, () => extension('1.2.3', utf8(''))) })],
    ['an RSA key of 60,000 octets', selfIssued(name(cn('ca')), rsa(60_000, 3))],
    ['an RSA key with an exponent as long', selfIssued(name(cn('ca')), rsa(1024, 1024))],
    ['a curve of its own', selfIssued(name(cn('ca')), explicitCurve())],
  ])('takes a few function calls a byte, and none that calculates with a key: %s', (_name, der) => {
    expect(functionCalls(() => decodeCertificate(der))).toBeLessThan(8 * der.length);
    expect(functionCalls(() => decodeCertificate(der), KEYS)).toBe(0);
  });

  test('a calculation with a key would be counted', () => {
    const { publicKey } = new X509Certificate(good);
    expect(functionCalls(() => new X509Certificate(good).verify(publicKey), KEYS)).toBeGreaterThan(0);
  });

  function selfIssued(subject: Buffer, key?: Buffer): Buffer {
    return certificate({ subject, issuer: subject, key });
  }

  function rsa(modulus: number, exponent: number): Buffer {
    const odd = (length: number) => Buffer.concat([Buffer.from([0x7f]), randomBytes(length - 2), Buffer.from([1])]);
    return rsaKeyInfo(odd(modulus), odd(exponent));
  }

  function explicitCurve(): Buffer {
    const options = { namedCurve: 'P-521', paramEncoding: 'explicit' } as const;
    return generateKeyPairSync('ec', options).publicKey.export({ format: 'der', type: 'spki' });
  }
});

// What Go makes of many more: test/control-plane/certificates.test.ts.
describe('what Go refuses is readable here, and known', () => {
  const key = (info: Buffer): Parts => ({ key: info });
  const ec = (curve: string, octets: number, form = 4) =>
    key(sequence(sequence(oid('1.2.840.10045.2.1'), oid(curve)), tlv(3, [0, form], Buffer.alloc(octets - 1, 1))));
  const subject = (tag: number, text: string): Parts => ({
    subject: name(set(attribute('2.5.4.3', tlv(tag, Buffer.from(text, 'latin1'))))),
  });
  const having = (...parts: Parameters<typeof extension>): Parts => ({ extensions: [extension(...parts)] });
  const san = (tag: number, ...octets: number[]): Parts => having('2.5.29.17', sequence(tlv(tag, octets)));
  const STRING = 'subject: a string of another type than its characters';
  const ASCII = 'subjectAltName: a name with other characters than ASCII';
  test.each<[string, Parts, string | undefined]>([
    ['an ordinary one', {}, undefined],
    ['a fraction', { notAfter: generalizedTime('20550101000000.000Z') }, 'notAfter: it has a fraction of a second'],
    ['an offset of zero', { notBefore: utcTime('260101000000+0000') }, 'notBefore: its time zone is not Z'],
    ['an offset of 90 minutes', { notAfter: utcTime('270101000000+0060') }, 'notAfter: its time zone is not Z'],
    ['an offset', { notAfter: utcTime('270101000000-0130') }, undefined],
    ['no seconds', { notAfter: utcTime('2701010000Z') }, undefined],
    ['GeneralizedTime', { notAfter: generalizedTime('20270101000000Z') }, undefined],
    ['a negative serial', { serial: [0x80] }, 'serial number: it is negative'],
    ['a serial of 25 octets', { serial: Array.from({ length: 25 }, () => 1) }, undefined],
    ['a long serial', { serial: [0, 1] }, 'serial number: an INTEGER in non-minimal form'],
    ['@ in PrintableString', subject(0x13, 'a@b'), STRING],
    ['* and & in it', subject(0x13, '*&'), undefined],
    ['a letter in NumericString', subject(0x12, 'a'), STRING],
    ['Latin-1 in UTF8String', subject(0x0c, '\xe9'), STRING],
    ['Latin-1 in IA5String', subject(0x16, '\xe9'), STRING],
    ['Latin-1 in TeletexString', subject(0x14, '\xe9'), undefined],
    ['UniversalString', subject(0x1c, '\0\0\0a'), STRING],
    ['Latin-1 in a DNS name', san(0x82, 0xe9), ASCII],
    ['Latin-1 in an e-mail address', san(0x81, 0xe9), ASCII],
    ['Latin-1 in another name', san(0x88, 0xe9), undefined],
    ['an address of 5 octets', san(0x87, 1, 2, 3, 4, 5), 'subjectAltName: an address of 5 octets'],
    ['IPv4', san(0x87, 1, 2, 3, 4), undefined],
    [
      'RSA without NULL',
      key(rsaKeyInfo(Buffer.from([127, 1]), Buffer.from([3]), Buffer.alloc(0))),
      'public key: RSA without NULL as parameters',
    ],
    ['RSA', key(rsaKeyInfo(Buffer.from([127, 1]), Buffer.from([3]))), undefined],
    ['secp256k1', ec('1.3.132.0.10', 65), 'public key: no uncompressed point of P-224, P-256, P-384 or P-521'],
    [
      'a compressed point',
      ec('1.2.840.10045.3.1.7', 33, 2),
      'public key: no uncompressed point of P-224, P-256, P-384 or P-521',
    ],
    ['P-384', ec('1.3.132.0.34', 97), undefined],
    [
      'Ed25519 of 31 octets',
      key(sequence(sequence(oid('1.3.101.112')), tlv(3, [0], Buffer.alloc(31)))),
      'public key: not 32 octets without parameters',
    ],
    ['a critical key identifier', having('2.5.29.14', tlv(4, [1]), true), 'extension 2.5.29.14: it is critical'],
    ['an unknown critical extension', having('1.2.3', utf8(''), true), 'extension 1.2.3: it is critical'],
    [
      'a BOOLEAN of 01',
      having('2.5.29.19', sequence(tlv(1, [1]))),
      'basicConstraints: a BOOLEAN that is neither 00 nor FF',
    ],
    [
      'an extension of a wide arc',
      having(`2.25.${2 ** 31}`, utf8('')),
      'extension 2.25.2147483648: an arc above 2^31-1',
    ],
    ['a usage of one', having('2.5.29.37', sequence(oid(`2.25.${2 ** 31}`))), 'extendedKeyUsage: an arc above 2^31-1'],
    ['an extension of the widest', having('2.25.2147483567', utf8('')), undefined],
    ['a surrogate in BMPString', subject(0x1e, '\xd8\x3d\xde\0'), STRING],
    ['BMPString', subject(0x1e, '\xd7\xff\xe0\0'), undefined],
    [
      'a BIT STRING with padding',
      { key: sequence(sequence(oid('1.2.3')), tlv(3, [1, 1])) },
      'public key: a BIT STRING with wrong padding',
    ],
  ])('%s', (_, parts, expected) => {
    expect(read(certificate(parts)).refused).toBe(expected);
  });
});

describe('bundles', () => {
  const one = pem(certificate());
  const two = pem(certificate({ serial: [2] }));
  const key = '-----BEGIN EC PRIVATE KEY-----\nnot to be looked at\n-----END EC PRIVATE KEY-----\n';

  test.each([
    ['comments, keys, other blocks between', `# a\n${one}${key}text\n${two}${pem(Buffer.from('x'), 'X509 CRL')}`],
    ['CRLF', (one + two).replaceAll('\n', '\r\n')],
    ['no final line break', (one + two).trimEnd()],
    ['base64 on one line', (one + two).replaceAll(/(?<![-])\n(?=[A-Za-z0-9+/=]+\n)/g, '')],
    ['indented base64', (one + two).replaceAll(/\n(?=[A-Za-z0-9+/=]+\n)/g, '\n  ')],
  ])('%s', (_name, text) => {
    const { certificates, problem: wrong } = decodeBundle(text);
    expect(certificates.map((each) => (each.ok ? each.certificate.serialNumber : each.problem))).toEqual(['01', '02']);
    expect(wrong).toBeUndefined();
  });

  test.each([
    ['something else', pem(Buffer.from('hello')), expect.stringContaining('certificate')],
    ['nothing', pem(Buffer.alloc(0)), 'certificate: missing'],
    ['1 MiB', pem(Buffer.alloc(1024 * 1024)), '1048576 bytes found, 65536 allowed'],
  ])('a block between whole ones with %s in it', (_name, broken, expected) => {
    const { certificates } = decodeBundle(`${one}${broken}\n${two}`);
    expect(certificates.map((each) => (each.ok ? 'read' : each.problem))).toEqual(['read', expected, 'read']);
  });

  // What Go makes of each: test/control-plane/certificates.test.ts.
  const joined = one.trimEnd() + two;
  const SKIP = 'Kubernetes and other Go programs skip';
  const WHOLE = 'their PEM blocks are not whole, or not base64';
  test.each([
    ['two glued together', joined, 0, `${SKIP} 2 of 2 certificates: an END line is followed by text`],
    ['a third behind two glued together', joined + two, 1, `${SKIP} 2 of 3`],
    ['one line', one.replaceAll('\n', ''), 0, `${SKIP} 1 of 1 certificates: a BEGIN line is followed by text`],
    ['no END line', one.replace('-----END CERTIFICATE-----', '') + two, 1, `${SKIP} 1 of 2 certificates: ${WHOLE}`],
    ['another END line', one.replace('END CERTIFICATE', 'END X') + two, 1, `${SKIP} 1 of 2 certificates: ${WHOLE}`],
    ['no base64', one.replace('\nM', '\n!') + two, 1, `${SKIP} 1 of 2 certificates: ${WHOLE}`],
    ['a header', one.replace('\nM', '\nA: b\n\nM') + two, 1, `${SKIP} 1 of 2 certificates: ${WHOLE}`],
    ['CR', one.replaceAll('\n', '\r'), 0, `${SKIP} 1 of 1 certificates: its line breaks are CR`],
    [
      'a byte order mark',
      `\xef\xbb\xbf${one}${two}`,
      1,
      `${SKIP} 1 of 2 certificates: it begins with a byte order mark`,
    ],
    ['a space before BEGIN', ` ${one}${two}`, 1, `${SKIP} 1 of 2 certificates: a BEGIN line has text before it`],
    [
      'a space before END',
      one.replace('-----END', ' -----END'),
      0,
      `${SKIP} 1 of 1 certificates: an END line has text`,
    ],
    ['\\n as text', one.trimEnd().replaceAll('\n', '\\n'), 0, `${SKIP} 1 of 1 certificates: it has \\n as text`],
    ['DER', certificate().toString('latin1'), 0, 'no certificate in PEM: it is DER'],
    [
      'base64 of DER',
      Buffer.concat([certificate(), Buffer.alloc(300)]).toString('base64'),
      0,
      'no certificate in PEM: it is base64 without',
    ],
    ['base64 of PEM', Buffer.from(one).toString('base64'), 0, 'no certificate in PEM: it is base64 of base64'],
    ['UTF-16', Buffer.from(`\ufeff${one}`, 'utf16le').toString('latin1'), 0, 'no certificate in PEM: it is UTF-16'],
    ['a request', pem(Buffer.from('x'), 'CERTIFICATE REQUEST'), 0, 'no certificate in PEM: it is a request'],
    [
      'a TRUSTED CERTIFICATE',
      pem(Buffer.from('x'), 'TRUSTED CERTIFICATE'),
      0,
      'no certificate in PEM: it is a TRUSTED',
    ],
    ['PKCS #7', pem(Buffer.from('x'), 'PKCS7'), 0, 'no certificate in PEM: it is PKCS #7'],
    ['nothing', '', 0, 'no certificate in PEM: it is empty'],
    ['other text', 'hello', 0, 'no certificate in PEM'],
    ['a key', key, 0, 'no certificate in PEM'],
    ['half a BEGIN line', '-----BEGIN CERTIFICATE', 0, 'no certificate in PEM'],
  ])('%s', (_name, text, count, expected) => {
    const { certificates, problem: wrong } = decodeBundle(text);
    expect([certificates.length, wrong?.slice(0, expected.length)]).toEqual([count, expected]);
  });

  test('verifies nothing, whatever is in it', () => {
    const verify = vi.spyOn(X509Certificate.prototype, 'verify');
    onTestFinished(() => verify.mockRestore());
    const root = pem(certificate({ subject: name(cn('ca')) }));
    const old = pem(certificate({ subject: name(cn('ca')), version: undefined }));
    const weak = { algorithm: sequence(oid('1.2.840.10045.4.1')), digest: 'sha1' };
    decodeBundle((root + old + pem(certificate({ ...weak, subject: name(cn('ca')) }))).repeat(300));
    expect(verify).not.toHaveBeenCalled();
  });

  test('is bounded', () => {
    const many = decodeBundle(one.repeat(1001));
    expect(many.certificates).toHaveLength(1000);
    expect(many.problem).toBe('only the first 1000 certificates are read');
    expect(decodeBundle(one.repeat(1000)).problem).toBeUndefined();
    const long = decodeBundle(one + '\n'.repeat(5 * 1024 * 1024) + two);
    expect(long.certificates).toHaveLength(1);
    expect(long.problem).toBe('only the first 4194304 characters are read');
    expect(decodeBundle(one.padEnd(4 * 1024 * 1024, '\n')).problem).toBeUndefined();
    // Go does not count white space.
    const padded = one.replace('\n-----END', `${'\n'.repeat(4 * 65_536)}-----END`);
    expect(decodeBundle(padded).certificates).toMatchObject([{ ok: true }]);
  });

  test.each(['-----BEGIN ', '\n-----BEGIN CERTIFICATE-----', '-'])('is searched through a few times: %j', (part) => {
    const text = part.repeat(10_000);
    expect(functionCalls(() => decodeBundle(text))).toBeLessThan(5_000);
    const search = vi.spyOn(String.prototype, 'indexOf');
    onTestFinished(() => search.mockRestore());
    decodeBundle(text);
    const { calls, contexts, results } = search.mock;
    const characters = calls.reduce((sum, [wanted, from = 0], index) => {
      const at = Number(results[index]?.value);
      return sum + (at === -1 ? String(contexts[index]).length : at + wanted.length) - from;
    }, 0);
    expect(characters).toBeGreaterThan(0);
    expect(characters).toBeLessThan(3 * text.length);
  });
});
