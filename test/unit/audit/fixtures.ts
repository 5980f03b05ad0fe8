import { type Assessment, assessExpiry } from '../../../lambdas/audit/assess.ts';
import { DEFAULT_THRESHOLDS } from '../../../lambdas/audit/rules/thresholds.ts';
import type { ExpiryFinding } from '../../../lambdas/contracts/finding.ts';
import type {
  CertificateObservation,
  MemberObservation,
  Observation,
  UnreadObservation,
} from '../../../lambdas/contracts/observation.ts';
import type { SourceId } from '../../../lambdas/tables/audit-sources.ts';
import type { FindingCode } from '../../../lambdas/tables/finding-codes.ts';
import { messageOf } from '../../../lambdas/words/findings.ts';

export const NOW = Date.parse('2026-11-21T10:00:00Z');
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

export const BERLIN = { id: 'berlin', provider: 'eks-anywhere' } as const;
export const DUBLIN = { id: 'dublin', provider: 'eks' } as const;

/** RFC 3339, so many days from now. */
export function days(count: number, from = NOW): string {
  return new Date(from + count * DAY).toISOString();
}

export function certificate(changes: Partial<CertificateObservation> = {}): CertificateObservation {
  return {
    kind: 'certificate',
    source: 'tls',
    observedAt: days(0),
    what: 'kube-apiserver',
    where: '10.0.1.31:6443',
    basis: 'certificate',
    notBefore: days(-65),
    notAfter: days(300),
    ...changes,
  };
}

export function read(source: SourceId, at = NOW, count = 1): Observation {
  return { kind: 'read', source, observedAt: new Date(at).toISOString(), count };
}

export function unread(source: SourceId, changes: Partial<UnreadObservation> = {}): UnreadObservation {
  return {
    kind: 'unread',
    source,
    observedAt: days(0),
    problem: 'timeout',
    message: 'no answer within 5 s',
    remedy: 'Check the route.',
    ...changes,
  };
}

export function member(changes: Partial<MemberObservation> = {}): MemberObservation {
  return {
    kind: 'member',
    source: 'nodes',
    observedAt: days(0),
    role: 'worker',
    name: 'Node worker-3',
    node: 'worker-3',
    createdAt: days(-100),
    addresses: ['10.0.1.43'],
    ...changes,
  };
}

export function assess(
  observations: readonly Observation[],
  previous?: Pick<Assessment, 'findings' | 'observations'>,
  now = NOW,
  cluster: Parameters<typeof assessExpiry>[0] = BERLIN,
): Assessment {
  return assessExpiry(cluster, observations, previous, DEFAULT_THRESHOLDS, now);
}

/** What a finding says. */
export function say(finding: ExpiryFinding | undefined, now = NOW): string {
  return finding === undefined ? '' : messageOf(finding, now);
}

/** Of one code, without the summary of what cannot be seen. */
export function found<C extends FindingCode>({ findings }: Assessment, code: C): readonly ExpiryFinding<C>[] {
  return findings.filter((finding): finding is ExpiryFinding<C> & ExpiryFinding => finding.code === code);
}

/** `code severity object` of all but the summary of what cannot be seen. */
export function codes({ findings }: Assessment): readonly string[] {
  return findings
    .filter(({ code }) => code !== 'NotVisible')
    .map(({ code, severity, object }) => `${severity} ${code} ${object}`);
}
