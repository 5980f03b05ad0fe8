import { X509Certificate } from 'node:crypto';
import { rootCertificates } from 'node:tls';
import { certificate, pem } from './certificate-writer.ts';
import { encode, encodeWith, flatten, parseTree, type Value } from './der-tree.ts';
import { tlv } from './der-writer.ts';

/** The same sequence in each run (mulberry32). In [0, 1). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const TIMES = [
  '20550101000000.000Z',
  '20550101000000Z',
  '2601010000Z',
  '260101000000+0000',
  '260101000000+0130',
  '991332000000Z',
];
const STRINGS = [0x0c, 0x12, 0x13, 0x14, 0x16, 0x1a, 0x1c, 0x1e];

/** Certificates in DER, most of them changed: the roots that Node.js ships. */
export function* certificateInputs(count: number): Generator<Buffer> {
  const random = randomOf(40);
  const below = (limit: number): number => Math.floor(random() * limit);
  const pick = <T>(among: readonly T[]): T => among[below(among.length)]!;
  const roots = rootCertificates.map((text) => new X509Certificate(text).raw);
  const changed = ({ tag, content, members }: Value): Buffer => {
    const bytes = Buffer.from(content);
    if (tag === 0x17 || tag === 0x18) return tlv(random() < 0.5 ? tag : 0x18, Buffer.from(pick(TIMES)));
    if (STRINGS.includes(tag) && random() < 0.5) return tlv(pick(STRINGS), bytes);
    switch (below(6)) {
      case 0:
        return tlv(tag, bytes.subarray(0, below(bytes.length + 1)));
      case 1:
        return tlv(tag ^ (1 << below(6)), bytes);
      case 2:
        return tlv(tag, Buffer.concat([Buffer.from([below(256)]), bytes]));
      case 3:
        return Buffer.concat([tlv(tag, bytes), tlv(tag, bytes)]);
      case 4:
        return members === undefined ? Buffer.alloc(0) : tlv(tag, ...members.toReversed().map(encode));
      default:
        if (bytes.length > 0) bytes[below(bytes.length)] = below(256);
        return tlv(tag, bytes);
    }
  };
  for (let index = 0; index < count; index += 1) {
    const root = pick(roots);
    const kind = random();
    if (kind < 0.1) yield root;
    else if (kind < 0.3) {
      const bytes = Buffer.from(root);
      bytes[below(bytes.length)] = below(256);
      yield bytes;
    } else {
      const [tree] = parseTree(root);
      if (tree !== undefined) yield encodeWith(tree, pick(flatten(tree)), changed(pick(flatten(tree))));
      else yield root;
    }
  }
}

const PIECES = [
  '\n',
  '\r',
  '\r\n',
  ' ',
  '\t',
  '-',
  '-----',
  '=',
  ':',
  'a: b\n',
  '\xef\xbb\xbf',
  '-----BEGIN ',
  '\n-----END ',
  'A',
  '!',
];

/** Bundles in PEM, most of them with a few changes. Each character is one byte. */
export function* pemInputs(count: number): Generator<string> {
  const random = randomOf(41);
  const below = (limit: number): number => Math.floor(random() * limit);
  const pick = <T>(among: readonly T[]): T => among[below(among.length)]!;
  const blocks = [
    pem(certificate()),
    pem(certificate({ serial: [2] })),
    pem(certificate({ serial: [0x80] })),
    pem(Buffer.from('no key'), 'EC PRIVATE KEY'),
    pem(Buffer.from('no certificate')),
    '# comment\n',
  ];
  for (let index = 0; index < count; index += 1) {
    let text = Array.from({ length: 1 + below(3) }, () => pick(blocks)).join('');
    for (let edits = below(4); edits > 0; edits -= 1) {
      // Near a line with dashes; of a body only its line breaks, so that its bytes stay or are no base64.
      const marks = [...text.matchAll(/-----/g)].map(({ index: mark }) => Math.max(0, mark + pick([-1, 0, 5, 6])));
      const breaks = [...text.matchAll(/\n/g)].map(({ index: at }) => at);
      const isBody = random() < 0.2;
      const at = pick(isBody ? [0, ...breaks] : [0, ...marks]);
      text = `${text.slice(0, at)}${random() < 0.6 ? pick(PIECES) : ''}${text.slice(at + below(isBody ? 2 : 3))}`;
    }
    yield text;
  }
}
