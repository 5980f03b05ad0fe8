import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { summaryOf } from '../../../lambdas/audit/summary.ts';
import { AuditSummary, type FindingTally, kindOf } from '../../../lambdas/contracts/audit-summary.ts';
import { read } from '../../../lambdas/contracts/contract.ts';
import type { ExpiryFinding } from '../../../lambdas/contracts/finding.ts';
import { CERTIFICATE_CLASSES, type CertificateClass } from '../../../lambdas/tables/certificate-classes.ts';
import { FINDING_CODES, type FindingCode, SEVERITIES } from '../../../lambdas/tables/finding-codes.ts';
import { valueOf } from '../contracts/value-of.ts';
import { at, auditSummary, expiryFinding } from '../fleet/values.ts';

const CODES = Object.keys(FINDING_CODES) as FindingCode[];
const CLASSES = Object.keys(CERTIFICATE_CLASSES) as CertificateClass[];

const audited = (findings: readonly ExpiryFinding[], partial?: true): AuditSummary =>
  summaryOf(
    { version: 1, cluster: 'paris', provider: 'eks', auditedAt: at(), observations: [], findings },
    { durationMs: 1, partial },
  );

function findingsFrom(codes: readonly FindingCode[], classes: readonly (CertificateClass | undefined)[], most: number) {
  return fc.array(
    fc
      .record({
        kind: fc.constantFrom(
          ...codes.flatMap((code) => FINDING_CODES[code].severities.map((severity) => ({ code, severity }))),
        ),
        what: fc.constantFrom(...classes),
        object: fc.nat({ max: 40 }).map(String),
      })
      .map(({ what, kind, object }): ExpiryFinding => {
        const { what: _, ...finding } = expiryFinding({ ...kind, object });
        return what === undefined ? finding : expiryFinding({ ...kind, object, what });
      }),
    { maxLength: most, size: 'max' },
  );
}

// A few of few kinds, as ordinary clusters have, or many of all kinds.
const anyFindings = fc.oneof(
  findingsFrom(CODES.slice(0, 3), [undefined, ...CLASSES.slice(0, 3)], 30),
  findingsFrom(CODES, [undefined, ...CLASSES], 250),
);

describe('the tally of an audit', () => {
  it('counts every finding once, by kind, the worst first', () => {
    const { what: _, ...other } = expiryFinding({ code: 'RequestStorm', severity: 'critical' });
    const workers = ['a', 'b'].map((object) => expiryFinding({ code: 'KubeletRenewalOverdue', object }));
    expect(audited([...workers, other, expiryFinding({ what: 'etcd-peer' })]).tally).toEqual([
      { code: 'RequestStorm', severity: 'critical', count: 1 },
      { code: 'CertificateExpiring', severity: 'warning', what: 'etcd-peer', count: 1 },
      { code: 'KubeletRenewalOverdue', severity: 'warning', what: 'kube-apiserver', count: 2 },
    ]);
    expect(audited([]).tally).toEqual([]);
  });

  it('counts as many as there are findings, whatever they are, and can be sent', () => {
    fc.assert(
      fc.property(anyFindings, (findings) => {
        const summary = audited(findings);
        const { tally } = summary;
        expect(sum(tally)).toBe(findings.length);
        for (const severity of SEVERITIES)
          expect(sum(tally.filter((entry) => entry.severity === severity))).toBe(summary.counts[severity]);
        for (const code of CODES)
          expect(sum(tally.filter((entry) => entry.code === code))).toBe(
            findings.filter((finding) => finding.code === code).length,
          );
        const kinds = new Set(findings.map(kindOf));
        expect(new Set(tally.map(kindOf))).toEqual(kinds);
        expect(valueOf(read(AuditSummary, JSON.parse(JSON.stringify(summary)))).tally).toEqual(tally);
      }),
      { seed: 31, numRuns: 150 },
    );
  });

  it.each<[string, unknown]>([
    ['an unknown code', [{ code: 'SomethingNew', severity: 'warning', count: 1 }]],
    ['an unknown severity', [{ code: 'WeakKey', severity: 'fatal', count: 1 }]],
    ['an unknown class', [{ code: 'WeakKey', severity: 'warning', what: 'something-new', count: 1 }]],
    ['a count below 0', [{ code: 'WeakKey', severity: 'warning', count: -1 }]],
    ['more than there are', [{ code: 'WeakKey', severity: 'warning', count: 2 }]],
    ['fewer than there are', []],
    [
      'a kind twice',
      [
        { code: 'WeakKey', severity: 'warning', count: 1 },
        { code: 'WeakKey', severity: 'warning', count: 0 },
      ],
    ],
    ['no list', { WeakKey: 1 }],
  ])('with %s is no audit', (_, tally) => {
    expect(read(AuditSummary, { ...auditSummary(), tally })).toMatchObject({ ok: false });
  });
});

function sum(tally: readonly FindingTally[]): number {
  return tally.reduce((all, { count }) => all + count, 0);
}
