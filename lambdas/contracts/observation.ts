import * as z from 'zod/mini';
import { printable } from '../printable.ts';
import { BASES, SOURCE_IDS } from '../tables/audit-sources.ts';
import { CERTIFICATE_CLASSES } from '../tables/certificate-classes.ts';
import { ISSUED_VERDICTS } from '../tables/issued-verdicts.ts';
import { keysOf } from '../tables/keys.ts';
import { isoOf } from '../words.ts';
import type { Contract } from './contract.ts';
import { Count, Flag } from './values.ts';

// People write observations too, for `certmarshal assess`: each text is made harmless, and each time written as `Date.toISOString` does, so that texts compare
// as times do.

/** Printable text, cut to `limit` characters. */
export function harmless(limit: number) {
  const error = `is not a text of at most ${limit * 16} characters`;
  return z.string(error).check(
    z.maxLength(limit * 16, { error, abort: true }),
    z.overwrite((text) => printable(text, limit)),
  );
}

/** At most so many; the others are passed over. */
export function harmlessTexts(limit: number, most: number) {
  const isList = (value: unknown): boolean =>
    Array.isArray(value) &&
    value.slice(0, most).every((text: unknown) => typeof text === 'string' && text.length <= limit * 16);
  return z.pipe(
    z.custom<readonly string[]>(isList, 'is not a list of texts'),
    z.transform((texts) => texts.slice(0, most).map((text) => printable(text, limit))),
  );
}

const TIME = /^(?:\d{4}|[+-]\d{6})-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/;
const AS_WRITTEN = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const A_TIME = 'is not a time as in 2026-11-21T10:02:17Z';

/** RFC 3339, in any time zone. */
export const AnyTime = z.string(A_TIME).check(
  z.refine((at) => TIME.test(at) && !Number.isNaN(Date.parse(at)), { error: A_TIME, abort: true }),
  z.overwrite((at) => (AS_WRITTEN.test(at) ? at : isoOf(Date.parse(at)))),
);

/** Characters: more than what any source keeps, so that what was stored comes back as it was. */
export const NAME_LIMIT = 600;
export const Name = harmless(NAME_LIMIT);
export const Place = harmless(1_000);
export const Sentence = harmless(1_200);
export const CertificateClassName = z.enum(keysOf(CERTIFICATE_CLASSES));
const Bool = z.boolean('is not true or false');

const OBSERVED = { source: z.enum(SOURCE_IDS), observedAt: AnyTime };
const Role = z.enum(['control-plane', 'etcd', 'worker', 'node-group']);
export type MemberRole = z.infer<typeof Role>;

/** How many names are kept to judge a certificate again when its request is gone; a kubelet asks for under ten. */
export const MAX_ISSUED_NAMES = 16;

const Issued = z.object({
  verdict: z.enum(ISSUED_VERDICTS),
  /** For people, after "the certificate"; absent where every name is proven. */
  why: z.optional(Sentence),
  /** Reason of the condition Approved of its request: `AutoApproved`, `KubectlApprove`, …; absent where only the certificate was seen. */
  approvedBy: z.optional(Name),
  /** Its names while they can change the verdict, first those that are not proven; where there are as many as fit there may be more. */
  names: z.optional(harmlessTexts(253, MAX_ISSUED_NAMES)),
  /** What is wrong with it whoever has its names, where it is still worth a look who that is. */
  fault: z.optional(Sentence),
  /** Nothing told who had its addresses when it was issued: that another node has one now says nothing. */
  mayHaveMoved: Flag,
  /** The first audit that said so without a break; absent where every name is proven. */
  since: z.optional(AnyTime),
  /** It is unknown because evidence could not be read. */
  evidenceUnread: Flag,
});
export type IssuedObservation = Contract<typeof Issued>;

/** One certificate seen at one place, or what another object says of it. */
const CertificateObservation = z.object({
  kind: z.literal('certificate'),
  ...OBSERVED,
  what: CertificateClassName,
  /**
   * The place, unique in the cluster with `what` and `position`: `10.0.1.31:2379`, `Secret eksa-system/berlin-ca tls.crt`,
   * `Machine eksa-system/berlin-x7k2`.
   */
  where: Place,
  /** In what the place shows: 0 is the leaf of a chain, or the first certificate of a bundle. @default 0 */
  position: z.optional(Count),
  /** Name of the member (Node or Machine) whose certificate it is, where it is one's. */
  member: z.optional(Name),
  basis: z.enum(BASES),
  /** Absent where only an end is told. */
  notBefore: z.optional(AnyTime),
  notAfter: AnyTime,
  /** The end is only known to this; whole days for EKS Anywhere. Milliseconds. @default 0 */
  precisionMs: z.optional(Count),
  /** The rest is known only when the certificate itself was read. Names as RFC 4514 writes them. */
  subject: z.optional(Sentence),
  issuer: z.optional(Sentence),
  commonName: z.optional(Name),
  serialNumber: z.optional(Name),
  /** SHA-256 of the DER, 64 lowercase hexadecimal digits. */
  fingerprint: z.optional(Name),
  isAuthority: z.optional(Bool),
  /** `P-256`, `RSA-2048`, `Ed25519`, …; for people. */
  key: z.optional(Name),
  /** Where key or signature is too weak to be trusted: why. */
  weakKey: z.optional(Name),
  weakSignature: z.optional(Name),
  /** Key identifiers, lowercase hexadecimal. */
  subjectKeyId: z.optional(Name),
  authorityKeyId: z.optional(Name),
  /** Whether the signature was made by an authority that this cluster shows elsewhere; absent where that cannot be told. */
  issuedByCluster: z.optional(Bool),
  /** Whether the server proved in a handshake that it has the key; absent where that cannot be told, as of a server that hangs up without a client certificate. */
  keyProven: z.optional(Bool),
  /** It is self-signed, and the cluster had issued the one that the same kubelet showed before. */
  issuedBefore: Flag,
  /** What renews it, for people. */
  renewedBy: z.optional(Name),
  /** Of a kubelet serving certificate that the cluster issued: whether every name in it is proven to be of its node. */
  issued: z.optional(Issued),
});
export type CertificateObservation = Contract<typeof CertificateObservation>;

/** A machine, Node or node group that exists, and so has certificates. */
const MemberObservation = z.object({
  kind: z.literal('member'),
  ...OBSERVED,
  /** A Node and its Machine are two members of one `node`. */
  role: Role,
  /** `Machine eksa-system/berlin-x7k2`, `Node worker-3`, `node group blue`. */
  name: Name,
  /** Name of its Node, where it has one. */
  node: z.optional(Name),
  createdAt: AnyTime,
  /** IP addresses, the one to use first. Empty where none is known. */
  addresses: harmlessTexts(100, 64),
  /** One of its addresses is an ExternalIP, which is all that EKS Anywhere dials. */
  externalIp: Flag,
  /** What the machine is managed by, where that renews certificates automatically (EKS Auto Mode, Fargate, Bottlerocket, hybrid). */
  kindOfNode: z.optional(z.enum(['fargate', 'auto-mode', 'hybrid'])),
});
export type MemberObservation = Contract<typeof MemberObservation>;

/** How many members of a role there should be, as the object that makes them says: a KubeadmControlPlane, an EtcdadmCluster. */
const GroupObservation = z.object({
  kind: z.literal('group'),
  ...OBSERVED,
  role: Role,
  /** `KubeadmControlPlane eksa-system/berlin`. */
  name: Name,
  wanted: Count,
  /** It replaces members so many days before their certificates end. */
  rolloutBeforeDays: z.optional(Count),
  /** It does nothing until a person resumes it. */
  paused: Flag,
});
export type GroupObservation = Contract<typeof GroupObservation>;

const RequestState = z.enum(['pending', 'approved', 'issued', 'failed', 'denied']);
export type RequestState = z.infer<typeof RequestState>;

/** CertificateSigningRequests of one requester and signer in one state, counted: one cluster had half a million of them. */
const RequestsObservation = z.object({
  kind: z.literal('requests'),
  ...OBSERVED,
  signer: Name,
  /** `spec.username`; `*` for all further requesters together. */
  requester: Name,
  state: RequestState,
  count: Count,
  /** Of these, created in the last hour. */
  lastHour: Count,
  oldestAt: AnyTime,
  newestAt: AnyTime,
  /** Names of some, the newest first. */
  examples: harmlessTexts(NAME_LIMIT, 20),
  /** Of the newest one: what its Failed or Denied condition says. */
  message: z.optional(Sentence),
});
export type RequestsObservation = Contract<typeof RequestsObservation>;

/** A certificate authority of an EKS cluster, beside the certificate itself. Source: EKS API reference, CertificateAuthority. */
const AuthorityObservation = z.object({
  kind: z.literal('authority'),
  ...OBSERVED,
  id: Name,
  createdAt: AnyTime,
  notAfter: z.optional(AnyTime),
  signingStatus: z.enum(['NOT_USED', 'ACTIVATING', 'IN_USE']),
  distributionStatus: z.enum(['IN_PROGRESS', 'COMPLETE', 'FAILED', 'DELETING']),
  firstAutoActivation: z.optional(AnyTime),
  finalAutoActivation: z.optional(AnyTime),
});
export type AuthorityObservation = Contract<typeof AuthorityObservation>;

/** What a kubelet's own metrics say of its renewals. */
const RenewalObservation = z.object({
  kind: z.literal('renewal'),
  ...OBSERVED,
  what: z.enum(['kubelet-serving', 'kubelet-client']),
  node: Name,
  /** Renewals that failed since the kubelet started. */
  errors: Count,
  /** It says that it has no valid certificate (+Inf). */
  none: Bool,
  /** How many serving certificates it replaced since it started, and how old these were on average. */
  rotations: z.optional(z.object({ count: Count, meanSeconds: Count })),
});
export type RenewalObservation = Contract<typeof RenewalObservation>;

/** How far the clock of an API server is from ours. */
const ClockObservation = z.object({
  kind: z.literal('clock'),
  ...OBSERVED,
  server: Place,
  /** At least; negative when it is behind. */
  skewMs: z.number('is not a number'),
});
export type ClockObservation = Contract<typeof ClockObservation>;

/** A source was read to its end: what it did not say now is not there. */
const ReadObservation = z.object({
  kind: z.literal('read'),
  ...OBSERVED,
  /** Objects looked at. */
  count: Count,
});
export type ReadObservation = Contract<typeof ReadObservation>;

/** `problem` of a place where a certificate was approved that is not issued yet. */
export const NOT_ISSUED = 'not-issued';

/** A source, or one place of it, could not be read: what it said before still holds. */
const UnreadObservation = z.object({
  kind: z.literal('unread'),
  ...OBSERVED,
  /** The place; absent when the whole source could not be read. */
  where: z.optional(Place),
  /** Other addresses of the same server, where it did not answer either. */
  alsoTried: z.optional(harmlessTexts(1_000, 16)),
  /** What is at the place. */
  what: z.optional(CertificateClassName),
  member: z.optional(Name),
  /** Of the problem: `forbidden`, `timeout`, `refused`, `unreachable`, `malformed`, `too-large`, … */
  problem: harmless(80),
  message: Sentence,
  remedy: Sentence,
  /** Many clusters do not show it, so it is told only where it was seen before: kubeadm lets the scheduler listen on loopback, and a Secret need not be there. */
  usual: Flag,
  /** Of a kubelet serving certificate whose names cannot be read: it is not proven. Of one that is not issued yet: what is said of the names that were asked for. */
  issued: z.optional(Issued),
});
export type UnreadObservation = Contract<typeof UnreadObservation>;

/** A source that is not looked at, on purpose. */
const OffObservation = z.object({
  kind: z.literal('off'),
  ...OBSERVED,
  /** `not opted in`, `lane default does not reach machines`, … */
  why: Sentence,
});
export type OffObservation = Contract<typeof OffObservation>;

/** The schema of each kind. */
export const OBSERVATIONS = {
  certificate: CertificateObservation,
  member: MemberObservation,
  group: GroupObservation,
  requests: RequestsObservation,
  authority: AuthorityObservation,
  renewal: RenewalObservation,
  clock: ClockObservation,
  read: ReadObservation,
  unread: UnreadObservation,
  off: OffObservation,
} as const;

/**
 * One thing that one source said at one time. Plain data; all times RFC 3339 in UTC, all text printable and bounded.
 * A list of these, in any order, is all that an assessment knows.
 */
export const Observation = z.discriminatedUnion('kind', [
  CertificateObservation,
  MemberObservation,
  GroupObservation,
  RequestsObservation,
  AuthorityObservation,
  RenewalObservation,
  ClockObservation,
  ReadObservation,
  UnreadObservation,
  OffObservation,
]);
export type Observation = Contract<typeof Observation>;
