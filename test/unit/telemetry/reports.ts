import type { SweepReport, SweepRow } from '../../../lambdas/approval/report.ts';

/** A complete sweep that found nothing, with the differences given. */
export function reportOf(differences: Partial<SweepReport>): SweepReport {
  return {
    version: 1,
    cluster: 'berlin',
    provider: 'eks-anywhere',
    startedAt: '2026-11-21T10:00:00.000Z',
    durationMs: 12,
    readable: true,
    complete: true,
    counts: { approved: 0, denied: 0, wouldWrite: 0, left: 0, ignored: 0, failed: 0 },
    ignored: {},
    rows: [],
    evidence: [],
    problems: [],
    requests: { sent: 1, writes: 0, retries: 0 },
    ...differences,
  };
}

export function rowOf(differences: Partial<SweepRow>): SweepRow {
  return {
    csr: 'csr-1',
    uid: '00000000-0000-4000-8000-000000000001',
    node: 'worker-1',
    ageSeconds: 5,
    verdict: 'approve',
    reason: 'Proven',
    facts: { cause: 'proven', proofs: [] },
    message: 'every name is proven',
    hostile: false,
    policy: 'default',
    mode: 'enforce',
    outcome: 'written',
    ...differences,
  };
}
