import * as z from 'zod/mini';
import { SOURCE_IDS } from '../tables/audit-sources.ts';
import { CERTIFICATE_CLASSES } from '../tables/certificate-classes.ts';
import { FINDING_CODES, runbookOf, SEVERITIES } from '../tables/finding-codes.ts';
import type { IssuedVerdict } from '../tables/issued-verdicts.ts';
import { keysOf } from '../tables/keys.ts';
import { type Contract, list, lossy, printed } from './contract.ts';
import { CertificateTime, ClusterId, Count, Flag, Time } from './values.ts';

/** Findings in a summary; the snapshot has all of them. */
export const MAX_SUMMARY_FINDINGS = 20;
/** Kinds of findings in one tally, 6 kB of JSON. Where there are more, none has a class of certificate: codes and severities alone are fewer. */
export const MAX_TALLY = 60;
/** Characters of each text in a summary; what is longer is cut, and whole in the snapshot. */
export const SUMMARY_LIMITS = { object: 200, place: 100, message: 300, snapshotProblem: 300 } as const;

const Class = z.enum(keysOf(CERTIFICATE_CLASSES));
const Code = z.enum(keysOf(FINDING_CODES));
const Severity = z.enum(SEVERITIES);
const Sources = list(z.enum(SOURCE_IDS), SOURCE_IDS.length);

/** As it is kept and sent: what a person runs is made where it is shown, never read from what someone may have written. */
export const KeptFinding = z.pipe(
  z.object({
    code: Code,
    severity: Severity,
    cluster: ClusterId,
    /** What it is about: `kube-apiserver 10.0.1.31:6443`, `system:node:worker-3`, `source tls-secrets`. */
    object: printed(SUMMARY_LIMITS.object),
    what: z.optional(Class),
    /** Where it was seen, when that is more than `object`: the first of `placeCount`. */
    places: z.optional(list(printed(SUMMARY_LIMITS.place), MAX_SUMMARY_FINDINGS)),
    placeCount: z.optional(Count),
    /** The whole story in one sentence, without a full stop. */
    message: printed(SUMMARY_LIMITS.message),
    /** The first audit that found it, without a break. */
    since: CertificateTime,
    /** When it is due; absent where that is now, or not known. */
    due: z.optional(CertificateTime),
    /** How old the newest successful look is, where it could not be looked at now. */
    lastSeen: z.optional(CertificateTime),
    /** What or who renews the certificate. */
    renewedBy: z.optional(printed(SUMMARY_LIMITS.message)),
  }),
  // Never a path that someone else wrote: people open it.
  z.transform((finding) => ({ ...finding, runbook: runbookOf(finding.code) })),
);

/** How many findings of one kind there are. A tally that would be too long names no classes. */
const FindingTally = z.object({ code: Code, severity: Severity, what: z.optional(Class), count: Count });
export type FindingTally = Contract<typeof FindingTally>;

/** What two findings have in common that are counted together; sorts the worst first. */
export function kindOf({ code, severity, what }: Omit<FindingTally, 'count'>): string {
  return `${SEVERITIES.indexOf(severity)} ${code} ${what ?? ''}`;
}

/** Of one class the certificate that ends first, and how many there are. */
const ClassEnd = z.object({
  what: Class,
  count: Count,
  notBefore: z.optional(CertificateTime),
  notAfter: CertificateTime,
  where: printed(SUMMARY_LIMITS.place),
});
export type ClassEnd = Contract<typeof ClassEnd>;

/** Approvers in a summary; the others are counted together. */
export const MAX_APPROVERS = 8;

/** How many kubelet serving certificates have which verdict. */
const VerdictCounts = z.object({
  'names-another': Count,
  'not-proven': Count,
  'no-longer-proven': Count,
  unknown: Count,
  proven: Count,
} satisfies Record<IssuedVerdict, unknown>);
export type VerdictCounts = Contract<typeof VerdictCounts>;

/** What is said of the kubelet serving certificates that were issued, in all and by who approved them. */
const IssuedSummary = z.object({
  counts: VerdictCounts,
  /** The reason of the approval; absent where only the certificate was seen, and of all further ones together. */
  byApprover: list(
    z.object({ approvedBy: z.optional(printed(SUMMARY_LIMITS.place)), counts: VerdictCounts }),
    MAX_APPROVERS + 1,
  ),
});
export type IssuedSummary = Contract<typeof IssuedSummary>;

const Summary = z.object({
  auditedAt: Time,
  durationMs: Count,
  counts: z.object({ critical: Count, warning: Count, info: Count }),
  /** The most urgent ones of `findingCount`; those about workloads leave room for the others. */
  findings: list(KeptFinding, MAX_SUMMARY_FINDINGS),
  findingCount: Count,
  /** All of `findingCount`, counted by kind, the worst first. Absent in a summary of an earlier version. */
  tally: lossy(list(FindingTally, MAX_TALLY)),
  /** Absent where none was seen, and in a summary of an earlier version. */
  issued: lossy(IssuedSummary),
  /** Renewals of serving certificates that failed, as the kubelets of findings `RenewalErrors` count them. */
  renewErrors: z.optional(Count),
  ends: list(ClassEnd, Object.keys(CERTIFICATE_CLASSES).length),
  sources: z.object({ read: Sources, unread: Sources, off: Sources }),
  /** Why the snapshot could not be read or written: the next audit then knows less of earlier ones. */
  snapshotProblem: z.optional(printed(SUMMARY_LIMITS.snapshotProblem)),
  /** It did not know what was seen before: what is missing here may be there all the same. */
  partial: Flag,
});

/** What the fleet index keeps of the newest audit of a cluster; the rest is in its snapshot. */
export const AuditSummary = z.pipe(
  Summary,
  z.transform((summary) => (isWhole(summary) ? summary : { ...summary, tally: undefined })),
);
export type AuditSummary = Contract<typeof Summary>;

/** A tally counts every finding once, or is dropped: a kind that it does not have would count as gone. */
function isWhole({ tally, findingCount }: z.core.output<typeof Summary>): boolean {
  if (tally === undefined) return true;
  return (
    new Set(tally.map(kindOf)).size === tally.length &&
    tally.reduce((sum, { count }) => sum + count, 0) === findingCount
  );
}
