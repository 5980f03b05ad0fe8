import { describe, expect, it } from 'vitest';
import { signalOf } from '../../../lambdas/health/finding-signals.ts';
import { FINDING_CODES, type FindingCode, SEVERITIES } from '../../../lambdas/tables/finding-codes.ts';

const CODES = Object.keys(FINDING_CODES) as FindingCode[];

describe('signalOf', () => {
  it.each(CODES)('alarms somebody by %s wherever it is critical', (code) => {
    const critical = (FINDING_CODES[code].severities as readonly string[]).includes('critical');
    expect(signalOf({ code, severity: 'critical' }) !== undefined).toBe(critical);
  });

  it.each(CODES)('alarms nobody by news of %s, or by a severity that it cannot have', (code) => {
    const possible: readonly string[] = FINDING_CODES[code].severities;
    const alarming = SEVERITIES.filter(
      (severity) => signalOf({ code, severity, what: 'kube-apiserver' }) !== undefined,
    );
    expect(alarming.filter((severity) => severity === 'info' || !possible.includes(severity))).toEqual([]);
  });

  it('counts each finding as the alarm that somebody has to act on', () => {
    const counted = CODES.flatMap((code) =>
      SEVERITIES.flatMap((severity) => {
        const signal = signalOf({ code, severity, what: 'kube-apiserver' });
        return signal === undefined ? [] : [`${signal}: ${severity} ${code}`];
      }),
    );
    expect(counted.toSorted()).toEqual([
      'CertificatesCritical: critical AuthorityDistributionFailed',
      'CertificatesCritical: critical CertificateExpired',
      'CertificatesCritical: critical CertificateExpiring',
      'CertificatesCritical: critical CertificateNotYetValid',
      'CertificatesCritical: critical CertificateUnreadable',
      'CertificatesCritical: critical ExpiryUnknown',
      'CertificatesCritical: critical KubeletRenewalOverdue',
      'CertificatesCritical: critical NoValidCertificate',
      'CertificatesCritical: critical SuccessorNotTrusted',
      'CertificatesWarning: warning Acceptance',
      'CertificatesWarning: warning AuthorityBoundsLeaves',
      'CertificatesWarning: warning CertificateExpired',
      'CertificatesWarning: warning CertificateExpiring',
      'CertificatesWarning: warning CertificateNotYetValid',
      'CertificatesWarning: warning ExpiryUnknown',
      'CertificatesWarning: warning IssuerUnknown',
      'CertificatesWarning: warning KubeletAddressMissing',
      'CertificatesWarning: warning OutlivesIssuer',
      'CertificatesWarning: warning SuccessorNotTrusted',
      'CoverageGapHours: warning SourceLost',
      'CoverageGapHours: warning SourcePartial',
      'CoverageGapHours: warning SourceUnread',
      'CoverageLost: critical SourceLost',
      'IssuedNamesAnother: critical IssuedNamesAnother',
      'IssuedUnproven: warning IssuedUnproven',
      'KubeletsOverdue: warning KubeletRenewalOverdue',
      'KubeletsOverdue: warning RenewalErrors',
      'RequestsStuck: critical RequestNotIssued',
      'RequestsStuck: critical RequestStorm',
      'RequestsStuck: critical SignerDoesNotIssue',
      'RequestsWaiting: warning RequestDenied',
      'RequestsWaiting: warning RequestFailed',
      'RequestsWaiting: warning RequestNotIssued',
      'RequestsWaiting: warning RequestPending',
      'RequestsWaiting: warning RequestStorm',
      'RequestsWaiting: warning SignerDoesNotIssue',
    ]);
  });

  it.each([
    ['kube-apiserver', 'CertificatesWarning'],
    ['etcd-server', 'CertificatesWarning'],
    ['kubelet-serving', undefined],
    [undefined, undefined],
  ] as const)('counts IssuerUnknown and ExpiryUnknown of %s as %s', (what, signal) => {
    for (const code of ['IssuerUnknown', 'ExpiryUnknown'] as const)
      expect(signalOf({ code, severity: 'warning', ...(what && { what }) })).toBe(signal);
  });
});
