import type { NameAttribute, Subject } from './certificate-request.ts';
import { readText } from './character-strings.ts';
import { type DerReader, Refused, TAG } from './der.ts';

/** Reads the next value as a Name (RFC 5280 §4.1.2.4): every RDN and every attribute, in encoded order. */
export function readName(reader: DerReader, what: string): Subject {
  const names = reader.enter(TAG.sequence, what);
  const rdns: (readonly NameAttribute[])[] = [];
  while (!names.atEnd) rdns.push(readRdn(names.enter(TAG.set, what), what));
  return rdns;
}

function readRdn(set: DerReader, what: string): readonly NameAttribute[] {
  if (set.atEnd) throw new Refused('UnexpectedStructure', `${what}: an RDN without attributes`);
  const attributes: NameAttribute[] = [];
  let previous: Buffer | undefined;
  while (!set.atEnd) {
    const start = set.position;
    const pair = set.enter(TAG.sequence, what);
    const oid = pair.objectIdentifier(what);
    const { stringType, value } = readText(pair, what);
    pair.finish(what);
    attributes.push({ oid, stringType, value });
    const encoded = set.bytesSince(start);
    if (previous !== undefined && Buffer.compare(previous, encoded) > 0) {
      throw new Refused('NotDer', `${what}: the attributes of an RDN are not in DER's order`);
    }
    previous = encoded;
  }
  return attributes;
}
