import {
  type AuditSummary,
  type ClassEnd,
  type FindingTally,
  kindOf,
  MAX_SUMMARY_FINDINGS,
  SUMMARY_LIMITS,
} from '../contracts/audit-summary.ts';
import type { ExpiryFinding } from '../contracts/finding.ts';
import type { Observation } from '../contracts/observation.ts';
import type { Snapshot } from '../contracts/snapshot.ts';
import { printable } from '../printable.ts';
import type { Severity } from '../tables/finding-codes.ts';
import { compare } from '../words.ts';
import { certificateGroups } from './rules/certificate-groups.ts';
import { mostUrgent } from './rules/findings.ts';
import { issuedSummaryOf } from './rules/issued.ts';

const KEPT_PLACES = 2;

export interface SummaryOptions {
  readonly durationMs: number;
  readonly snapshotProblem?: string | undefined;
  /** Earlier audits are not known. */
  readonly partial?: true | undefined;
}

/** Pure. */
export function summaryOf(snapshot: Snapshot, { durationMs, snapshotProblem, partial }: SummaryOptions): AuditSummary {
  const { auditedAt, findings, observations } = snapshot;
  return {
    auditedAt,
    durationMs: Math.max(0, Math.round(durationMs)),
    counts: countsOf(findings),
    findings: firstFindings(findings),
    findingCount: findings.length,
    tally: tallyOf(findings),
    issued: issuedSummaryOf(observations),
    renewErrors: renewErrorsOf(snapshot) || undefined,
    ends: endsOf(snapshot),
    sources: sourcesOf(observations, auditedAt),
    snapshotProblem:
      snapshotProblem === undefined ? undefined : printable(snapshotProblem, SUMMARY_LIMITS.snapshotProblem),
    partial,
  };
}

/** Whether the cluster was read: then there is a snapshot, or it was lost. */
export function sawSomething({ ends: known, sources }: AuditSummary): boolean {
  return known.length + sources.read.length > 0;
}

/** Only of kubelets with a finding: the counter runs since their start, and may precede a new certificate. */
function renewErrorsOf({ findings, observations }: Snapshot): number {
  const failing = new Set(findings.flatMap(({ code, object }) => (code === 'RenewalErrors' ? [object] : [])));
  const errors = observations.flatMap((one) =>
    one.kind === 'renewal' && one.what === 'kubelet-serving' && failing.has(`${one.what} ${one.node}`)
      ? [one.errors]
      : [],
  );
  return Math.min(
    errors.reduce((sum, count) => sum + count, 0),
    Number.MAX_SAFE_INTEGER,
  );
}

function countsOf(findings: readonly ExpiryFinding[]): AuditSummary['counts'] {
  const count = (severity: Severity) => findings.filter((finding) => finding.severity === severity).length;
  return { critical: count('critical'), warning: count('warning'), info: count('info') };
}

function firstFindings(findings: readonly ExpiryFinding[]): readonly ExpiryFinding[] {
  return mostUrgent(findings, MAX_SUMMARY_FINDINGS).map(({ places, ...finding }) => ({
    ...finding,
    ...(places && { places: places.slice(0, KEPT_PLACES) }),
  }));
}

/** The same ends as in a timeline. */
function endsOf(snapshot: Snapshot): readonly ClassEnd[] {
  const groups = certificateGroups(snapshot, Date.parse(snapshot.auditedAt));
  return earliestEnds(
    groups
      .filter(({ first }) => first.unknown === undefined)
      .map(({ what, count, first: { notBefore, notAfter, where } }) => ({
        what,
        count,
        notBefore,
        notAfter,
        where: printable(where, SUMMARY_LIMITS.place),
      })),
  );
}

/** One per class, the earliest end first. */
function earliestEnds(all: readonly ClassEnd[]): readonly ClassEnd[] {
  const sorted = all.toSorted((a, b) => Date.parse(a.notAfter) - Date.parse(b.notAfter));
  return [...Map.groupBy(sorted, ({ what }) => what).values()].map((same) =>
    same.reduce((first, { count }) => ({ ...first, count: Math.max(first.count, count) })),
  );
}

/** The sources of this audit; older observations are kept from another one. */
function sourcesOf(observations: readonly Observation[], auditedAt: string): AuditSummary['sources'] {
  const now = observations.filter(({ observedAt }) => observedAt >= auditedAt);
  const having = (is: (observation: Observation) => boolean) =>
    [...new Set(now.filter(is).map(({ source }) => source))].toSorted();
  return {
    read: having(({ kind }) => kind === 'read'),
    unread: having((observation) => observation.kind === 'unread' && observation.where === undefined),
    off: having(({ kind }) => kind === 'off'),
  };
}

/** All of the findings, counted by kind, the worst first. Pure. */
export function tallyOf(findings: readonly ExpiryFinding[]): readonly FindingTally[] {
  return [...Map.groupBy(findings, kindOf)]
    .toSorted(([a], [b]) => compare(a, b))
    .flatMap(([, same]) =>
      same.slice(0, 1).map(({ code, severity, what }) => ({ code, severity, what, count: same.length })),
    );
}
