import { tlv } from './der-writer.ts';

/** One value of well-formed DER. `members` is there for what is constructed, and for an OCTET STRING that holds DER. */
export interface Value {
  readonly tag: number;
  readonly content: Buffer;
  readonly members?: readonly Value[];
}

/** Reads DER that a test has written; not made for anything else. */
export function parseTree(bytes: Buffer): readonly Value[] {
  const values: Value[] = [];
  for (let at = 0; at < bytes.length; ) {
    const [tag = 0, first = 0] = bytes.subarray(at);
    const octets = first < 0x80 ? 0 : first & 0x7f;
    const start = at + 2 + octets;
    const end = start + (octets === 0 ? first : bytes.readUIntBE(at + 2, octets));
    const content = bytes.subarray(start, end);
    const opens = (tag & 0x20) !== 0 || (tag === 0x04 && content[0] === 0x30);
    values.push({ tag, content, ...(opens && { members: parseTree(content) }) });
    at = end;
  }
  return values;
}

/** A value and all it holds, front to back. */
export function flatten(value: Value): readonly Value[] {
  return [value, ...(value.members ?? []).flatMap(flatten)];
}

export function encode({ tag, content }: Value): Buffer {
  return tlv(tag, content);
}

/** Encodes a tree with other bytes in place of one value; the lengths around it are right. */
export function encodeWith(value: Value, target: Value, replacement: Uint8Array): Buffer {
  if (value === target) return Buffer.from(replacement);
  if (value.members === undefined) return encode(value);
  return tlv(value.tag, ...value.members.map((member) => encodeWith(member, target, replacement)));
}
