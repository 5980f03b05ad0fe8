import { describe, expect, it } from 'vitest';
import type { StringType } from '../../../lambdas/x509/certificate-request.ts';
import { integer, nullValue, octetString, oid, sequence, setOf, TAG, tlv } from './der-writer.ts';
import { decoded, type Refused, refusalOf } from './reading.ts';
import { attribute, makeRequest, OID, type StringForm } from './request-factory.ts';

const commonName = { oid: OID.commonName, value: 'system:node:node-1' };
const organization = { oid: OID.organization, value: 'system:nodes' };

describe('subject', () => {
  const forms: readonly [StringForm, string, StringType][] = [
    ['utf8String', 'nœud-1', 'UTF8String'],
    ['utf8String', '\ufeffnode\0', 'UTF8String'],
    ['printableString', "a B0'()+,-./:=?", 'PrintableString'],
    ['ia5String', 'a@b*\x00\x7f', 'IA5String'],
    ['numericString', '12 34', 'NumericString'],
    ['teletexString', 'system:node:node-1', 'TeletexString'],
    ['bmpString', 'nœud-1', 'BMPString'],
    ['bmpString', '\ud7ff\ue000\uffff', 'BMPString'],
    ['universalString', 'nœud-\u{1f600}', 'UniversalString'],
    ['universalString', '\ud7ff\ue000\u{10ffff}', 'UniversalString'],
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

  const noText: readonly [string, StringType, number, readonly number[]][] = [
    ['overlong UTF-8', 'UTF8String', TAG.utf8String, [0xc0, 0x80]],
    ['a UTF-8 surrogate', 'UTF8String', TAG.utf8String, [0xed, 0xa0, 0x80]],
    ['UTF-8 cut short', 'UTF8String', TAG.utf8String, [0xc3]],
    ['* in a PrintableString', 'PrintableString', TAG.printableString, [0x2a]],
    ['NUL in a PrintableString', 'PrintableString', TAG.printableString, [0]],
    ['a line break at the end of a PrintableString', 'PrintableString', TAG.printableString, [0x61, 0x0a]],
    ['Latin-1 in an IA5String', 'IA5String', TAG.ia5String, [0xe9]],
    ['a letter in a NumericString', 'NumericString', TAG.numericString, [0x61]],
    ['Latin-1 in a TeletexString', 'TeletexString', TAG.teletexString, [0xe9]],
    ['a BMPString of 3 bytes', 'BMPString', TAG.bmpString, [0, 0x61, 0]],
    ['a surrogate in a BMPString', 'BMPString', TAG.bmpString, [0xd8, 0x3d, 0xde, 0]],
    ['the first surrogate in a BMPString', 'BMPString', TAG.bmpString, [0xd8, 0]],
    ['the last surrogate in a BMPString', 'BMPString', TAG.bmpString, [0xdf, 0xff]],
    ['a UniversalString beyond Unicode', 'UniversalString', TAG.universalString, [0, 0x11, 0, 0]],
  ];
  it.each(noText)('%s is refused', (_, stringType, tag, bytes) => {
    const subject = [setOf(sequence(oid(OID.commonName), tlv(tag, Buffer.from(bytes))))];
    const refusal = `UnexpectedStructure: subject: bytes that are not text of a ${stringType}`;
    expect(refusalOf(makeRequest({ subject }).pem)).toBe(refusal);
  });

  const refused: readonly Refused[] = [
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
    ['a missing value', { subject: [setOf(sequence(oid(OID.commonName)))] }, 'UnexpectedStructure: subject: missing'],
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
