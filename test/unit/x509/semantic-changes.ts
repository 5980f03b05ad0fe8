import { sign } from 'node:crypto';
import { encode, encodeWith, flatten, parseTree } from './der-tree.ts';
import {
  type Bytes,
  bitString,
  indefiniteLength,
  nonMinimalLength,
  octetString,
  oid,
  sequence,
  TAG,
  tlv,
} from './der-writer.ts';
import {
  type Attribute,
  attribute,
  extension,
  extensionRequest,
  generalName,
  keyPair,
  makeRequest,
  OID,
  type RequestOptions,
  type San,
  type StringForm,
  subjectAltName,
} from './request-factory.ts';

/**
 * Makes of a kubelet's request one that means something else to a reader that takes the first, the last or all of what is there twice, passes over what it does not
 * know, or reads BER. It is signed as it stands, so that only its meaning can be why it is refused.
 *
 * @param own the request of an honest kubelet: `commonName` and `sans`
 * @param foreign a name of someone else
 * @param noise stands for a choice, and for an order
 */
export type SemanticChange = (own: RequestOptions, foreign: San, noise: number) => RequestOptions;

const pick = <T>(from: readonly [T, ...T[]], noise: number): T => from[noise % from.length] ?? from[0];
/** Both orders: one reader takes the first, another one the last. */
const inOrder = <T>(noise: number, ...both: readonly [T, T]): readonly T[] =>
  noise % 2 === 0 ? both : both.toReversed();

const names = ({ sans = [] }: RequestOptions): readonly (San | Bytes)[] => sans;
const O: Attribute = { oid: OID.organization, value: 'system:nodes' };
const cn = ({ commonName = '' }: RequestOptions): Attribute => ({ oid: OID.commonName, value: commonName });
const only = (own: RequestOptions, value: Bytes): RequestOptions => ({
  ...own,
  sans: [],
  extensions: [sequence(oid(OID.subjectAltName), value)],
});
/** The names as a subjectAltName extension holds them. */
const sanValue = (own: RequestOptions): Buffer =>
  sequence(...names(own).map((san) => (san instanceof Uint8Array ? san : generalName(san))));

const OTHER_EXTENSIONS = [
  OID.basicConstraints,
  OID.keyUsage,
  OID.extendedKeyUsage,
  // subjectKeyIdentifier, issuerAltName, nameConstraints, one that no one knows.
  '2.5.29.14',
  '2.5.29.18',
  '2.5.29.30',
  '1.2.3',
] as const;
/** challengePassword, unstructuredName, and the extensions of another vendor, which some signers read. */
const OTHER_ATTRIBUTES = [OID.challengePassword, '1.2.840.113549.1.9.2', '1.3.6.1.4.1.311.2.1.14'] as const;
const OTHER_FORMS: readonly [StringForm, ...StringForm[]] = [
  'ia5String',
  'teletexString',
  'bmpString',
  'universalString',
  'octetString',
];
/** OU, serialNumber, C, DC, emailAddress. */
const OTHER_TYPES = ['2.5.4.11', '2.5.4.5', '2.5.4.6', '0.9.2342.19200300.100.1.25', '1.2.840.113549.1.9.1'] as const;
const OTHER_NAMES: readonly [San, ...San[]] = [
  { kind: 'rfc822Name', value: 'a@b' },
  { kind: 'uniformResourceIdentifier', value: 'spiffe://x' },
  { kind: 'otherName' },
  { kind: 'x400Address' },
  { kind: 'directoryName' },
  { kind: 'ediPartyName' },
  { kind: 'registeredID' },
];

/** None of these is what a kubelet sends, nor the same in another text: no policy approves one. */
export const SEMANTIC_CHANGES: Readonly<Record<string, SemanticChange>> = {
  'a second subjectAltName extension': (own, foreign, noise) => ({
    ...own,
    sans: [],
    extensions: inOrder(noise, subjectAltName(names(own)), subjectAltName([foreign], noise % 4 > 1)),
  }),
  'subjectAltName twice, the same': (own) => ({ ...own, extensions: [subjectAltName(names(own))] }),
  'another extension': (own, _, noise) => {
    const other = extension(pick(OTHER_EXTENSIONS, noise >> 2), sequence(), noise % 4 > 1);
    return { ...own, sans: [], extensions: inOrder(noise, subjectAltName(names(own)), other) };
  },
  'another extension twice': (own, _, noise) => {
    const other = extension(pick(OTHER_EXTENSIONS, noise), sequence());
    return { ...own, extensions: [other, other] };
  },
  'a second extensionRequest': (own, foreign, noise) => ({
    ...own,
    attributes: inOrder(
      noise,
      extensionRequest(subjectAltName(names(own))),
      extensionRequest(subjectAltName([foreign])),
    ),
  }),
  'a second value of extensionRequest': (own, foreign, noise) => ({
    ...own,
    attributes: [
      sequence(
        oid(OID.extensionRequest),
        tlv(TAG.set, ...inOrder(noise, sequence(subjectAltName(names(own))), sequence(subjectAltName([foreign])))),
      ),
    ],
  }),
  'a further attribute': (own, foreign, noise) => {
    const other = sequence(oid(pick(OTHER_ATTRIBUTES, noise >> 1)), tlv(TAG.set, sequence(subjectAltName([foreign]))));
    return { ...own, attributes: inOrder(noise, extensionRequest(subjectAltName(names(own))), other) };
  },
  'extensions in the attribute of another vendor': (own, _, noise) => ({
    ...own,
    attributes: [sequence(oid(pick(OTHER_ATTRIBUTES, noise)), tlv(TAG.set, sequence(subjectAltName(names(own)))))],
  }),
  'an attribute without values': (own, _, noise) => ({
    ...own,
    attributes: inOrder(
      noise,
      extensionRequest(subjectAltName(names(own))),
      sequence(oid(OID.extensionRequest), tlv(TAG.set)),
    ),
  }),
  'O and CN in one RDN': (own, _, noise) => ({
    ...own,
    subject: [tlv(TAG.set, ...inOrder(noise, attribute(O), attribute(cn(own))))],
  }),
  'a second common name': (own, _, noise) => ({
    ...own,
    subject: [[O], ...inOrder(noise >> 1, [cn(own)], [{ ...cn(own), value: pick(['system:node:x', 'admin'], noise) }])],
  }),
  'a second common name in one RDN': (own, _, noise) => ({
    ...own,
    subject: [[O], tlv(TAG.set, ...inOrder(noise, attribute(cn(own)), attribute({ ...cn(own), value: 'admin' })))],
  }),
  'the same common name twice': (own) => ({ ...own, subject: [[O], [cn(own)], [cn(own)]] }),
  'a second organization': (own, _, noise) => ({
    ...own,
    subject: [...inOrder(noise, [O], [{ ...O, value: 'system:masters' }]), [cn(own)]],
  }),
  'a second organization in one RDN': (own, _, noise) => ({
    ...own,
    subject: [tlv(TAG.set, ...inOrder(noise, attribute(O), attribute({ ...O, value: 'system:masters' }))), [cn(own)]],
  }),
  'a further RDN': (own, _, noise) => {
    const other: readonly Attribute[] = [{ oid: pick(OTHER_TYPES, noise >> 1), value: 'DE' }];
    return { ...own, subject: noise % 2 === 0 ? [[O], other, [cn(own)]] : [other, [O], [cn(own)]] };
  },
  'an RDN without attributes': (own, _, noise) => ({
    ...own,
    subject: noise % 2 === 0 ? [tlv(TAG.set), [O], [cn(own)]] : [[O], [cn(own)], tlv(TAG.set)],
  }),
  'another string type': (own, _, noise) => {
    const form = pick(OTHER_FORMS, noise >> 1);
    return { ...own, subject: noise % 2 === 0 ? [[O], [{ ...cn(own), form }]] : [[{ ...O, form }], [cn(own)]] };
  },
  'text in pieces, as BER has it': (own) => {
    const { value } = cn(own);
    const piece = (text: string): Buffer => tlv(TAG.utf8String, Buffer.from(text));
    return {
      ...own,
      subject: [
        [O],
        tlv(
          TAG.set,
          sequence(oid(OID.commonName), tlv(TAG.utf8String | 0x20, piece(value.slice(0, 5)), piece(value.slice(5)))),
        ),
      ],
    };
  },
  'text around the common name': (own, _, noise) => ({
    ...own,
    subject: [
      [O],
      [
        {
          ...cn(own),
          value: pick([' #', '# ', '#\0', '#\0x', '#\u200b', '\ufeff#'], noise).replace('#', cn(own).value),
        },
      ],
    ],
  }),
  'a name of somebody else': (own, foreign, noise) => ({
    ...own,
    sans: noise % 2 === 0 ? [...names(own), foreign] : [foreign, ...names(own)],
  }),
  'only names of somebody else': (own, foreign) => ({ ...own, sans: [foreign] }),
  'no names': (own) => ({ ...own, sans: [] }),
  'a name of another kind': (own, _, noise) => ({ ...own, sans: [...names(own), pick(OTHER_NAMES, noise)] }),
  'an address of another length': (own, _, noise) => ({
    ...own,
    sans: [...names(own), { kind: 'iPAddress', value: Buffer.alloc(pick([0, 1, 3, 5, 8, 15, 17, 32], noise), 10) }],
  }),
  'a name in pieces, as BER has it': (own, _, noise) => ({
    ...own,
    sans: [...names(own), tlv(pick([0xa2, 0xa7], noise), tlv(noise % 2 === 0 ? 0x16 : 0x04, Buffer.from('node')))],
  }),
  'bytes in a DNS name that are none': (own, _, noise) => ({
    ...own,
    sans: [
      ...names(own),
      tlv(
        0x82,
        Buffer.from(pick(['', '.', 'node-1\0', 'node-1\0.evil.io', 'node-1 ', '\u{fb01}', 'node_1', '*'], noise)),
      ),
    ],
  }),
  'a subjectAltName value in pieces, as BER has it': (own) => {
    const value = sanValue(own);
    return only(own, tlv(0x24, octetString(value.subarray(0, 4)), octetString(value.subarray(4))));
  },
  'two lists of names': (own, foreign, noise) =>
    only(own, octetString(Buffer.concat(inOrder(noise, sanValue(own), sequence(generalName(foreign)))))),
  'bytes after the names': (own, _, noise) =>
    only(own, octetString(Buffer.concat([sanValue(own), Buffer.alloc(1 + (noise % 3))]))),
  'names in a SET': (own) => only(own, octetString(tlv(TAG.set, sanValue(own).subarray(2)))),
  'critical written as BER has it': (own, _, noise) =>
    only(own, Buffer.concat([tlv(TAG.boolean, Buffer.from([pick([0, 1, 0x80], noise)])), octetString(sanValue(own))])),
  'another version': (own, _, noise) => ({ ...own, version: 1 + (noise % 127) }),
};

type Form = (value: { readonly tag: number; readonly content: Buffer }, noise: number) => Buffer;

/** What only BER has, or what is beside the value: none of it is ever accepted. */
const FORMS: readonly [Form, ...Form[]] = [
  ({ tag, content }) => nonMinimalLength(tag, content),
  ({ tag, content }) => indefiniteLength(tag, content),
  // Two octets that are no value of their own: the end of contents of BER.
  ({ tag, content }) => Buffer.concat([tlv(tag, content), Buffer.alloc(2)]),
];

/** A request of which one value, wherever it stands, has a form that DER does not have. Signed as it stands. */
export function inAnotherForm(
  options: RequestOptions & { readonly key: 'p256' | 'ed25519' },
  at: number,
  noise: number,
): Buffer {
  const [root] = parseTree(makeRequest(options).der);
  if (root === undefined) throw new Error('there is no request');
  const values = flatten(root);
  const target = values[Math.floor(at * values.length)] ?? root;
  const replacement = pick(FORMS, noise)(target, noise);
  const [info, algorithm] = root.members ?? [];
  if (info === undefined || algorithm === undefined) throw new Error('it has no parts');
  if (!flatten(info).includes(target)) return encodeWith(root, target, replacement);
  const changed = encodeWith(info, target, replacement);
  const digest = options.key === 'p256' ? 'sha256' : null;
  return sequence(changed, encode(algorithm), bitString(sign(digest, changed, keyPair(options.key).privateKey)));
}
