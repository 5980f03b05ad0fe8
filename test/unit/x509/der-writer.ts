/** Writes DER, and on purpose also what DER forbids: a test says exactly which bytes it wants. */

export type Bytes = Uint8Array;

export const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
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

function lengthOctets(length: number): number[] {
  if (length < 0x80) return [length];
  const octets: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) octets.unshift(rest % 256);
  return [0x80 | octets.length, ...octets];
}

/** One value in definite, minimal form. */
export function tlv(tag: number, ...content: readonly (Bytes | readonly number[])[]): Buffer {
  const body = Buffer.concat(content.map((part) => Buffer.from(part)));
  return Buffer.concat([Buffer.from([tag, ...lengthOctets(body.length)]), body]);
}

/** The same value with one superfluous length octet (X.690 §10.1 forbids it). */
export function nonMinimalLength(tag: number, ...content: readonly Bytes[]): Buffer {
  const body = Buffer.concat(content);
  const octets = lengthOctets(body.length);
  const header = octets.length === 1 ? [0x81, ...octets] : [octets[0]! + 1, 0, ...octets.slice(1)];
  return Buffer.concat([Buffer.from([tag, ...header]), body]);
}

/** The same value in BER's indefinite form. */
export function indefiniteLength(tag: number, ...content: readonly Bytes[]): Buffer {
  return Buffer.concat([Buffer.from([tag, 0x80]), ...content, Buffer.from([0, 0])]);
}

export const sequence = (...content: readonly Bytes[]): Buffer => tlv(TAG.sequence, ...content);

/** SET OF in the order that DER wants; `tlv(TAG.set, …)` keeps the order given. */
export const setOf = (...members: readonly Bytes[]): Buffer =>
  tlv(TAG.set, ...members.toSorted((a, b) => Buffer.compare(a, b)));

export const octetString = (content: Bytes): Buffer => tlv(TAG.octetString, content);
export const bitString = (content: Bytes, unusedBits = 0): Buffer =>
  tlv(TAG.bitString, Buffer.from([unusedBits]), content);
export const boolean = (value: boolean): Buffer => tlv(TAG.boolean, Buffer.from([value ? 0xff : 0]));
export const nullValue = (): Buffer => tlv(TAG.null);
export const integer = (value: number): Buffer => tlv(TAG.integer, Buffer.from([value]));

/** `[number]`, constructed. */
export const constructed = (number: number, ...content: readonly Bytes[]): Buffer => tlv(0xa0 | number, ...content);
/** `[number]`, primitive. */
export const primitive = (number: number, content: Bytes): Buffer => tlv(0x80 | number, content);

const oids = new Map<string, Buffer>();

export function oid(dotted: string): Buffer {
  let encoded = oids.get(dotted);
  if (encoded === undefined) {
    const [first = 0n, second = 0n, ...others] = dotted.split('.').map(BigInt);
    const octets = [first * 40n + second, ...others].flatMap((arc) => {
      const digits = [Number(arc & 0x7fn)];
      for (let rest = arc >> 7n; rest > 0n; rest >>= 7n) digits.unshift(Number(rest & 0x7fn) | 0x80);
      return digits;
    });
    encoded = tlv(TAG.oid, octets);
    oids.set(dotted, encoded);
  }
  return encoded;
}
