import type { DecodeRefusalCode } from './certificate-request.ts';

/** Rejects an input. Stays inside this folder: decoders turn it into a value. */
export class Refused extends Error {
  readonly code: DecodeRefusalCode;

  constructor(code: DecodeRefusalCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** Identifier octets (X.690 §8.1.2) of the types that a request is made of. */
export const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  objectIdentifier: 0x06,
  utf8String: 0x0c,
  numericString: 0x12,
  printableString: 0x13,
  teletexString: 0x14,
  ia5String: 0x16,
  universalString: 0x1c,
  bmpString: 0x1e,
  sequence: 0x30,
  set: 0x31,
} as const;

const CONSTRUCTED = 0x20;
const CLASS = 0xc0;
const TAG_NUMBER = 0x1f;

/** Maximum nesting of values. A kubelet's request needs 7. */
const MAX_DEPTH = 16;

/** Go, and so every Kubernetes signer, keeps an arc in 31 bits. */
export const MAX_ARC = 2 ** 31 - 1;

/** The longest object identifier in common use has about 20 octets. */
const MAX_OID_OCTETS = 64;

/**
 * Reads DER (X.690 §8, §10, §11) front to back and accepts no other encoding of the same value: one input has one
 * reading. Every method moves the reader past what it returns, and throws {@link Refused} on anything unexpected.
 * `what` names the value in the message.
 */
export class DerReader {
  readonly #bytes: Buffer;
  readonly #end: number;
  readonly #depth: number;
  #position: number;
  // The content of the value that `#header` read last.
  #contentStart = 0;
  #contentEnd = 0;

  constructor(bytes: Buffer, start = 0, end = bytes.length, depth = 0) {
    this.#bytes = bytes;
    this.#position = start;
    this.#end = end;
    this.#depth = depth;
  }

  get atEnd(): boolean {
    return this.#position === this.#end;
  }

  /** Offset of the next value, for {@link bytesSince}. */
  get position(): number {
    return this.#position;
  }

  /** Identifier octet of the next value; -1 at the end. */
  get nextTag(): number {
    return this.atEnd ? -1 : this.#bytes[this.#position]!;
  }

  /** The encoded bytes from `position` up to here: a view, not a copy. */
  bytesSince(position: number): Buffer {
    return this.#bytes.subarray(position, this.#position);
  }

  /** The remaining bytes: a view, not a copy. */
  rest(): Buffer {
    const rest = this.#bytes.subarray(this.#position, this.#end);
    this.#position = this.#end;
    return rest;
  }

  /** Throws if anything follows what was read. */
  finish(what: string): void {
    if (this.atEnd) return;
    throw new Refused('TrailingData', `${what}: ${this.#end - this.#position} bytes follow its last element`);
  }

  /** Enters the next value, which must have this identifier octet. */
  enter(tag: number, what: string): DerReader {
    this.#expect(tag, what);
    return this.#content(what);
  }

  /** Enters the next value, of any type. */
  enterAny(what: string): DerReader {
    this.#header(what);
    return this.#content(what);
  }

  /** Content of a primitive value: a view, not a copy. */
  octets(tag: number, what: string): Buffer {
    this.#expect(tag, what);
    return this.#bytes.subarray(this.#contentStart, this.#contentEnd);
  }

  /** Content of an INTEGER in its minimal form (X.690 §8.3.2): two's complement, at least one octet. */
  integer(what: string): Buffer {
    const octets = this.octets(TAG.integer, what);
    const [first, second = 0] = octets;
    if (first === undefined) throw new Refused('NotDer', `${what}: an INTEGER without content`);
    const sign = second & 0x80 ? 0xff : 0;
    if (octets.length > 1 && first === sign) throw new Refused('NotDer', `${what}: an INTEGER in non-minimal form`);
    return octets;
  }

  /** A BOOLEAN: false is 00 and true is FF (X.690 §11.1). */
  boolean(what: string): boolean {
    const octets = this.octets(TAG.boolean, what);
    const [value] = octets;
    if (octets.length === 1 && (value === 0 || value === 0xff)) return value === 0xff;
    throw new Refused('NotDer', `${what}: a BOOLEAN that is neither 00 nor FF`);
  }

  null(what: string): void {
    if (this.octets(TAG.null, what).length > 0) throw new Refused('NotDer', `${what}: a NULL with content`);
  }

  /** Content of a BIT STRING that is a whole number of octets, as keys and signatures are. */
  bitString(what: string): DerReader {
    const reader = this.enter(TAG.bitString, what);
    const unused = reader.nextTag;
    if (unused === 0) {
      reader.#position += 1;
      return reader;
    }
    if (unused < 0) throw new Refused('NotDer', `${what}: a BIT STRING without content`);
    throw new Refused('UnexpectedStructure', `${what}: a BIT STRING that is not a whole number of octets`);
  }

  /** An OBJECT IDENTIFIER in dotted form, as a signer accepts it. */
  objectIdentifier(what: string): string {
    this.#expect(TAG.objectIdentifier, what);
    return this.#objectIdentifier(what);
  }

  /** An OBJECT IDENTIFIER in dotted form, with arcs of any size: those below 2.25 have 128 bits. */
  wideObjectIdentifier(what: string): string {
    this.#expect(TAG.objectIdentifier, what);
    const length = this.#contentEnd - this.#contentStart;
    if (length === 0 || length > MAX_OID_OCTETS) {
      throw new Refused('NotDer', `${what}: an OBJECT IDENTIFIER of ${length} octets`);
    }
    return this.#dotted(what, Infinity);
  }

  /** The remaining bytes, read as the content of an OBJECT IDENTIFIER under an implicit tag. */
  implicitObjectIdentifier(what: string): string {
    this.#contentStart = this.#position;
    this.#contentEnd = this.#position = this.#end;
    return this.#objectIdentifier(what);
  }

  /** Skips the next value, of any type. It and its content must be framed as DER; strings stay opaque. */
  skip(what: string): void {
    const tag = this.nextTag;
    switch (tag) {
      case TAG.boolean:
        this.boolean(what);
        return;
      case TAG.integer:
        this.integer(what);
        return;
      case TAG.null:
        this.null(what);
        return;
      case TAG.objectIdentifier:
        this.objectIdentifier(what);
        return;
    }
    const content = this.enterAny(what);
    if ((tag & CLASS) === 0 && (tag === 0 || isStructured(tag & TAG_NUMBER) !== ((tag & CONSTRUCTED) !== 0))) {
      throw new Refused('NotDer', `${what}: tag ${hex(tag)} does not exist in DER`);
    }
    if (tag & CONSTRUCTED) while (!content.atEnd) content.skip(what);
  }

  #expect(tag: number, what: string): void {
    const found = this.#header(what);
    if (found !== tag) {
      throw new Refused('UnexpectedStructure', `${what}: tag ${hex(tag)} expected, ${hex(found)} found`);
    }
  }

  #content(what: string): DerReader {
    if (this.#depth === MAX_DEPTH) throw new Refused('TooDeep', `${what}: more than ${MAX_DEPTH} values deep`);
    return new DerReader(this.#bytes, this.#contentStart, this.#contentEnd, this.#depth + 1);
  }

  /** Reads identifier and length octets (X.690 §8.1), moves past the whole value and returns the identifier octet. */
  #header(what: string): number {
    const bytes = this.#bytes;
    const start = this.#position;
    if (start === this.#end) throw new Refused('UnexpectedStructure', `${what}: missing`);
    if (start + 2 > this.#end) throw new Refused('NotDer', `${what}: cut short at byte ${start}`);
    const tag = bytes[start]!;
    if ((tag & TAG_NUMBER) === TAG_NUMBER) {
      throw new Refused('NotDer', `${what}: a tag number above 30 at byte ${start}`);
    }
    let contentStart = start + 2;
    let length = bytes[start + 1]!;
    if (length >= 0x80) {
      const count = length & 0x7f;
      if (count === 0) throw new Refused('NotDer', `${what}: indefinite length at byte ${start}`);
      // No input needs more than four octets for its length.
      if (count > 4) throw new Refused('NotDer', `${what}: a length of ${count} octets at byte ${start}`);
      if (contentStart + count > this.#end) throw new Refused('NotDer', `${what}: cut short at byte ${contentStart}`);
      length = bytes.readUIntBE(contentStart, count);
      if (length < 0x80 || length < 2 ** (8 * (count - 1))) {
        throw new Refused('NotDer', `${what}: a length in non-minimal form at byte ${start}`);
      }
      contentStart += count;
    }
    if (length > this.#end - contentStart) {
      throw new Refused(
        'NotDer',
        `${what}: ${length} bytes announced at byte ${start}, ${this.#end - contentStart} left`,
      );
    }
    this.#contentStart = contentStart;
    this.#contentEnd = this.#position = contentStart + length;
    return tag;
  }

  #objectIdentifier(what: string): string {
    const length = this.#contentEnd - this.#contentStart;
    if (length === 0) throw new Refused('NotDer', `${what}: an OBJECT IDENTIFIER without content`);
    if (length > MAX_OID_OCTETS) {
      throw new Refused('TooLarge', `${what}: an OBJECT IDENTIFIER of ${length} octets, ${MAX_OID_OCTETS} allowed`);
    }
    return this.#dotted(what, MAX_ARC);
  }

  #dotted(what: string, maxArc: number): string {
    const bytes = this.#bytes;
    const end = this.#contentEnd;
    let dotted = '';
    let arc = 0;
    let start = this.#contentStart;
    for (let at = start; at < end; at++) {
      const octet = bytes[at]!;
      if (at === start && octet === 0x80) throw new Refused('NotDer', `${what}: an arc in non-minimal form`);
      arc = arc * 128 + (octet & 0x7f);
      if (arc > maxArc) throw new Refused('UnexpectedStructure', `${what}: an arc above 2^31-1`);
      if (octet >= 0x80) continue;
      // The first two arcs share one number (X.690 §8.19.4).
      if (dotted !== '') dotted += `.${exactArc(arc, bytes, start, at)}`;
      else if (arc < 80) dotted = arc < 40 ? `0.${arc}` : `1.${arc - 40}`;
      else dotted = `2.${exactArc(arc, bytes, start, at, 80)}`;
      arc = 0;
      start = at + 1;
    }
    if (start !== end) throw new Refused('NotDer', `${what}: the last arc is cut short`);
    return dotted;
  }
}

/** An arc minus `shared`; a bigint if a number cannot hold the arc. */
function exactArc(arc: number, bytes: Buffer, start: number, last: number, shared = 0): number | bigint {
  if (arc <= Number.MAX_SAFE_INTEGER) return arc - shared;
  const octets = bytes.subarray(start, last + 1);
  return octets.reduce((sum, octet) => (sum << 7n) | BigInt(octet & 0x7f), 0n) - BigInt(shared);
}

/** EXTERNAL, EMBEDDED PDV, SEQUENCE, SET and CHARACTER STRING: DER constructs no other universal type (X.690 §10.2). */
function isStructured(tagNumber: number): boolean {
  return tagNumber === 8 || tagNumber === 11 || tagNumber === 16 || tagNumber === 17 || tagNumber === 29;
}

function hex(octet: number): string {
  return `0x${octet.toString(16).padStart(2, '0')}`;
}
