import * as z from 'zod/mini';
import { SOURCE_IDS } from '../tables/audit-sources.ts';
import { CERTIFICATE_CLASSES } from '../tables/certificate-classes.ts';
import { FINDING_CODES, SEVERITIES } from '../tables/finding-codes.ts';
import type { IssuedVerdict } from '../tables/issued-verdicts.ts';
import { keysOf } from '../tables/keys.ts';
import { type Contract, list, lossy, lossyList, printed } from './contract.ts';
import { ExpiryFinding } from './finding.ts';
import { CertificateTime, Count, Flag, Time } from './values.ts';

/** Most findings in a summary; the snapshot has all. */
export const MAX_SUMMARY_FINDINGS = 20;
/** Kinds of findings. */
const MAX_TALLY = Object.keys(FINDING_CODES).length * SEVERITIES.length * (Object.keys(CERTIFICATE_CLASSES).length + 1);
/** Characters of each text in a summary; longer text is cut here, and whole in the snapshot. */
export const SUMMARY_LIMITS = { place: 100, snapshotProblem: 300 } as const;

const Class = z.enum(keysOf(CERTIFICATE_CLASSES));
const Code = z.enum(keysOf(FINDING_CODES));
const Severity = z.enum(SEVERITIES);
const Sources = list(z.enum(SOURCE_IDS), SOURCE_IDS.length);

/** The number of findings of one kind. */
const FindingTally = z.object({ code: Code, severity: Severity, what: z.optional(Class), count: Count });
export type FindingTally = Contract<typeof FindingTally>;

/** The key for counting findings together; sorts the worst first. */
export function kindOf({ code, severity, what }: Omit<FindingTally, 'count'>): string {
  return `${SEVERITIES.indexOf(severity)} ${code} ${what ?? ''}`;
}

/** For one class, the certificate that expires first, and the number of certificates. */
const ClassEnd = z.object({
  what: Class,
  count: Count,
  notBefore: z.optional(CertificateTime),
  notAfter: CertificateTime,
  where: printed(SUMMARY_LIMITS.place),
});
export type ClassEnd = Contract<typeof ClassEnd>;

/** Number of kubelet serving certificates by verdict. */
const VerdictCounts = z.object({
  'names-another': Count,
  'not-proven': Count,
  unknown: Count,
  proven: Count,
} satisfies Record<IssuedVerdict, unknown>);
export type VerdictCounts = Contract<typeof VerdictCounts>;

/** The newest audit of a cluster in the fleet index; its snapshot has the rest. */
export const AuditSummary = z
  .object({
    auditedAt: Time,
    durationMs: Count,
    counts: z.object({ critical: Count, warning: Count, info: Count }),
    /** The most urgent ones of `findingCount`; those about workloads leave room for the others. */
    findings: lossyList(ExpiryFinding, MAX_SUMMARY_FINDINGS),
    findingCount: Count,
    /** All of `findingCount`, counted by kind, the worst first. */
    tally: list(FindingTally, MAX_TALLY),
    /** Absent if none was seen. */
    issued: lossy(VerdictCounts),
    /** Failed renewals of serving certificates, as counted by the kubelets of findings `RenewalErrors`. */
    renewErrors: z.optional(Count),
    ends: list(ClassEnd, Object.keys(CERTIFICATE_CLASSES).length),
    sources: z.object({ read: Sources, unread: Sources, off: Sources }),
    /** Why the snapshot could not be read or written: the next audit then knows less of earlier ones. */
    snapshotProblem: z.optional(printed(SUMMARY_LIMITS.snapshotProblem)),
    /** Earlier observations were unavailable: what is missing here may still exist. */
    partial: Flag,
  })
  .check(
    // A missing kind would count as resolved.
    z.refine(
      ({ tally, findingCount }) =>
        new Set(tally.map(kindOf)).size === tally.length &&
        tally.reduce((sum, { count }) => sum + count, 0) === findingCount,
      { path: ['tally'], error: 'does not count every finding once' },
    ),
  );
export type AuditSummary = Contract<typeof AuditSummary>;
