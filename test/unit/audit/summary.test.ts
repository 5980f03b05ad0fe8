import { describe, expect, it } from 'vitest';
import { certificateObservation } from '../../../lambdas/audit/certificate-observation.ts';
import { certificateGroups } from '../../../lambdas/audit/rules/certificate-groups.ts';
import { byUrgency, findingsOf } from '../../../lambdas/audit/rules/findings.ts';
import { summaryOf } from '../../../lambdas/audit/summary.ts';
import { AuditSummary } from '../../../lambdas/contracts/audit-summary.ts';
import { read } from '../../../lambdas/contracts/contract.ts';
import type { CertificateObservation, Observation } from '../../../lambdas/contracts/observation.ts';
import type { Snapshot } from '../../../lambdas/contracts/snapshot.ts';
import { finished } from '../../../lambdas/steps.ts';
import type { CertificateClass } from '../../../lambdas/tables/certificate-classes.ts';
import type { IssuedVerdict } from '../../../lambdas/tables/issued-verdicts.ts';
import { decodeBundle } from '../../../lambdas/x509/certificate-bundle.ts';
import { valueOf } from '../contracts/value-of.ts';
import { at, DAY, expiryFinding, MINUTE } from '../fleet/values.ts';
import { assess, certificate as plain, read as readAt, unread } from './fixtures.ts';
import { createPki } from './sources/certificates.ts';

function snapshot(changed: Partial<Snapshot> = {}): Snapshot {
  return { version: 1, cluster: 'paris', provider: 'eks', auditedAt: at(), observations: [], findings: [], ...changed };
}

const certificate = (what: CertificateObservation['what'], where: string, days: number): CertificateObservation =>
  plain({ what, where, notBefore: undefined, notAfter: at(days * DAY) });
const summaryAt = (changed: Partial<Snapshot>) => summaryOf(snapshot(changed), { durationMs: 1 });

describe('summaryOf', () => {
  describe('counts verdicts', () => {
    const issuedTo = (node: number, verdict: IssuedVerdict, approvedBy?: string): CertificateObservation => ({
      ...certificate('kubelet-serving', `10.0.0.${node}:10250`, 300),
      member: `worker-${node}`,
      fingerprint: `${node}`,
      issued: { verdict, approvedBy },
    });
    const verdicts = { 'names-another': 0, 'not-proven': 0, unknown: 0, proven: 0 };
    const observations = [
      issuedTo(1, 'proven', 'AutoApproved'),
      // The same certificate, seen by another source: the worst counts, once.
      issuedTo(1, 'not-proven'),
      issuedTo(2, 'proven', 'AutoApproved'),
      issuedTo(3, 'names-another'),
    ];
    const summary = summaryAt({ observations });

    it('of each certificate once', () => {
      expect(summary.issued).toEqual({ ...verdicts, 'names-another': 1, 'not-proven': 1, proven: 1 });
      expect(valueOf(read(AuditSummary, summary))).toEqual(summary);
    });

    it.each<[string, unknown]>([
      ['counts of a verdict that is not known', { ...verdicts, proven: 'all' }],
      ['no object', 7],
    ])('and nothing else is lost where they do not fit: %s', (_, issued) => {
      expect(valueOf(read(AuditSummary, { ...summary, issued }))).toEqual({ ...summary, issued: undefined });
    });
  });

  it('has of each class the certificate that ends first, if that is known, and how many there are', () => {
    const observations = [
      certificate('etcd-server', 'a:2379', 90),
      certificate('kube-apiserver', 'b:6443', 30),
      certificate('kube-apiserver', 'c:6443', 20),
      { ...certificate('etcd-peer', 'd', -1), basis: 'inference' as const },
    ];
    expect(summaryOf(snapshot({ observations }), { durationMs: 1.4 })).toMatchObject({
      durationMs: 1,
      ends: [
        { what: 'kube-apiserver', count: 2, notAfter: at(20 * DAY), where: 'c:6443' },
        { what: 'etcd-server', count: 1, notAfter: at(90 * DAY), where: 'a:2379' },
      ],
    });
  });

  it.each([-8.64e15, -2.5e14, 0, 2.529e14, 8.64e15])(
    'can be sent, whenever somebody says that a certificate ends: %d',
    (time) => {
      const said = { ...certificate('kubelet-serving', 'metrics of kubelet a', 0), basis: 'status' } as const;
      const assessment = assess([{ ...said, notAfter: new Date(time).toISOString() }]);
      const summary = summaryAt(assessment);
      expect(summary.ends).toHaveLength(1);
      expect(read(AuditSummary, structuredClone(summary))).toMatchObject({ ok: true });
    },
  );

  it('can be sent with a certificate whose times are outside of all years, as a time zone makes them', async () => {
    const [known] = decodeBundle((await createPki()).ca.certificate).certificates;
    if (known?.ok !== true) throw new Error('no certificate');
    const told = { source: 'tls', observedAt: at(), what: 'kubelet-serving', where: 'a:10250' } as const;
    for (const [notBefore, notAfter] of [
      [Date.parse('0000-01-01T00:00:00+23:59'), Date.parse('0000-01-01T00:00:00+00:01')],
      [0, Date.parse('9999-12-31T23:59:59-23:59')],
    ] as const) {
      const seen = certificateObservation(told, { ...known.certificate, notBefore, notAfter }, 'eks');
      const summary = summaryAt(assess([seen]));
      expect(summary.ends).toHaveLength(1);
      expect(read(AuditSummary, structuredClone(summary))).toMatchObject({ ok: true });
    }
  });

  it('sums up the renewals that failed, of serving certificates that are not new', () => {
    const renewal = (node: string, what: 'kubelet-serving' | 'kubelet-client', errors: number): Observation => ({
      kind: 'renewal',
      source: 'kubelet-metrics',
      observedAt: at(),
      what,
      node,
      errors,
      none: false,
    });
    const observations = [
      renewal('a', 'kubelet-serving', 2),
      renewal('b', 'kubelet-serving', 3),
      renewal('b', 'kubelet-client', 100),
      renewal('mended', 'kubelet-serving', 1_000),
    ];
    const finding = (object: string) => expiryFinding({ code: 'RenewalErrors', object });
    const other = expiryFinding({ object: 'kubelet-serving mended' });
    const findings = [...['kubelet-serving a', 'kubelet-serving b', 'kubelet-client b'].map(finding), other];
    expect(summaryAt({ observations, findings }).renewErrors).toBe(5);
    const endless = [...observations, renewal('a', 'kubelet-serving', Number.MAX_SAFE_INTEGER)];
    const { renewErrors } = summaryAt({ observations: endless, findings });
    expect(renewErrors).toBe(Number.MAX_SAFE_INTEGER);
    expect(summaryAt({ observations })).not.toHaveProperty('renewErrors', expect.anything());
  });

  it('has the end that counts, never later than what was seen last', () => {
    const old = { ...certificate('kube-apiserver', '10.0.0.1:6443', 300), member: 'cp', observedAt: at(-DAY) };
    const later = { ...old, basis: 'status', source: 'machines', notAfter: at(5 * DAY), observedAt: at() } as const;
    const stored = { member: 'cp', fingerprint: 'f'.repeat(64), observedAt: at(-2 * DAY) };
    const seen = snapshot({
      observations: [old, later, { ...certificate('kube-apiserver', 'Secret x', 300), ...stored }],
    });
    const { ends } = summaryOf(seen, { durationMs: 1 });
    const [group] = certificateGroups(seen, Date.parse(at()));
    expect(ends).toMatchObject([{ what: 'kube-apiserver', count: 1, notAfter: at(5 * DAY) }]);
    expect(ends[0]?.notAfter).toBe(group?.first.notAfter);
  });

  it('shows the control plane however many findings workloads have', () => {
    const secrets = Array.from({ length: 30 }, (_, n) =>
      expiryFinding({ what: 'tls-secret', object: `tls-secret Secret t/s${n}`, severity: 'critical' }),
    );
    const own = expiryFinding({ what: 'kube-apiserver', object: 'kube-apiserver cp-1', severity: 'warning' });
    const { findings } = summaryAt({ findings: [...secrets, own] });
    expect(findings).toContainEqual(own);
    expect(findings.length).toBeGreaterThan(5);
  });

  it('shows of every kind the most urgent one, however many there are of another kind', () => {
    const critical = (what: CertificateClass, object: string, due: number, code?: 'CertificateExpired') =>
      expiryFinding({
        what,
        object: `${what} ${object}`,
        severity: 'critical',
        due: at(due * DAY),
        ...(code && { code }),
      });
    const kinds = ['kube-apiserver', 'control-plane-clients', 'etcd-server', 'etcd-peer'] as const;
    const forged = kinds.flatMap((what) =>
      Array.from({ length: 30 }, (_, n) => critical(what, `aaa-${n}`, -1, 'CertificateExpired')),
    );
    const real = critical('kube-apiserver', 'cp-1', 4);
    const later = critical('kube-apiserver', 'cp-2', 5);
    const authority = critical('cluster-ca', 'x', 9);
    const sorted = [...forged, real, later, authority].toSorted(byUrgency);
    const { findings } = summaryAt({ findings: sorted });
    expect(findings).toContainEqual(real);
    expect(findings).toContainEqual(authority);
    expect(findings).toEqual(findings.toSorted(byUrgency));
  });

  it('names the sources of this audit, and none that it only remembers', () => {
    const observations: readonly Observation[] = [
      readAt('tls'),
      unread('machines'),
      unread('tls', { where: '10.0.0.1:10250' }),
      readAt('nodes'),
      { kind: 'off', source: 'tls-secrets', observedAt: at(), why: 'not opted in' },
      readAt('webhooks', Date.parse(at(-MINUTE))),
    ];
    expect(summaryAt({ observations }).sources).toEqual({
      read: ['nodes', 'tls'],
      unread: ['machines'],
      off: ['tls-secrets'],
    });
  });

  it('is small whatever the findings are, and can be read by the index', () => {
    const long = '\u202e'.repeat(5_000);
    const drafts = Array.from({ length: 500 }, (_, n) => ({
      ...expiryFinding({
        object: `${n} ${long}`,
        renewedBy: long,
        severity: n === 0 ? 'critical' : 'warning',
        facts: { where: long, source: 'tls', basis: 'certificate', effect: long, renewalFailure: long },
      }),
      lastSeen: undefined,
      places: Array.from({ length: 50 }, (__, place) => `${place}${long}`),
    }));
    const findings = finished(findingsOf('paris', drafts, [], Date.parse(at())));
    const observations = [certificate('kube-apiserver', long, 1)];
    const places = [expect.stringMatching(/^0/), expect.stringMatching(/^1/)];
    const summary = summaryOf(snapshot({ findings, observations }), { durationMs: 1, snapshotProblem: long });
    expect(summary.findings).toHaveLength(20);
    expect(Buffer.byteLength(JSON.stringify(summary))).toBeLessThan(100_000);
    expect(summary).toMatchObject({ findingCount: 500, counts: { critical: 1, warning: 499, info: 0 } });
    expect(summary.findings[0]).toMatchObject({ severity: 'critical', placeCount: 50, places });
    expect(valueOf(read(AuditSummary, summary))).toEqual(summary);
  });

  it('of a thousand clusters with many findings is under 8 MB', () => {
    const findings = Array.from({ length: 40 }, (_, n) => expiryFinding({ object: `kubelet worker-${n}.example.com` }));
    const summary = summaryAt({ findings });
    expect(summary.findings.length).toBeGreaterThan(10);
    expect(1_000 * Buffer.byteLength(JSON.stringify(summary))).toBeLessThan(6_500_000);
  });
});
