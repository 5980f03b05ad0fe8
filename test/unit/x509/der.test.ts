import { describe, expect, it } from 'vitest';
import type { DecodeRefusalCode } from '../../../lambdas/x509/certificate-request.ts';
import { DerReader } from '../../../lambdas/x509/der.ts';
import { indefiniteLength, nonMinimalLength, oid, primitive, sequence, tlv } from './der-writer.ts';

const reader = (hex: string | Buffer): DerReader =>
  new DerReader(typeof hex === 'string' ? Buffer.from(hex.replaceAll(' ', ''), 'hex') : hex);

function refusal(code: DecodeRefusalCode, message: string): unknown {
  return expect.objectContaining({ code, message: expect.stringContaining(message) });
}

describe('identifier and length octets', () => {
  it.each([0, 1, 127, 128, 255, 256, 65_535, 65_536])('a value of %d bytes is read whole', (length) => {
    const content = Buffer.alloc(length, 0x5a);
    const input = reader(tlv(0x04, content));
    expect(input.octets(0x04, 'value').equals(content)).toBe(true);
    expect(input.atEnd).toBe(true);
  });

  it('OBJECT IDENTIFIER with arcs of any size has 64 octets at most', () => {
    const wide = (octets: number) => reader(tlv(0x06, Buffer.alloc(octets, 0x2a))).wideObjectIdentifier('value');
    expect(wide(64)).toMatch(/^1\.2\.42\./);
    expect(reader(tlv(0x06, Buffer.alloc(64, 0x2a))).objectIdentifier('value')).toBe(wide(64));
    expect(() => wide(65)).toThrow(refusal('NotDer', 'of 65 octets'));
  });

  const refused: readonly [string, string | Buffer, DecodeRefusalCode, string][] = [
    ['nothing', '', 'UnexpectedStructure', 'value: missing'],
    ['an identifier without a length', '04', 'NotDer', 'cut short at byte 0'],
    ['a length that is cut short', '04 82 01', 'NotDer', 'cut short at byte 2'],
    ['content that is cut short', '04 03 00 00', 'NotDer', '3 bytes announced at byte 0, 2 left'],
    ['a length of 4 GiB', '04 84 ff ff ff ff 00', 'NotDer', '4294967295 bytes announced at byte 0, 1 left'],
    ['a length of five octets', '04 85 01 00 00 00 00', 'NotDer', 'a length of 5 octets'],
    ['the reserved length ff', `04 ff ${'00'.repeat(127)}`, 'NotDer', 'a length of 127 octets'],
    [
      'an indefinite length',
      indefiniteLength(0x04, tlv(0x04, Buffer.from('ab'))),
      'NotDer',
      'indefinite length at byte 0',
    ],
    ['the long form below 128', nonMinimalLength(0x04, Buffer.alloc(127)), 'NotDer', 'non-minimal form'],
    ['a leading zero in the long form', nonMinimalLength(0x04, Buffer.alloc(128)), 'NotDer', 'non-minimal form'],
    ['two length octets for 255', nonMinimalLength(0x04, Buffer.alloc(255)), 'NotDer', 'non-minimal form'],
    ['a high tag number', '1f 81 01 00', 'NotDer', 'a tag number above 30 at byte 0'],
    ['a low tag number in the high form', '1f 04 00', 'NotDer', 'a tag number above 30 at byte 0'],
    ['another tag', '0c 00', 'UnexpectedStructure', 'tag 0x04 expected, 0x0c found'],
    ['the constructed form of a string', '24 04 04 02 00 00', 'UnexpectedStructure', 'tag 0x04 expected, 0x24 found'],
  ];
  it.each(refused)('%s is refused', (_, input, code, message) => {
    expect(() => reader(input).octets(0x04, 'value')).toThrow(refusal(code, message));
  });

  it('a value may not reach over the end of the one around it', () => {
    // The inner length is within the input, yet not within the SEQUENCE.
    const input = reader('30 02 04 01 00').enter(0x30, 'outer');
    expect(() => input.octets(0x04, 'inner')).toThrow(refusal('NotDer', 'inner: 1 bytes announced at byte 2, 0 left'));
  });

  it.each([
    ['an identifier', '30 01 04 01 00'],
    ['a length', '30 02 04 82 01 00'],
  ])('%s may not be the last thing in the one around it', (_, hex) => {
    const input = reader(hex).enter(0x30, 'outer');
    expect(() => input.octets(0x04, 'inner')).toThrow(refusal('NotDer', 'inner: cut short at byte '));
  });

  it('what follows the last element is refused', () => {
    const input = reader('05 00 00 00 00');
    input.null('value');
    expect(() => input.finish('input')).toThrow(refusal('TrailingData', 'input: 3 bytes follow its last element'));
  });
});

describe('values', () => {
  it.each([
    ['01 01 00', false],
    ['01 01 ff', true],
  ])('BOOLEAN %s is %s', (hex, value) => expect(reader(hex).boolean('value')).toBe(value));

  it.each([
    ['2a 86 48 86 f7 0d 01 09 0e', '1.2.840.113549.1.9.14'],
    ['55 1d 11', '2.5.29.17'],
    ['00', '0.0'],
    ['27', '0.39'],
    ['28', '1.0'],
    ['4f', '1.39'],
    ['50', '2.0'],
    ['88 37 03', '2.999.3'],
    ['2a 87 ff ff ff 7f', '1.2.2147483647'],
  ])('OBJECT IDENTIFIER %s is %s', (hex, dotted) => {
    const content = Buffer.from(hex.replaceAll(' ', ''), 'hex');
    expect(reader(tlv(0x06, content)).objectIdentifier('value')).toBe(dotted);
    expect(oid(dotted).subarray(2).equals(content)).toBe(true);
    expect(reader(primitive(8, content)).enterAny('value').implicitObjectIdentifier('value')).toBe(dotted);
  });

  const refused: readonly [string, string, (input: DerReader) => unknown, DecodeRefusalCode, string][] = [
    ['BOOLEAN 01', '01 01 01', (input) => input.boolean('value'), 'NotDer', 'neither 00 nor FF'],
    ['BOOLEAN of two octets', '01 02 ff ff', (input) => input.boolean('value'), 'NotDer', 'neither 00 nor FF'],
    ['BOOLEAN without content', '01 00', (input) => input.boolean('value'), 'NotDer', 'neither 00 nor FF'],
    ['NULL with content', '05 01 00', (input) => input.null('value'), 'NotDer', 'a NULL with content'],
    ['INTEGER without content', '02 00', (input) => input.integer('value'), 'NotDer', 'without content'],
    ['INTEGER 0 in two octets', '02 02 00 00', (input) => input.integer('value'), 'NotDer', 'non-minimal'],
    ['INTEGER 127 in two octets', '02 02 00 7f', (input) => input.integer('value'), 'NotDer', 'non-minimal'],
    ['INTEGER -1 in two octets', '02 02 ff ff', (input) => input.integer('value'), 'NotDer', 'non-minimal'],
    ['INTEGER -128 in two octets', '02 02 ff 80', (input) => input.integer('value'), 'NotDer', 'non-minimal'],
    ['BIT STRING without content', '03 00', (input) => input.bitString('value'), 'NotDer', 'without content'],
    ['BIT STRING of 7 bits', '03 02 01 00', (input) => input.bitString('value'), 'UnexpectedStructure', 'whole number'],
    ['OID without content', '06 00', (input) => input.objectIdentifier('value'), 'NotDer', 'without content'],
    ['OID with a leading 80', '06 03 55 80 01', (input) => input.objectIdentifier('value'), 'NotDer', 'non-minimal'],
    ['OID cut short', '06 02 55 9d', (input) => input.objectIdentifier('value'), 'NotDer', 'the last arc is cut short'],
    [
      'OID with an arc of 2^31',
      '06 06 2a 88 80 80 80 00',
      (input) => input.objectIdentifier('value'),
      'UnexpectedStructure',
      '2^31-1',
    ],
    [
      'OID of 65 octets',
      `06 41 ${'2a'.repeat(65)}`,
      (input) => input.objectIdentifier('value'),
      'TooLarge',
      '65 octets, 64 allowed',
    ],
  ];
  it.each(refused)('%s is refused', (_, hex, read, code, message) => {
    expect(() => read(reader(hex))).toThrow(refusal(code, message));
  });

  it.each(['00', '7f', '80', '00 80', 'ff 7f', '01 00'])('INTEGER %s is minimal', (hex) => {
    const content = Buffer.from(hex.replaceAll(' ', ''), 'hex');
    expect(reader(tlv(0x02, content)).integer('value').equals(content)).toBe(true);
  });
});

describe('a value of any type', () => {
  it.each([
    ['a SEQUENCE of everything', '30 0f 01 01 ff 02 01 00 05 00 06 01 2a 0c 02 c3 a9'],
    ['an empty SET', '31 00'],
    ['a CHARACTER STRING', '3d 00'],
    ['an opaque context-specific value', '80 02 ff ff'],
    ['a constructed context-specific value', 'a3 02 05 00'],
  ])('%s is passed over', (_, hex) => {
    const input = reader(hex);
    input.skip('value');
    expect(input.atEnd).toBe(true);
  });

  it.each([
    ['end-of-contents', '00 00'],
    ['a primitive SEQUENCE', '10 00'],
    ['a primitive SET', '11 00'],
    ['a constructed OCTET STRING', '24 02 04 00'],
    ['a constructed UTF8String', '2c 02 0c 00'],
    ['a constructed INTEGER', '22 03 02 01 00'],
    ['a constructed BMPString', '3e 02 1e 00'],
  ])('%s is refused', (_, hex) => {
    expect(() => reader(hex).skip('value')).toThrow(refusal('NotDer', 'does not exist in DER'));
  });

  it.each([
    ['BOOLEAN 01', '01 01 01'],
    ['INTEGER 0 in two octets', '02 02 00 00'],
    ['NULL with content', '05 01 00'],
    ['OID cut short', '06 02 55 9d'],
    ['context-specific garbage', 'a3 02 05 01'],
  ])('%s inside is refused', (_, hex) => {
    const input = reader(sequence(Buffer.from(hex.replaceAll(' ', ''), 'hex')));
    expect(() => input.skip('value')).toThrow(refusal('NotDer', 'value: '));
  });

  it('is followed 16 values deep and no further', () => {
    const nested = (depth: number): Buffer => (depth === 0 ? tlv(0x05) : sequence(nested(depth - 1)));
    const input = reader(nested(16));
    input.skip('value');
    expect(input.atEnd).toBe(true);
    expect(() => reader(sequence(nested(16))).skip('value')).toThrow(refusal('TooDeep', 'more than 16 values deep'));
    expect(() => reader(nested(5000)).skip('value')).toThrow(refusal('TooDeep', 'more than 16 values deep'));
  });
});
