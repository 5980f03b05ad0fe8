import { sign } from 'node:crypto';
import * as fc from 'fast-check';
import { encode, encodeWith, flatten, parseTree, type Value } from './der-tree.ts';
import { type Bytes, bitString, indefiniteLength, nonMinimalLength, sequence, tlv } from './der-writer.ts';
import { keyPair, makeRequest, type RequestOptions, type San, toPem } from './request-factory.ts';

const dnsName = fc
  .array(fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?$/), { minLength: 1, maxLength: 4 })
  .map((labels) => labels.join('.'));

const address = fc.oneof(
  fc.ipV4(),
  fc.ipV6(),
  fc.ipV4().map((v4) => `::ffff:${v4}`),
);

const san: fc.Arbitrary<San> = fc.oneof(
  { weight: 5, arbitrary: dnsName.map((value): San => ({ kind: 'dNSName', value })) },
  { weight: 5, arbitrary: address.map((value): San => ({ kind: 'iPAddress', value })) },
  { weight: 1, arbitrary: fc.constantFrom<San>({ kind: 'rfc822Name', value: 'a@b' }, { kind: 'registeredID' }) },
);

/** What kubelets send, and what may stand in its place and still be a well-formed request. */
export const requestOptions = fc.record({
  commonName: fc.oneof(
    dnsName.map((node) => `system:node:${node}`),
    fc.string({ unit: 'grapheme', maxLength: 40 }),
  ),
  organizations: fc.oneof(fc.constant(['system:nodes']), fc.array(fc.string({ maxLength: 20 }), { maxLength: 3 })),
  sans: fc.array(san, { maxLength: 12 }),
  sansCritical: fc.boolean(),
  // P-384 takes ten times as long to sign with.
  key: fc.constantFrom('p256', 'p256', 'p256', 'p256', 'p384', 'ed25519', 'ed25519', 'ed25519'),
}) satisfies fc.Arbitrary<RequestOptions>;

interface Mutation {
  readonly options: RequestOptions;
  /** Where pieces come from that are put in. */
  readonly donor: RequestOptions;
  readonly change: Change;
  readonly noise: Buffer;
  /** Where, as a share of the whole. */
  readonly at: number;
  /** Signed anew, so that the change shows in the shape and not in the signature. */
  readonly signed: boolean;
}

type Change = (value: Value, noise: Buffer, pieces: readonly Value[]) => Bytes;

const pick = <T>(from: readonly T[], noise: Buffer): T => from[noise.readUInt8() % from.length]!;

function flipBit(bytes: Buffer, at: number, noise: Buffer): Buffer {
  const flipped = Buffer.from(bytes);
  if (at < flipped.length) flipped[at]! ^= 1 << (noise.at(-1)! & 7);
  return flipped;
}

const TAGS = [1, 2, 3, 4, 5, 6, 0x0c, 0x13, 0x16, 0x1e, 0x30, 0x31, 0x81, 0x82, 0x86, 0x87, 0xa0, 0xa4];

/** What can happen to one value of a tree. */
const CHANGES: readonly Change[] = [
  () => Buffer.alloc(0),
  (value) => Buffer.concat([encode(value), encode(value)]),
  (value, noise, pieces) => Buffer.concat([encode(value), encode(pick(pieces, noise))]),
  (_, noise, pieces) => encode(pick(pieces, noise)),
  ({ content }, noise) => tlv(noise.readUInt8(), content),
  ({ content }, noise) => tlv(pick(TAGS, noise), content),
  ({ tag, content }) => tlv(tag ^ 0x20, content),
  ({ tag }, noise) => tlv(tag, noise),
  ({ tag }) => tlv(tag),
  ({ tag, content }, noise) => tlv(tag, content.subarray(0, noise.readUInt8())),
  ({ tag, content }, noise) => tlv(tag, content, noise),
  ({ tag, content }) => nonMinimalLength(tag, content),
  ({ tag, content }) => indefiniteLength(tag, content),
  (value) => sequence(encode(value)),
  ({ tag, members = [] }) => tlv(tag, ...members.toReversed().map(encode)),
  ({ tag, content }, noise) => tlv(tag, flipBit(content, noise.readUInt8() % (content.length + 1), noise)),
];

function mutateTree({ options, donor, change, noise, at, signed }: Mutation): Buffer {
  const root = parseTree(makeRequest(options).der)[0]!;
  const values = flatten(root);
  const target = values[Math.floor(at * values.length)]!;
  const pieces = [...values, ...flatten(parseTree(makeRequest(donor).der)[0]!)];
  const replacement = change(target, noise, pieces);
  const [info, algorithm] = root.members!;
  if (!signed || !flatten(info!).includes(target)) return encodeWith(root, target, replacement);
  const changed = encodeWith(info!, target, replacement);
  const digest = { p256: 'sha256', p384: 'sha384' }[String(options.key)] ?? null;
  const signature = sign(digest, changed, keyPair(options.key ?? 'p256').privateKey);
  return sequence(changed, encode(algorithm!), bitString(signature));
}

/** Changes bytes without a thought for what they mean. */
function mutateBytes(bytes: Buffer, donor: Buffer, { noise, at }: Mutation): Buffer {
  const position = Math.floor(at * bytes.length);
  const head = bytes.subarray(0, position);
  switch (noise.readUInt8() % 6) {
    case 0:
      return Buffer.from(head);
    case 1:
      return Buffer.concat([head, noise, bytes.subarray(position)]);
    case 2:
      return Buffer.concat([head, bytes.subarray(position + noise.length)]);
    case 3:
      return Buffer.concat([head, donor.subarray(position)]);
    default:
      return flipBit(bytes, position, noise);
  }
}

const mutation: fc.Arbitrary<Mutation> = fc.record({
  options: requestOptions,
  donor: requestOptions,
  change: fc.constantFrom(...CHANGES),
  noise: fc.uint8Array({ minLength: 1, maxLength: 9 }).map((bytes) => Buffer.from(bytes)),
  // Not fc.double, which picks among all doubles: nearly all of them are near 0.
  at: fc.nat({ max: 65_535 }).map((share) => share / 65_536),
  signed: fc.boolean(),
});

/** A request changed in its DER tree, its DER bytes or its PEM text: nearly all of them broken. */
export const mutatedRequest: fc.Arbitrary<Buffer> = fc.oneof(
  { weight: 4, arbitrary: mutation.map((one) => toPem(mutateTree(one))) },
  {
    weight: 2,
    arbitrary: mutation.map((one) => toPem(mutateBytes(makeRequest(one.options).der, makeRequest(one.donor).der, one))),
  },
  {
    weight: 1,
    arbitrary: mutation.map((one) => mutateBytes(makeRequest(one.options).pem, makeRequest(one.donor).pem, one)),
  },
);
