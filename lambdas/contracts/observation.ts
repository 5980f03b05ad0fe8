import * as z from 'zod/mini';
import { printable } from '../printable.ts';
import { BASES, SOURCE_IDS } from '../tables/audit-sources.ts';
import { CERTIFICATE_CLASSES } from '../tables/certificate-classes.ts';
import { ISSUED_VERDICTS } from '../tables/issued-verdicts.ts';
import { keysOf } from '../tables/keys.ts';
import { timestamp } from '../time.ts';
import type { Contract } from './contract.ts';
import { Count, Flag } from './values.ts';

// Texts are escaped, and times rewritten like `Date.toISOString`, so that texts compare like times.

/** Printable text, cut to `limit` characters. */
export function harmless(limit: number) {
  const error = `is not text of at most ${limit * 16} characters`;
  return z.string(error).check(
    z.maxLength(limit * 16, { error, abort: true }),
    z.overwrite((text) => printable(text, limit)),
  );
}

/** Keeps at most this many; further ones are dropped. */
export function harmlessTexts(limit: number, most: number) {
  const isList = (value: unknown): boolean =>
    Array.isArray(value) &&
    value.slice(0, most).every((text: unknown) => typeof text === 'string' && text.length <= limit * 16);
  return z.pipe(
    z.custom<readonly string[]>(isList, 'is not a list of strings'),
    z.transform((texts) => texts.slice(0, most).map((text) => printable(text, limit))),
  );
}

const TIME = /^(?:\d{4}|[+-]\d{6})-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/;
const AS_WRITTEN = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const A_TIME = 'is not a time as in 2026-11-21T10:02:17Z';

/** RFC 3339, in any time zone. */
export const AnyTime = z.string(A_TIME).check(
  z.refine((at) => TIME.test(at) && !Number.isNaN(Date.parse(at)), { error: A_TIME, abort: true }),
  z.overwrite((at) => (AS_WRITTEN.test(at) ? at : timestamp(Date.parse(at)))),
);

/** Characters: more than any source keeps, so that stored text is read back unchanged. */
const NAME_LIMIT = 600;
export const Name = harmless(NAME_LIMIT);
export const Place = harmless(1_000);
export const Sentence = harmless(1_200);
export const CertificateClassName = z.enum(keysOf(CERTIFICATE_CLASSES));
const Bool = z.boolean('is not true or false');

const Use = z.object({
  /** Without a valid certificate, something fails that is not skipped. */
  blocks: Bool,
  effect: harmless(400),
  /** The name of the server that it verifies, if that is a Service: `NAME.NAMESPACE.svc`. */
  server: z.optional(Name),
});
export type Use = Contract<typeof Use>;

const OBSERVED = { source: z.enum(SOURCE_IDS), observedAt: AnyTime };
export const Role = z.enum(['control-plane', 'etcd', 'worker']);
export type MemberRole = z.infer<typeof Role>;

const Issued = z.object({
  verdict: z.enum(ISSUED_VERDICTS),
  /** For people, after "the certificate"; absent if every name is proven. */
  why: z.optional(Sentence),
  /**
   * Reason of the condition Approved of its request: `AutoApproved`, `KubectlApprove`, …; absent if only the
   * certificate was seen.
   */
  approvedBy: z.optional(Name),
  /** An address in it is another's: if the next audit sees that too, it names another. */
  addressOfAnother: Flag,
  /** Evidence could not be read: it is unknown, or as bad as before. */
  evidenceUnread: Flag,
});
export type IssuedObservation = Contract<typeof Issued>;

/** One certificate seen at one place, or described by another object. */
const CertificateObservation = z.object({
  kind: z.literal('certificate'),
  ...OBSERVED,
  what: CertificateClassName,
  /**
   * The place, unique in the cluster with `what` and `position`: `10.0.1.31:2379`, `Secret eksa-system/berlin-ca tls.crt`,
   * `Machine eksa-system/berlin-x7k2`.
   */
  where: Place,
  /** Index at the place: 0 is the leaf of a chain, or the first certificate of a bundle. @default 0 */
  position: z.optional(Count),
  /** Name of its member (Node or Machine), if it belongs to one. */
  member: z.optional(Name),
  basis: z.enum(BASES),
  /** Absent if only the expiry is known. */
  notBefore: z.optional(AnyTime),
  notAfter: AnyTime,
  /** Precision of the expiry; whole days for EKS Anywhere. Milliseconds. @default 0 */
  precisionMs: z.optional(Count),
  /** The rest is known only if the certificate itself was read. Names as RFC 4514 writes them. */
  subject: z.optional(Sentence),
  issuer: z.optional(Sentence),
  commonName: z.optional(Name),
  serialNumber: z.optional(Name),
  /** SHA-256 of the DER, 64 lowercase hexadecimal digits. */
  fingerprint: z.optional(Name),
  isAuthority: z.optional(Bool),
  /** `P-256`, `RSA-2048`, `Ed25519`, …; for people. */
  key: z.optional(Name),
  /** Why key or signature is too weak, if so. */
  weakKey: z.optional(Name),
  weakSignature: z.optional(Name),
  /** Key identifiers, lowercase hexadecimal. */
  subjectKeyId: z.optional(Name),
  authorityKeyId: z.optional(Name),
  /** Whether a CA that this cluster shows elsewhere signed it; absent if unknown. */
  issuedByCluster: z.optional(Bool),
  /**
   * Whether the server proved possession of the key in a handshake; absent if unknown, for example of a server that
   * hangs up without a client certificate.
   */
  keyProven: z.optional(Bool),
  /** It is self-signed, and the previous one of the same kubelet was issued by the cluster. */
  issuedBefore: Flag,
  /** What renews it, for people. */
  renewedBy: z.optional(Name),
  /** When its manager renews it, and how that fails. */
  renewal: z.optional(z.object({ due: z.optional(AnyTime), failure: z.optional(Sentence) })),
  /** Why Go programs, and so all of Kubernetes, refuse it, whatever its dates. */
  refused: z.optional(Sentence),
  usedBy: z.optional(Use),
  /** Of a TLS Secret: its names of Services, `NAME.NAMESPACE.svc`. */
  serverNames: z.optional(harmlessTexts(253, 16)),
  /** For a kubelet serving certificate issued by the cluster: whether every name in it is proven to be its node's. */
  issued: z.optional(Issued),
  /** The address of its Node to which clients connect, if a kubelet's certificate is not for it. */
  lacksAddress: z.optional(Name),
});
export type CertificateObservation = Contract<typeof CertificateObservation>;

/** A machine or Node that exists, and so has certificates. */
const MemberObservation = z.object({
  kind: z.literal('member'),
  ...OBSERVED,
  /** A Node and its Machine are two members of one `node`. */
  role: Role,
  /** `Machine eksa-system/berlin-x7k2`, `Node worker-3`. */
  name: Name,
  node: z.optional(Name),
  createdAt: AnyTime,
  /** IP addresses in order of preference. Empty if unknown. */
  addresses: harmlessTexts(100, 64),
  /** One of its addresses is an ExternalIP, the only type that EKS Anywhere dials. */
  externalIp: Flag,
  /**
   * The manager of the machine, if that renews certificates automatically (EKS Auto Mode, Fargate, Bottlerocket,
   * hybrid).
   */
  kindOfNode: z.optional(z.enum(['fargate', 'auto-mode', 'hybrid'])),
});
export type MemberObservation = Contract<typeof MemberObservation>;

/**
 * The desired number of members of a role, from the object that creates them: a KubeadmControlPlane, an EtcdadmCluster.
 */
const GroupObservation = z.object({
  kind: z.literal('group'),
  ...OBSERVED,
  role: Role,
  /** `KubeadmControlPlane eksa-system/berlin`. */
  name: Name,
  wanted: Count,
  /** Days before expiry at which it replaces members. */
  rolloutBeforeDays: z.optional(Count),
  /** Paused until a person resumes it. */
  paused: Flag,
});
export type GroupObservation = Contract<typeof GroupObservation>;

const RequestState = z.enum(['pending', 'approved', 'issued', 'failed', 'denied']);
export type RequestState = z.infer<typeof RequestState>;

/**
 * The number of CertificateSigningRequests of one requester and signer in one state: one cluster had half a million of
 * them.
 */
const RequestsObservation = z.object({
  kind: z.literal('requests'),
  ...OBSERVED,
  signer: Name,
  /** `spec.username`; `*` for all further requesters together. */
  requester: Name,
  state: RequestState,
  count: Count,
  /** Those created in the last hour. */
  lastHour: Count,
  oldestAt: AnyTime,
  newestAt: AnyTime,
  /** Names of some, the newest first. */
  examples: harmlessTexts(NAME_LIMIT, 20),
  /** The text of the newest one's Failed or Denied condition. */
  message: z.optional(Sentence),
  /** Approved by certmarshal, and the signer issues nothing that certmarshal approves. */
  signerIdle: Flag,
});
export type RequestsObservation = Contract<typeof RequestsObservation>;

/** A CA of an EKS cluster, besides the certificate itself. Source: EKS API reference, CertificateAuthority. */
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

/** Renewals according to a kubelet's own metrics. */
const RenewalObservation = z.object({
  kind: z.literal('renewal'),
  ...OBSERVED,
  what: z.enum(['kubelet-serving', 'kubelet-client']),
  node: Name,
  /** Failed renewals since the kubelet started. */
  errors: Count,
  /** The kubelet reports no valid certificate (+Inf). */
  none: Bool,
  /** Number of replaced serving certificates since its start, and their average age. */
  rotations: z.optional(z.object({ count: Count, meanSeconds: Count })),
});
export type RenewalObservation = Contract<typeof RenewalObservation>;

/** Difference between the clock of an API server and ours. */
const ClockObservation = z.object({
  kind: z.literal('clock'),
  ...OBSERVED,
  server: Place,
  /** At least; negative if behind. */
  skewMs: z.number('is not a number'),
});
export type ClockObservation = Contract<typeof ClockObservation>;

/** A source was read completely: anything it did not list does not exist. */
const ReadObservation = z.object({
  kind: z.literal('read'),
  ...OBSERVED,
  /** Number of objects read. */
  count: Count,
});
export type ReadObservation = Contract<typeof ReadObservation>;

/** A source, or one place of it, could not be read: its earlier observations still hold. */
const UnreadObservation = z.object({
  kind: z.literal('unread'),
  ...OBSERVED,
  /** The place; absent if the whole source could not be read. */
  where: z.optional(Place),
  /** What is at the place. */
  what: z.optional(CertificateClassName),
  member: z.optional(Name),
  /** Of the problem: `forbidden`, `timeout`, `refused`, `unreachable`, `malformed`, `too-large`, … */
  problem: harmless(80),
  message: Sentence,
  remedy: Sentence,
  /**
   * Many clusters never show it, so it is reported only where it was seen before: kubeadm lets the scheduler listen on
   * loopback, and a Secret need not exist.
   */
  usual: Flag,
  /** Clients read these bytes too, and refuse them. */
  broken: Flag,
  /** Of what was issued and cannot be judged by its names. */
  issued: z.optional(Issued),
  usedBy: z.optional(Use),
});
export type UnreadObservation = Contract<typeof UnreadObservation>;

/** A source that is skipped on purpose. */
const OffObservation = z.object({
  kind: z.literal('off'),
  ...OBSERVED,
  /** `not opted in`, `lane default does not reach machines`, … */
  why: Sentence,
});
export type OffObservation = Contract<typeof OffObservation>;

/**
 * One fact from one source at one time. Plain data; all times RFC 3339 in UTC, all text printable and bounded. An
 * assessment knows only a list of these, in any order.
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
