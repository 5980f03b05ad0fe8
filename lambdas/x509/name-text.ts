import { isAscii, isUtf8 } from 'node:buffer';
import { printable } from '../printable.ts';
import { type DerReader, Refused, TAG } from './der.ts';

/** Attributes of a Name. Those in use have fewer than 10. */
const MAX_ATTRIBUTES = 1024;
/** Characters of one text, and of a whole Name. */
const MAX_TEXT = 256;
const MAX_NAME = 512;
/** Octets shown of a value that is not text. */
const MAX_HEX = 64;

const VISIBLE_STRING = 0x1a;

/** Attribute types by object identifier, with the names of RFC 4514 §3, of Go, and of OpenSSL. */
const SHORT_NAMES: ReadonlyMap<string, string> = new Map([
  ['2.5.4.3', 'CN'],
  ['2.5.4.5', 'SERIALNUMBER'],
  ['2.5.4.6', 'C'],
  ['2.5.4.7', 'L'],
  ['2.5.4.8', 'ST'],
  ['2.5.4.9', 'STREET'],
  ['2.5.4.10', 'O'],
  ['2.5.4.11', 'OU'],
  ['2.5.4.17', 'POSTALCODE'],
  ['0.9.2342.19200300.100.1.1', 'UID'],
  ['0.9.2342.19200300.100.1.25', 'DC'],
  ['1.2.840.113549.1.9.1', 'emailAddress'],
]);

export interface NameText {
  /** RFC 4514: the most specific RDN first. Printable and bounded. */
  readonly text: string;
  /** Values that are text, printable, in encoded order. */
  readonly commonNames: readonly string[];
  readonly organizations: readonly string[];
  /** The encoding, for comparisons. */
  readonly encoded: Buffer;
}

/**
 * Reads the next value as a Name (RFC 5280 §4.1.2.4) for people, with any string type, order and attribute type. A
 * value that is not text is written in hexadecimal (RFC 4514 §2.4).
 */
export function readNameText(reader: DerReader, what: string): NameText {
  const start = reader.position;
  const sequence = reader.enter(TAG.sequence, what);
  const rdns: string[] = [];
  const commonNames: string[] = [];
  const organizations: string[] = [];
  let attributes = 0;
  while (!sequence.atEnd) {
    const set = sequence.enter(TAG.set, what);
    let rdn = '';
    while (!set.atEnd) {
      attributes += 1;
      if (attributes > MAX_ATTRIBUTES) throw new Refused('TooLarge', `${what}: more than ${MAX_ATTRIBUTES} attributes`);
      const pair = set.enter(TAG.sequence, what);
      const oid = pair.wideObjectIdentifier(what);
      const { encoded, text } = readValue(pair, what);
      pair.finish(what);
      if (text !== undefined && oid === '2.5.4.3') commonNames.push(printable(text, MAX_TEXT));
      if (text !== undefined && oid === '2.5.4.10') organizations.push(printable(text, MAX_TEXT));
      const name = SHORT_NAMES.get(oid);
      const value = name === undefined || text === undefined ? hexOf(encoded) : escaped(text);
      rdn += `${rdn === '' ? '' : '+'}${name ?? oid}=${value}`;
    }
    if (rdn === '') throw new Refused('UnexpectedStructure', `${what}: an RDN without attributes`);
    rdns.push(rdn);
  }
  const text = printable(rdns.toReversed().join(','), MAX_NAME);
  return { text, commonNames, organizations, encoded: reader.bytesSince(start) };
}

function readValue(pair: DerReader, what: string): { readonly encoded: Buffer; readonly text: string | undefined } {
  const start = pair.position;
  const tag = pair.nextTag;
  const octets = pair.enterAny(what).rest();
  return { encoded: pair.bytesSince(start), text: textOf(tag, octets) };
}

/** Undefined if it is not text, or not valid for its type. */
function textOf(tag: number, octets: Buffer): string | undefined {
  switch (tag) {
    case TAG.utf8String:
      return isUtf8(octets) ? octets.toString() : undefined;
    case TAG.printableString:
    case TAG.ia5String:
    case TAG.numericString:
    case VISIBLE_STRING:
      return isAscii(octets) ? octets.toString('latin1') : undefined;
    // T.61 by name, Latin-1 in practice.
    case TAG.teletexString:
      return octets.toString('latin1');
    case TAG.bmpString:
      return octets.length % 2 === 0 ? Buffer.from(octets).swap16().toString('utf16le') : undefined;
    case TAG.universalString:
      return universalText(octets);
    default:
      return undefined;
  }
}

function universalText(octets: Buffer): string | undefined {
  if (octets.length % 4 !== 0) return undefined;
  let text = '';
  for (let at = 0; at < octets.length; at += 4) {
    const point = octets.readUInt32BE(at);
    if (point > 0x10ffff) return undefined;
    text += String.fromCodePoint(point);
  }
  return text;
}

function hexOf(encoded: Buffer): string {
  const shown = encoded.toString('hex', 0, MAX_HEX);
  return `#${shown}${encoded.length > MAX_HEX ? '…' : ''}`;
}

const SPECIAL = /["+,;<>\\\0]|^[# ]| $/g;

/** RFC 4514 §2.4. */
function escaped(text: string): string {
  const cut = text.length > MAX_NAME ? `${text.slice(0, MAX_NAME)}…` : text;
  return cut.replaceAll(SPECIAL, (character) => (character === '\0' ? '\\00' : `\\${character}`));
}
