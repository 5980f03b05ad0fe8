import { byUrgency } from '../audit/rules/findings.ts';
import type { AuditSummary, FindingTally } from '../contracts/audit-summary.ts';
import type { ExpiryFinding } from '../contracts/finding.ts';
import type { SignalId } from '../tables/signals.ts';
import { HOUR_MS } from '../time.ts';
import { signalOf } from './finding-signals.ts';

export interface FindingGroup {
  readonly id: SignalId;
  /** Never empty. */
  readonly tally: readonly FindingTally[];
  /** Those that fit into the summary, the worst first. */
  readonly shown: readonly ExpiryFinding[];
}

/** Each kind counts as often as tallied or as shown, whichever is more: a tally may have no classes. Pure. */
export function findingGroups(audit: AuditSummary | undefined): readonly FindingGroup[] {
  if (audit === undefined) return [];
  const findings = audit.findings.filter((finding) => !isGap(finding) || gapHours(finding, audit) >= 24);
  const tally = audit.tally.filter((entry) => !isGap(entry));
  const most = new Map<string, FindingTally>();
  const shown = Map.groupBy(findings, keyOf).values();
  for (const entry of [...tally, ...[...shown].flatMap(counted)]) {
    const key = keyOf(entry);
    if (entry.count > (most.get(key)?.count ?? 0)) most.set(key, entry);
  }
  const bySignal = Map.groupBy(most.values(), signalOf);
  return [...bySignal].flatMap(([id, entries]) => {
    if (id === undefined) return [];
    const these = findings.filter((finding) => signalOf(finding) === id).toSorted(byUrgency);
    return [{ id, tally: entries, shown: these }];
  });
}

function isGap(finding: Pick<FindingTally, 'code' | 'severity' | 'what'>): boolean {
  return signalOf(finding) === 'CoverageGapHours';
}

export function gapHours({ since }: ExpiryFinding, { auditedAt }: AuditSummary): number {
  return Math.floor((Date.parse(auditedAt) - Date.parse(since)) / HOUR_MS);
}

function counted(same: readonly ExpiryFinding[]): readonly FindingTally[] {
  const [first] = same;
  if (first === undefined) return [];
  const { code, severity, what } = first;
  return [{ code, severity, what, count: same.length }];
}

function keyOf({ code, severity, what }: Pick<FindingTally, 'code' | 'severity' | 'what'>): string {
  return `${code} ${severity} ${what ?? ''}`;
}
