import { describe, expect, it } from 'vitest';
import type { SweepReport } from '../../../lambdas/approval/report.ts';
import { REASONS, type Reason } from '../../../lambdas/tables/reasons.ts';
import { METRIC } from '../../../lambdas/telemetry/metric-names.ts';
import { recordAudit, recordJournal, recordSweep } from '../../../lambdas/telemetry/record-sweep.ts';
import { createLogger, createTelemetry } from '../../../lambdas/telemetry/telemetry.ts';
import { auditSummary, expiryFinding } from '../fleet/values.ts';
import { entry } from '../journal/values.ts';
import { writtenByEachTest } from './capture-stdout.ts';
import { reportOf, rowOf } from './reports.ts';

describe('recordSweep', () => {
  const output = writtenByEachTest();

  function record(...reports: SweepReport[]): Record<string, unknown>[] {
    const telemetry = createTelemetry('sweep');
    for (const report of reports) recordSweep(report, telemetry);
    telemetry.metrics.publishStoredMetrics();
    return output.lines();
  }

  it('publishes counts above 0, and of each sweep whether it was complete, with no dimension but the service', () => {
    const counts = { approved: 1, denied: 2, wouldWrite: 3, left: 4, ignored: 5, failed: 6 };
    record(reportOf({ counts, durationMs: 100 }), reportOf({ complete: false, durationMs: 250 }));
    expect(output.records()).toEqual([
      {
        namespace: 'certmarshal',
        dimensions: { service: 'sweep' },
        metrics: {
          [METRIC.approved]: [1],
          [METRIC.denied]: [2],
          [METRIC.observed]: [3],
          [METRIC.left]: [4],
          [METRIC.ignored]: [5],
          [METRIC.writeFailed]: [6],
          [METRIC.completed]: [1, 0],
          [METRIC.incomplete]: [1],
          [METRIC.duration]: [100, 250],
        },
      },
    ]);
  });

  it('logs one line for each decision written, and one for the sweep', () => {
    const rows = [
      rowOf({ csr: 'csr-1' }),
      rowOf({ csr: 'csr-2', verdict: 'deny' }),
      rowOf({ csr: 'csr-3', outcome: 'overtaken' }),
      rowOf({ csr: 'csr-4', verdict: 'leave', reason: 'EvidenceMissing', outcome: 'none', message: 'no Machine' }),
    ];
    const lines = record(reportOf({ rows }));
    expect(lines).toMatchObject([
      { level: 'INFO', message: 'decision written', cluster: 'berlin', decision: rows[0] },
      { level: 'INFO', message: 'decision written', cluster: 'berlin', decision: rows[1] },
      {
        level: 'INFO',
        message: 'sweep completed',
        left: [{ csr: 'csr-4', node: 'worker-1', reason: 'EvidenceMissing', message: 'no Machine' }],
      },
    ]);
  });

  it('logs each decision that was sent and had no answer', () => {
    const rows = [rowOf({ csr: 'csr-1', outcome: 'unknown' })];
    expect(record(reportOf({ rows, complete: false }))[0]).toMatchObject({
      level: 'WARN',
      message: 'decision sent, no answer',
      cluster: 'berlin',
      decision: rows[0],
    });
  });

  const ORDINARY = [
    'NotKubeletServing',
    'NotKubeletClient',
    'RequesterNotNode',
    'Deleting',
    'AlreadyApproved',
    'AlreadyDenied',
    'AlreadyIssued',
    'TooYoung',
    'Superseded',
  ] as const satisfies readonly Reason[];

  it('logs nothing of a sweep that read everything and had nothing to do, and counts it all the same', () => {
    const ignored = Object.fromEntries(ORDINARY.map((reason) => [reason, 2]));
    expect(record(reportOf({}), reportOf({ ignored }))).toEqual([]);
    expect(output.records()[0]?.metrics[METRIC.completed]).toEqual([1, 1]);
  });

  const worthKnowing = Object.entries(REASONS).filter(
    ([reason, { verdict }]) => verdict === 'ignore' && !ORDINARY.some((ordinary) => ordinary === reason),
  );
  it.each<[string, Partial<SweepReport>]>([
    ['left a request', { rows: [rowOf({ verdict: 'leave', outcome: 'none' })] }],
    ['was overtaken', { rows: [rowOf({ outcome: 'overtaken' })] }],
    ['only observed', { rows: [rowOf({ mode: 'observe', outcome: 'none' })] }],
    ['has a problem', { problems: [{ kind: 'clock', object: 'server', message: 'm', remedy: 'r' }] }],
    ...worthKnowing.map(([reason]): [string, Partial<SweepReport>] => [
      `ignored a request: ${reason}`,
      { ignored: { AlreadyIssued: 9, [reason]: 1 } },
    ]),
  ])('logs a sweep that was complete and %s', (_, differences) => {
    expect(record(reportOf(differences)).at(-1)).toMatchObject({ level: 'INFO', message: 'sweep completed' });
  });

  it('names requests of kubelets that the API server takes for another user', () => {
    const misnamed = [{ csr: 'csr-1', message: 'common name is system:node:a, but requester is b' }];
    expect(record(reportOf({ ignored: { RequesterMisnamed: 1 }, misnamed }))).toMatchObject([{ misnamed }]);
  });

  it('tells two clusters of one name apart', () => {
    recordSweep(reportOf({ rows: [rowOf({})] }), createTelemetry('sweep'), 'a/berlin');
    expect(output.text().match(/"id":"a\/berlin"/g)).toHaveLength(2);
  });

  it('warns with the remedy when a sweep is incomplete', () => {
    const problem = { kind: 'forbidden', object: 'list machines', message: 'answered 403', remedy: 'Apply the rules.' };
    expect(record(reportOf({ complete: false, problems: [problem] }))).toMatchObject([
      { level: 'WARN', message: 'sweep incomplete', cluster: 'berlin', problems: [problem], problemCount: 1 },
    ]);
  });

  it('logs no more because a cluster has more to complain about', () => {
    const hostile = Array.from({ length: 10_000 }, () =>
      rowOf({ verdict: 'leave', reason: 'SanNotOwned', outcome: 'none', message: 'x'.repeat(200) }),
    );
    const problems = Array.from({ length: 10_000 }, () => ({
      kind: 'unreadable',
      object: 'o'.repeat(300),
      message: 'm'.repeat(10_000),
      remedy: 'r',
    }));
    record(reportOf({ complete: false, rows: hostile, problems }));
    expect(output.text().length).toBeLessThan(40_000);
    expect(output.text()).toContain('"problemCount":10000');
  });

  it('makes text from a cluster harmless in every field', () => {
    const evil = 'a\u001b[31m\u202ed\n{"level":"INFO"}';
    const [line] = record(
      reportOf({ cluster: evil, problems: [{ kind: 'k', object: evil, message: evil, remedy: 'r' }] }),
    );
    expect(JSON.stringify(line)).not.toMatch(/\\u001b|\u202e|\\n/);
    expect(line?.['cluster']).toBe('a\\u{1b}[31m\\u{202e}d\\u{a}{"level":"INFO"}');
  });

  it('keeps the lines of a stack, each of them harmless', () => {
    createLogger('sweep').error('sweep failed', { error: new Error('broken \u001b[31m') });
    expect(output.text()).toMatch(/"stack":"Error: broken .*\\n {4}at /);
    expect(output.text()).not.toContain('\\u001b');
  });
});

describe('recordAudit', () => {
  const output = writtenByEachTest();

  function record(audits: Readonly<Record<string, Parameters<typeof auditSummary>[0]>>) {
    const telemetry = createTelemetry('sweep');
    for (const [id, audit] of Object.entries(audits)) recordAudit(auditSummary(audit), telemetry, id);
    telemetry.metrics.publishStoredMetrics();
  }

  it('counts findings and snapshots, without a series for each cluster', () => {
    record({ paris: { counts: { critical: 2, warning: 3, info: 9 } }, rome: { snapshotProblem: 'S3 is down' } });
    expect(output.records()).toMatchObject([
      {
        dimensions: { service: 'sweep' },
        metrics: { Audits: [1, 1], AuditFindingsCritical: [2], AuditFindingsWarning: [3, 1], SnapshotsUnwritten: [1] },
      },
    ]);
  });

  it('counts what kubelets say of their renewals, where there is something to say', () => {
    const tally = [
      { code: 'RotationUnusual', severity: 'info', what: 'kubelet-serving', count: 3 },
      { code: 'RenewalErrors', severity: 'warning', what: 'kubelet-serving', count: 1 },
    ] as const;
    record({ paris: { tally, findingCount: 4, renewErrors: 7 }, rome: {} });
    expect(output.records()[0]?.metrics).toMatchObject({ KubeletRenewErrors: [7], KubeletRotationsUnusual: [3] });
  });

  it('logs what is urgent, harmless', () => {
    const findings = [
      expiryFinding({ severity: 'critical', facts: { where: '\u001b[31m', source: 'tls', basis: 'certificate' } }),
      expiryFinding({ severity: 'info', object: 'news' }),
    ];
    record({ paris: { counts: { critical: 1, warning: 0, info: 1 }, findings, findingCount: 2 } });
    expect(output.lines()).toMatchObject([
      {
        level: 'WARN',
        id: 'paris',
        findings: [{ facts: { where: String.raw`\u{1b}[31m` } }],
      },
    ]);
    expect(output.text()).not.toContain('news');
  });
});

describe('recordJournal', () => {
  const output = writtenByEachTest();

  function record(journaled: Parameters<typeof recordJournal>[0]) {
    const telemetry = createTelemetry('sweep');
    recordJournal(journaled, telemetry, 'berlin');
    telemetry.metrics.publishStoredMetrics();
    return { metrics: output.records()[0]?.metrics, logged: output.lines() };
  }

  it('counts the lines', () => {
    expect(record({ entries: [entry(1), entry(2), entry(3)] })).toEqual({ metrics: { JournalLines: [3] }, logged: [] });
  });

  it('logs each line whole that was not written', () => {
    const problem = { kind: 'journal', object: 'journal of cluster berlin', message: 'no', remedy: 'Let it.' };
    const entries = Array.from({ length: 300 }, (_, index) => entry(index));
    const { metrics, logged } = record({ entries, problem });
    expect(metrics).toEqual({ JournalUnwritten: [1] });
    expect(logged[0]).toMatchObject({ level: 'ERROR', cluster: 'berlin', lines: 300, problem });
    expect(logged.slice(1).map(({ line }) => line)).toEqual(entries);
  });
});
