import { canonicalAddress } from '../names.ts';
import type { GeneralName } from './certificate-request.ts';
import { ia5Text } from './character-strings.ts';
import { DerReader, Refused, TAG } from './der.ts';
import { readName } from './distinguished-name.ts';

/** A node asks for one to about twenty names. */
export const MAX_NAMES = 1024;

const WHAT = 'subjectAltName';

/** Decodes the value of a subjectAltName extension (RFC 5280 §4.2.1.6): every GeneralName, in encoded order. */
export function decodeSubjectAltName(extensionValue: Buffer): readonly GeneralName[] {
  const value = new DerReader(extensionValue);
  const sequence = value.enter(TAG.sequence, WHAT);
  value.finish(WHAT);
  if (sequence.atEnd) throw new Refused('UnexpectedStructure', `${WHAT}: 0 names found, at least 1 expected`);
  const names: GeneralName[] = [];
  while (!sequence.atEnd) {
    if (names.length === MAX_NAMES) throw new Refused('TooLarge', `${WHAT}: more than ${MAX_NAMES} names found`);
    names.push(readGeneralName(sequence));
  }
  return names;
}

function readGeneralName(names: DerReader): GeneralName {
  const tag = names.nextTag;
  const content = names.enterAny(WHAT);
  switch (tag) {
    case 0xa0:
      content.objectIdentifier(`${WHAT} otherName`);
      readExplicit(content, `${WHAT} otherName`);
      return { kind: 'otherName' };
    case 0x81:
      return { kind: 'rfc822Name', value: readIa5(content, 'rfc822Name') };
    case 0x82:
      return { kind: 'dNSName', value: readIa5(content, 'dNSName') };
    case 0xa3:
      while (!content.atEnd) content.skip(`${WHAT} x400Address`);
      return { kind: 'x400Address' };
    case 0xa4:
      readName(content, `${WHAT} directoryName`);
      content.finish(`${WHAT} directoryName`);
      return { kind: 'directoryName' };
    case 0xa5:
      while (!content.atEnd) content.skip(`${WHAT} ediPartyName`);
      return { kind: 'ediPartyName' };
    case 0x86:
      return { kind: 'uniformResourceIdentifier', value: readIa5(content, 'uniformResourceIdentifier') };
    case 0x87:
      return { kind: 'iPAddress', value: readAddress(content.rest()) };
    case 0x88:
      content.implicitObjectIdentifier(`${WHAT} registeredID`);
      return { kind: 'registeredID' };
    default:
      throw new Refused('UnexpectedStructure', `${WHAT}: tag 0x${tag.toString(16)} is not a GeneralName`);
  }
}

/** `value [0] EXPLICIT ANY` of an otherName. */
function readExplicit(content: DerReader, what: string): void {
  const explicit = content.enter(0xa0, what);
  content.finish(what);
  if (explicit.atEnd) throw new Refused('UnexpectedStructure', `${what}: no value found`);
  explicit.skip(what);
  explicit.finish(what);
}

function readIa5(content: DerReader, kind: string): string {
  const text = ia5Text(content.rest());
  if (text === undefined) throw new Refused('UnexpectedStructure', `${WHAT} ${kind}: bytes that are not ASCII`);
  return text;
}

function readAddress(octets: Buffer): string {
  const text = addressText(octets);
  if (text !== undefined) return text;
  throw new Refused('UnexpectedStructure', `${WHAT} iPAddress: ${octets.length} bytes found, 4 or 16 expected`);
}

/**
 * The text that inet_ntop writes. An IPv4-mapped IPv6 address stays one: `::ffff:10.0.0.1`. Undefined if it is not an
 * address.
 */
export function addressText(octets: Buffer): string | undefined {
  if (octets.length === 4) return octets.join('.');
  return octets.length === 16 ? canonicalAddress(octets.toString('hex').replace(/.{4}(?!$)/g, '$&:')) : undefined;
}
