import type { AuditReport } from '../../../../lambdas/audit/audit.ts';
import type { CertificateGroup } from '../../../../lambdas/audit/rules/certificate-groups.ts';
import type { ExpiryFinding } from '../../../../lambdas/contracts/finding.ts';
import type { CertificateObservation, Observation } from '../../../../lambdas/contracts/observation.ts';
import { type FindingChanges, findingOf as sampleFinding } from '../../words/samples.ts';

export const NOW = Date.parse('2026-11-21T10:00:00Z');
const SEEN = '2026-11-21T09:59:58.000Z';

export function certificateOf(changes: Partial<CertificateObservation> = {}): CertificateObservation {
  return {
    kind: 'certificate',
    source: 'tls',
    observedAt: SEEN,
    what: 'etcd-server',
    where: '10.0.1.31:2379',
    basis: 'certificate',
    notBefore: '2025-12-03T08:11:00.000Z',
    notAfter: '2026-12-03T08:11:00.000Z',
    subject: 'CN=etcd-1',
    issuer: 'CN=etcd-ca',
    serialNumber: '0a',
    fingerprint: 'ab'.repeat(32),
    key: 'RSA-2048',
    renewedBy: 'a rollout of the machines that run etcd',
    ...changes,
  };
}

/** Of etcd, which ends in 11 days. */
export function findingOf(changes: FindingChanges = {}): ExpiryFinding {
  return sampleFinding({
    severity: 'critical',
    object: 'etcd server 10.0.1.31:2379',
    what: 'etcd-server',
    since: '2026-11-21T08:00:00.000Z',
    due: '2026-12-03T08:11:00.000Z',
    ...changes,
  });
}

export const READ: readonly Observation[] = [
  { kind: 'read', source: 'nodes', observedAt: SEEN, count: 42 },
  { kind: 'read', source: 'tls', observedAt: SEEN, count: 58 },
  { kind: 'read', source: 'clock', observedAt: SEEN, count: 1 },
  { kind: 'off', source: 'tls-secrets', observedAt: SEEN, why: 'not opted in' },
  { kind: 'off', source: 'cluster-secrets', observedAt: SEEN, why: 'not opted in' },
];

export function reportOf(
  observations: readonly Observation[] = [],
  findings: readonly ExpiryFinding[] = [],
): AuditReport {
  return {
    snapshot: {
      version: 1,
      cluster: 'berlin',
      provider: 'eks-anywhere',
      auditedAt: SEEN,
      observations: [...observations, ...READ],
      findings,
    },
    durationMs: 4200,
    requests: 21,
  };
}

export function groupOf(changes: Partial<CertificateGroup> = {}): CertificateGroup {
  return {
    what: 'etcd-server',
    title: 'etcd server',
    layer: 'etcd',
    count: 1,
    ended: 0,
    first: {
      object: 'etcd server 10.0.1.31:2379',
      where: '10.0.1.31:2379',
      basis: 'certificate',
      notBefore: '2025-12-03T08:11:00.000Z',
      notAfter: '2026-12-03T08:11:00.000Z',
    },
    severity: 'critical',
    renewedBy: 'a rollout of the machines that run etcd',
    ...changes,
  };
}
