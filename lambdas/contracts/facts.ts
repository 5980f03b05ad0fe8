import * as z from 'zod/mini';
import { BASES, SOURCE_IDS } from '../tables/audit-sources.ts';
import type { FindingCode } from '../tables/finding-codes.ts';
import { type Contract, list } from './contract.ts';
import { AnyTime, CertificateClassName, harmless, harmlessTexts, Role } from './observation.ts';
import { Count, Flag } from './values.ts';

/** Characters of a text of a finding, as made; twice that when it is read, for escapes. */
export const TEXT_LIMIT = 300;
const Text = harmless(2 * TEXT_LIMIT);
const MaybeText = z.optional(Text);
const Source = z.enum(SOURCE_IDS);

/** The first names of a list, as many as a sentence may show, and how many there are. */
const Names = z.object({ first: harmlessTexts(2 * TEXT_LIMIT, 7), count: Count });
export type Names = Contract<typeof Names>;

/** Which certificate it is. */
const CERTIFICATE = {
  where: Text,
  /** @default 0 */
  position: z.optional(Count),
  member: MaybeText,
  /** Sent along by a server. */
  isOfChain: Flag,
  source: Source,
};
const CertificateFacts = z.object(CERTIFICATE);
export type CertificateFacts = Contract<typeof CertificateFacts>;

/** What its clients lose, and the other places of the same one. */
const STAKE = { effect: MaybeText, alsoAt: z.optional(Names) };
const Estimate = z.optional(z.enum(['age', 'run', 'latest']));

/** `due` is the expiry. */
const Expiry = z.object({
  ...CERTIFICATE,
  ...STAKE,
  basis: z.enum(BASES),
  estimate: Estimate,
  /** When its manager should have renewed it, if it is late. */
  renewalDue: z.optional(AnyTime),
  renewalFailure: MaybeText,
});

/** What one source says about an expiry. */
const Statement = z.object({ source: Source, basis: z.enum(BASES), where: Text, notAfter: AnyTime });
export type Statement = Contract<typeof Statement>;

const Weakness = z.object({ ...CERTIFICATE, why: Text });

/** CertificateSigningRequests of one requester, or of all further ones, `*`; `request` names one. */
const Requests = z.object({
  requester: Text,
  signer: Text,
  count: Count,
  oldestAt: AnyTime,
  /** What the condition of the newest one says. */
  condition: MaybeText,
  request: MaybeText,
});

const Renewals = z.object({ node: Text, count: z.optional(Count), share: z.optional(z.number()) });

/** A certificate issued to a node, and what its evidence says. */
const Issued = z.object({
  node: MaybeText,
  where: Text,
  /** Of the certificate, if nothing else names its node. */
  commonName: MaybeText,
  notBefore: z.optional(AnyTime),
  approvedBy: MaybeText,
  why: MaybeText,
  /** An address of another node: critical if the next audit sees it too. */
  isAddress: Flag,
});

/** What could not be read, or not be kept. */
const Unread = z.discriminatedUnion('of', [
  z.object({ of: z.literal('certificate'), ...CERTIFICATE, ...STAKE, refused: MaybeText }),
  z.object({
    of: z.literal('source'),
    source: Source,
    /** Absent if it was not asked. */
    problem: MaybeText,
    message: MaybeText,
    remedy: MaybeText,
    isPartial: Flag,
    isServerExpired: Flag,
    /** Those of earlier reads that still count. */
    certificates: Count,
  }),
  z.object({
    of: z.literal('places'),
    source: Source,
    places: Names,
    problems: list(z.object({ problem: Text, count: Count }), 20),
    message: Text,
    remedy: Text,
    effect: MaybeText,
    /** Last seen over a day ago. */
    lost: Count,
  }),
  z.object({ of: z.literal('evidence'), certificates: Count, where: Text, why: Text }),
  z.object({ of: z.literal('findings'), count: Count, critical: Count, workloads: Count }),
  z.object({ of: z.literal('snapshot'), count: Count, all: Count }),
]);

/** What a finding of each code says besides its other fields; `lambdas/words/findings.ts` makes sentences of it. */
export const FACTS = {
  CertificateExpired: Expiry,
  CertificateExpiring: Expiry,
  CertificateNotYetValid: z.object({
    ...CERTIFICATE,
    ...STAKE,
    notBefore: AnyTime,
    notAfter: AnyTime,
    /** It ends before it begins. */
    isNever: Flag,
  }),
  /** `lifeMs`: assumed, because it is not known since when it is valid. */
  KubeletRenewalOverdue: z.object({ ...CERTIFICATE, lifeMs: z.optional(Count) }),
  /** What it cut short, or for how long it usually signs. */
  AuthorityBoundsLeaves: z.object({ ...CERTIFICATE, cutShort: z.optional(Names), lifeMs: z.optional(Count) }),
  /** `due` is the expiry of the CA. */
  OutlivesIssuer: z.object({ ...CERTIFICATE, notAfter: AnyTime, authority: Text }),
  VeryLongLived: z.object({ ...CERTIFICATE, notAfter: AnyTime, lifeMs: Count }),

  WeakKey: Weakness,
  WeakSignature: Weakness,
  /** `subject`: of what something else presents in its place. */
  IssuerUnknown: z.object({ ...CERTIFICATE, subject: MaybeText, isIssuedBefore: Flag, issuer: MaybeText }),
  KubeletNameMismatch: z.object({ ...CERTIFICATE, node: Text, commonName: MaybeText }),
  KubeletAddressMissing: z.object({ ...CERTIFICATE, address: Text }),
  NameMismatch: z.object({ where: Text, name: Text, names: Names, isWithoutServerNames: Flag }),
  CertificateUnreadable: Unread,

  StaleAnnotation: z.object({ ...CERTIFICATE, best: Statement, other: Statement }),
  ExpiryUnknown: z.discriminatedUnion('of', [
    z.object({
      of: z.literal('certificate'),
      ...CERTIFICATE,
      estimate: Estimate,
      notAfter: AnyTime,
      renewed: z.optional(Statement),
      /** Of the API server, if it does not answer now. */
      lastAnswer: z.optional(AnyTime),
    }),
    /** `pending`: how many of them have a pending request. */
    z.object({ of: z.literal('members'), members: Names, pending: Count }),
  ]),
  ClockSkew: z.object({ server: Text, skewMs: z.number() }),

  /** `due` is its activation. */
  SuccessorNotTrusted: z.object({ createdAt: AnyTime, nodes: Names, isActivating: Flag }),
  AuthorityDistributionFailed: z.object({ id: Text }),

  RenewalErrors: Renewals,
  RotationUnusual: Renewals,
  NoValidCertificate: Renewals,

  RequestPending: Requests,
  RequestNotIssued: Requests,
  SignerDoesNotIssue: z.object({ signer: Text, nodes: Count, request: MaybeText, isEks: Flag }),
  RequestFailed: Requests,
  RequestDenied: Requests,
  /** Without a requester: all of the cluster. */
  RequestStorm: z.object({ requester: MaybeText, count: Count }),

  IssuedNamesAnother: Issued,
  IssuedUnproven: Issued,

  /** An entry of `audit.accept` that ends soon, has ended, or matches no finding. */
  Acceptance: z.object({ code: Text, object: MaybeText, until: AnyTime, isUnused: Flag }),

  Unreachable: Unread,
  SourceUnread: Unread,
  SourceLost: Unread,
  CoverageShrunk: z.discriminatedUnion('of', [
    z.object({ of: z.literal('wanted'), role: Role, count: Count, wanted: Count, groups: Names }),
    z.object({ of: z.literal('none'), machines: Names }),
    z.object({ of: z.literal('gone'), role: Role, machines: Names, left: Count }),
  ]),
  SourcePartial: Unread,
  NotVisible: z.object({ classes: list(CertificateClassName, 100), off: list(Source, SOURCE_IDS.length) }),
} as const satisfies Record<FindingCode, z.ZodMiniType>;

export type Facts<C extends FindingCode = FindingCode> = Contract<(typeof FACTS)[C]>;

export function namesOf(names: readonly string[], shown = 3): Names {
  return { first: names.slice(0, shown + 1), count: names.length };
}
