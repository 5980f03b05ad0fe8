import { describe, expect, it } from 'vitest';
import type { StringType } from '../../../lambdas/x509/certificate-request.ts';
import { integer, nullValue, octetString, oid, sequence, setOf, TAG, tlv } from './der-writer.ts';
import { decoded, type Refused, refusalOf } from './reading.ts';
import { attribute, makeRequest, OID, type RequestOptions, type StringForm } from './request-factory.ts';

const commonName = { oid: OID.commonName, value: 'system:node:node-1' };
const organization = { oid: OID.organization, value: 'system:nodes' };
const value = (tag: number, bytes: readonly number[]): RequestOptions => ({
  subject: [setOf(sequence(oid(OID.commonName), tlv(tag, Buffer.from(bytes))))],
});

describe('subject', () => {
  const forms: readonly [StringForm, string, StringType][] = [
    ['utf8String', 'nœud-1', 'UTF8String'],
    ['utf8String', '\ufeffnode\0', 'UTF8String'],
    ['printableString', "a B0'()+,-./:=?", 'PrintableString'],
    ['ia5String', 'a@b*\x00\x7f', 'IA5String'],
    ['numericString', '12 34', 'NumericString'],
    ['teletexString', 'system:node:node-1', 'TeletexString'],
    ['bmpString', 'nœud-1', 'BMPString'],
    ['universalString', 'nœud-\u{1f600}', 'UniversalString'],
  ];
  it.each(forms)('%s %j is read as text', (form, value, stringType) => {
    const { subject } = decoded({ subject: [[{ ...commonName, value, form }]] });
    expect(subject).toEqual([[{ oid: OID.commonName, stringType, value }]]);
  });

  it.each([
    ['OCTET STRING', octetString(Buffer.from('system:node:node-1'))],
    ['INTEGER', integer(1)],
    ['VisibleString', tlv(0x1a, Buffer.from('system:node:node-1'))],
    ['GeneralString', tlv(0x1b, Buffer.from('system:node:node-1'))],
    ['SEQUENCE', sequence(tlv(TAG.utf8String, Buffer.from('system:node:node-1')))],
  ])('%s is reported as other, without text', (_, value) => {
    const { subject } = decoded({ subject: [setOf(sequence(oid(OID.commonName), value))] });
    expect(subject).toEqual([[{ oid: OID.commonName, stringType: 'other', value: '' }]]);
  });

  it('keeps every RDN and attribute, repeated ones too, in order', () => {
    const { subject } = decoded({ subject: [[commonName], [organization, commonName], [commonName]] });
    expect(subject.map((rdn) => rdn.map((one) => one.oid))).toEqual([
      ['2.5.4.3'],
      ['2.5.4.10', '2.5.4.3'],
      ['2.5.4.3'],
    ]);
  });

  it('may be empty', () => expect(decoded({ subject: [] }).subject).toEqual([]));

  const refused: readonly Refused[] = [
    [
      'overlong UTF-8',
      value(TAG.utf8String, [0xc0, 0x80]),
      'UnexpectedStructure: subject: bytes that are no text of a UTF8String',
    ],
    [
      'a UTF-8 surrogate',
      value(TAG.utf8String, [0xed, 0xa0, 0x80]),
      'UnexpectedStructure: subject: bytes that are no text of a UTF8String',
    ],
    [
      'UTF-8 cut short',
      value(TAG.utf8String, [0xc3]),
      'UnexpectedStructure: subject: bytes that are no text of a UTF8String',
    ],
    [
      '* in a PrintableString',
      value(TAG.printableString, [0x2a]),
      'UnexpectedStructure: subject: bytes that are no text of a PrintableString',
    ],
    [
      'NUL in a PrintableString',
      value(TAG.printableString, [0]),
      'UnexpectedStructure: subject: bytes that are no text of a PrintableString',
    ],
    [
      'a line break at the end of a PrintableString',
      value(TAG.printableString, [0x61, 0x0a]),
      'UnexpectedStructure: subject: bytes that are no text of a PrintableString',
    ],
    [
      'Latin-1 in an IA5String',
      value(TAG.ia5String, [0xe9]),
      'UnexpectedStructure: subject: bytes that are no text of a IA5String',
    ],
    [
      'a letter in a NumericString',
      value(TAG.numericString, [0x61]),
      'UnexpectedStructure: subject: bytes that are no text of a NumericString',
    ],
    [
      'Latin-1 in a TeletexString',
      value(TAG.teletexString, [0xe9]),
      'UnexpectedStructure: subject: bytes that are no text of a TeletexString',
    ],
    [
      'a BMPString of 3 bytes',
      value(TAG.bmpString, [0, 0x61, 0]),
      'UnexpectedStructure: subject: bytes that are no text of a BMPString',
    ],
    [
      'a surrogate in a BMPString',
      value(TAG.bmpString, [0xd8, 0x3d, 0xde, 0]),
      'UnexpectedStructure: subject: bytes that are no text of a BMPString',
    ],
    [
      'a UniversalString beyond Unicode',
      value(TAG.universalString, [0, 0x11, 0, 0]),
      'UnexpectedStructure: subject: bytes that are no text of a UniversalString',
    ],
    [
      'a constructed UTF8String',
      { subject: [setOf(sequence(oid(OID.commonName), tlv(0x2c, tlv(TAG.utf8String))))] },
      'NotDer: subject: tag 0x2c does not exist in DER',
    ],
    ['an empty RDN', { subject: [tlv(TAG.set)] }, 'UnexpectedStructure: subject: an RDN without attributes'],
    [
      'an RDN that is a SEQUENCE',
      { subject: [sequence(attribute(commonName))] },
      'UnexpectedStructure: subject: tag 0x31 expected, 0x30 found',
    ],
    [
      'an RDN out of order',
      { subject: [tlv(TAG.set, attribute(commonName), attribute(organization))] },
      "NotDer: subject: the attributes of an RDN are not in DER's order",
    ],
    [
      'an attribute without value',
      { subject: [setOf(sequence(oid(OID.commonName)))] },
      'UnexpectedStructure: subject: missing',
    ],
    [
      'an attribute with two values',
      { subject: [setOf(sequence(oid(OID.commonName), nullValue(), nullValue()))] },
      'TrailingData: subject: 2 bytes follow its last element',
    ],
    [
      'an attribute type that is no OID',
      { subject: [setOf(sequence(integer(1), nullValue()))] },
      'UnexpectedStructure: subject: tag 0x06 expected, 0x02 found',
    ],
  ];
  it.each(refused)('%s is refused', (_, options, refusal) => {
    expect(refusalOf(makeRequest(options).pem)).toBe(refusal);
  });
});
