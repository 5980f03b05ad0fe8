import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLogger } from '../../../lambdas/telemetry/logger.ts';
import { createMetrics } from '../../../lambdas/telemetry/metrics.ts';
import { recordAudit } from '../../../lambdas/telemetry/record-audit.ts';
import { auditSummary, expiryFinding } from '../fleet/values.ts';
import { captureStdout } from './capture-stdout.ts';
import { emfRecords } from './emf.ts';

describe('recordAudit', () => {
  let output: ReturnType<typeof captureStdout>;
  beforeEach(() => {
    output = captureStdout();
  });
  afterEach(() => output.restore());

  it('counts findings and snapshots, without a series for each cluster', () => {
    const metrics = createMetrics('sweep');
    const telemetry = { logger: createLogger('sweep'), metrics };
    recordAudit(auditSummary({ counts: { critical: 2, warning: 3, info: 9 } }), telemetry, 'paris');
    recordAudit(auditSummary({ snapshotProblem: 'S3 is down' }), telemetry, 'rome');
    metrics.publishStoredMetrics();
    expect(emfRecords(output.text())).toMatchObject([
      {
        dimensions: { service: 'sweep' },
        metrics: {
          Audits: [1, 1],
          AuditFindingsCritical: [2, 0],
          AuditFindingsWarning: [3, 1],
          SnapshotsUnwritten: [0, 1],
        },
      },
    ]);
  });

  it('logs what is urgent, harmless', () => {
    const metrics = createMetrics('sweep');
    const findings = [
      expiryFinding({ severity: 'critical', message: 'it \u001b[31m ended' }),
      expiryFinding({ severity: 'info', object: 'news' }),
    ];
    recordAudit(
      auditSummary({ counts: { critical: 1, warning: 0, info: 1 }, findings, findingCount: 2 }),
      { logger: createLogger('sweep'), metrics },
      'paris',
    );
    const text = output.text();
    expect(text).toContain('"level":"WARN"');
    expect(text).toContain('"id":"paris"');
    expect(text).toContain(String.raw`it \\u{1b}[31m ended`);
    expect(text).not.toContain('news');
  });
});
