import { isAscii, isUtf8 } from 'node:buffer';
import type { StringType } from './certificate-request.ts';
import { type DerReader, Refused, TAG } from './der.ts';

/** X.680 §41.4, table 10. It excludes `*`, `@`, `&` and `_`, although some issuers use them. */
const PRINTABLE = /^[A-Za-z0-9 '()+,\-./:=?]*$/;
const NUMERIC = /^[0-9 ]*$/;

interface Decoder {
  readonly stringType: StringType;
  /** Undefined if the bytes are not text of this type. */
  readonly decode: (octets: Buffer) => string | undefined;
}

const DECODERS: ReadonlyMap<number, Decoder> = new Map<number, Decoder>([
  [TAG.utf8String, { stringType: 'UTF8String', decode: (octets) => (isUtf8(octets) ? octets.toString() : undefined) }],
  [TAG.printableString, { stringType: 'PrintableString', decode: (octets) => matching(octets, PRINTABLE) }],
  [TAG.ia5String, { stringType: 'IA5String', decode: ia5Text }],
  [TAG.numericString, { stringType: 'NumericString', decode: (octets) => matching(octets, NUMERIC) }],
  // T.61, or Latin-1 as many issuers write it: both agree on the characters of a PrintableString.
  [TAG.teletexString, { stringType: 'TeletexString', decode: (octets) => matching(octets, PRINTABLE) }],
  [TAG.bmpString, { stringType: 'BMPString', decode: (octets) => fromCodePoints(octets, 2) }],
  [TAG.universalString, { stringType: 'UniversalString', decode: (octets) => fromCodePoints(octets, 4) }],
]);

/**
 * Reads the next value as a character string. Returns text only if every reader of these bytes must agree on it; skips
 * a value of any other type as `other`.
 */
export function readText(reader: DerReader, what: string): { readonly stringType: StringType; readonly value: string } {
  const decoder = DECODERS.get(reader.nextTag);
  if (decoder === undefined) {
    reader.skip(what);
    return { stringType: 'other', value: '' };
  }
  const { stringType, decode } = decoder;
  const value = decode(reader.octets(reader.nextTag, what));
  if (value === undefined)
    throw new Refused('UnexpectedStructure', `${what}: bytes that are not text of a ${stringType}`);
  return { stringType, value };
}

/** Text of an IA5String, including control characters; undefined if a byte is not ASCII. */
export function ia5Text(octets: Buffer): string | undefined {
  return isAscii(octets) ? octets.toString('latin1') : undefined;
}

function matching(octets: Buffer, alphabet: RegExp): string | undefined {
  const text = octets.toString('latin1');
  return alphabet.test(text) ? text : undefined;
}

/** Big-endian code points of a fixed width; surrogates are invalid. */
function fromCodePoints(octets: Buffer, width: 2 | 4): string | undefined {
  if (octets.length % width !== 0) return undefined;
  let text = '';
  for (let at = 0; at < octets.length; at += width) {
    const point = octets.readUIntBE(at, width);
    if (point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) return undefined;
    text += String.fromCodePoint(point);
  }
  return text;
}
