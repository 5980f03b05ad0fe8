import { describe, expect, it } from 'vitest';
import type { GeneralName } from '../../../lambdas/x509/certificate-request.ts';
import { constructed, indefiniteLength, nullValue, oid, primitive, sequence, setOf, TAG, tlv } from './der-writer.ts';
import { decoded, type Refused, refusalOf } from './reading.ts';
import {
  attribute,
  extension,
  extensionRequest,
  generalName,
  makeRequest,
  name,
  OID,
  type RequestOptions,
  type San,
  subjectAltName,
} from './request-factory.ts';

const commonName = { oid: OID.commonName, value: 'system:node:node-1' };
const organization = { oid: OID.organization, value: 'system:nodes' };
const dns = (value: string): San => ({ kind: 'dNSName', value });
const raw = (...names: readonly Buffer[]): RequestOptions => ({ sans: names });
const many = (count: number): RequestOptions => ({ sans: Array.from({ length: count }, () => dns('n')) });

const noName = (tag: string) => `UnexpectedStructure: subjectAltName: tag 0x${tag} is not a GeneralName`;
const noAddress = (size: number) =>
  `UnexpectedStructure: subjectAltName iPAddress: ${size} bytes found, 4 or 16 expected`;

describe('subjectAltName', () => {
  const kinds: readonly [string, San | Buffer, GeneralName][] = [
    ['dNSName', dns('node-1.example.com'), { kind: 'dNSName', value: 'node-1.example.com' }],
    ['a dNSName with NUL and line break', dns('a\0b\n'), { kind: 'dNSName', value: 'a\0b\n' }],
    ['an empty dNSName', dns(''), { kind: 'dNSName', value: '' }],
    ['rfc822Name', { kind: 'rfc822Name', value: 'a@b' }, { kind: 'rfc822Name', value: 'a@b' }],
    [
      'URI',
      { kind: 'uniformResourceIdentifier', value: 'spiffe://a' },
      { kind: 'uniformResourceIdentifier', value: 'spiffe://a' },
    ],
    ['otherName', { kind: 'otherName' }, { kind: 'otherName' }],
    ['x400Address', { kind: 'x400Address' }, { kind: 'x400Address' }],
    ['directoryName', { kind: 'directoryName' }, { kind: 'directoryName' }],
    ['ediPartyName', { kind: 'ediPartyName' }, { kind: 'ediPartyName' }],
    ['registeredID', { kind: 'registeredID' }, { kind: 'registeredID' }],
  ];
  it.each(kinds)('%s', (_, san, expected) => expect(decoded({ sans: [san] }).subjectAltNames).toEqual([expected]));

  it.each([
    ['0a000001', '10.0.0.1'],
    ['00000000', '0.0.0.0'],
    ['ffffffff', '255.255.255.255'],
    ['00000000000000000000000000000000', '::'],
    ['00000000000000000000000000000001', '::1'],
    ['fe800000000000000000000000000001', 'fe80::1'],
    ['20010db8000000000001000000000001', '2001:db8::1:0:0:1'],
    ['20010db8000100010001000000010001', '2001:db8:1:1:1:0:1:1'],
    ['00000000000000000000ffff0a010203', '::ffff:10.1.2.3'],
    ['20010db8abcdef0123456789abcdef01', '2001:db8:abcd:ef01:2345:6789:abcd:ef01'],
  ])('iPAddress %s is %s', (hex, value) => {
    const san: San = { kind: 'iPAddress', value: Buffer.from(hex, 'hex') };
    expect(decoded({ sans: [san] }).subjectAltNames).toEqual([{ kind: 'iPAddress', value }]);
    expect(decoded({ sans: [{ kind: 'iPAddress', value }] }).subjectAltNames).toEqual([{ kind: 'iPAddress', value }]);
  });

  it('keeps all names in order, repeated ones too', () => {
    const values = ['b', 'a', 'b'];
    expect(decoded({ sans: values.map(dns) }).subjectAltNames).toEqual(values.map(dns));
  });

  it('may hold 1,024 names', () => {
    const sans = Array.from({ length: 1024 }, (_, index) => dns(`n${index}`));
    expect(decoded({ sans }).subjectAltNames).toEqual(sans);
  });

  it('may be critical', () => {
    expect(decoded({ sansCritical: true }).extensions).toEqual([{ oid: OID.subjectAltName, critical: true }]);
  });

  const refused: readonly Refused[] = [
    [
      'no names',
      { attributes: [extensionRequest(subjectAltName([]))] },
      'UnexpectedStructure: subjectAltName: 0 names found, at least 1 expected',
    ],
    ['1,025 names', many(1025), 'TooLarge: subjectAltName: more than 1024 names found'],
    ['4,096 names', many(4096), 'TooLarge: subjectAltName: more than 1024 names found'],
    ['an address of 5 bytes', raw(primitive(7, Buffer.alloc(5))), noAddress(5)],
    ['an address with a mask', raw(primitive(7, Buffer.alloc(8))), noAddress(8)],
    ['an address without bytes', raw(primitive(7, Buffer.alloc(0))), noAddress(0)],
    ['an address as text', raw(primitive(7, Buffer.from('10.0.0.1'))), noAddress(8)],
    [
      'a dNSName in UTF-8',
      raw(primitive(2, Buffer.from('nœud'))),
      'UnexpectedStructure: subjectAltName dNSName: bytes that are not ASCII',
    ],
    ['a constructed dNSName', raw(constructed(2, tlv(TAG.ia5String, Buffer.from('n')))), noName('a2')],
    ['a primitive directoryName', raw(primitive(4, Buffer.from('n'))), noName('84')],
    ['a GeneralName [9]', raw(primitive(9, Buffer.from('n'))), noName('89')],
    ['a universal IA5String', raw(tlv(TAG.ia5String, Buffer.from('n'))), noName('16')],
    ['an application tag', raw(tlv(0x42, Buffer.from('n'))), noName('42')],
    ['a bare otherName', raw(constructed(0, oid('1.2.3'))), 'UnexpectedStructure: subjectAltName otherName: missing'],
    [
      'an otherName with an empty value',
      raw(constructed(0, oid('1.2.3'), constructed(0))),
      'UnexpectedStructure: subjectAltName otherName: no value found',
    ],
    [
      'an otherName with two values',
      raw(constructed(0, oid('1.2.3'), constructed(0, nullValue(), nullValue()))),
      'TrailingData: subjectAltName otherName: 2 bytes follow its last element',
    ],
    [
      'an otherName of three elements',
      raw(constructed(0, oid('1.2.3'), constructed(0, nullValue()), nullValue())),
      'TrailingData: subjectAltName otherName: 2 bytes follow its last element',
    ],
    [
      'a directoryName with an RDN out of order',
      raw(constructed(4, name([tlv(TAG.set, attribute(commonName), attribute(organization))]))),
      "NotDer: subjectAltName directoryName: the attributes of an RDN are not in DER's order",
    ],
    [
      'a directoryName with two names',
      raw(constructed(4, name([]), name([]))),
      'TrailingData: subjectAltName directoryName: 2 bytes follow its last element',
    ],
    [
      'an x400Address that is not DER',
      raw(constructed(3, Buffer.from([0x01, 0x01, 0x01]))),
      'NotDer: subjectAltName x400Address: a BOOLEAN that is neither 00 nor FF',
    ],
    [
      'an ediPartyName that is not DER',
      raw(constructed(5, Buffer.from([0x00, 0x00]))),
      'NotDer: subjectAltName ediPartyName: tag 0x00 does not exist in DER',
    ],
    [
      'a registeredID without content',
      raw(primitive(8, Buffer.alloc(0))),
      'NotDer: subjectAltName registeredID: an OBJECT IDENTIFIER without content',
    ],
    [
      'a name that is cut short',
      raw(Buffer.from([0x82, 0x05, 0x6e])),
      'NotDer: subjectAltName: 5 bytes announced at byte 2, 1 left',
    ],
    [
      'bytes after the names',
      {
        sans: [],
        extensions: [extension(OID.subjectAltName, Buffer.concat([sequence(generalName(dns('n'))), Buffer.alloc(1)]))],
      },
      'TrailingData: subjectAltName: 1 bytes follow its last element',
    ],
    [
      'a SET of names',
      { sans: [], extensions: [extension(OID.subjectAltName, setOf(generalName(dns('n'))))] },
      'UnexpectedStructure: subjectAltName: tag 0x30 expected, 0x31 found',
    ],
    [
      'an indefinite length',
      { sans: [], extensions: [extension(OID.subjectAltName, indefiniteLength(TAG.sequence, generalName(dns('n'))))] },
      'NotDer: subjectAltName: indefinite length at byte 0',
    ],
    [
      'a value that is no DER',
      { sans: [], extensions: [extension(OID.subjectAltName, Buffer.from('node-1'))] },
      'NotDer: subjectAltName: 111 bytes announced at byte 0, 4 left',
    ],
  ];
  it.each(refused)('%s is refused', (_, options, refusal) => {
    expect(refusalOf(makeRequest(options).pem)).toBe(refusal);
  });
});
