import { describe, expect, it } from 'vitest';
import { SEVERITIES } from '../../../lambdas/expiry/finding.ts';
import { FINDING_CODES, type FindingCode } from '../../../lambdas/expiry/finding-codes.ts';
import { signalOf } from '../../../lambdas/health/finding-signals.ts';

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

  it.each([
    ['CertificateExpired', 'critical', 'CertificatesCritical'],
    ['NoValidCertificate', 'critical', 'CertificatesCritical'],
    ['KubeletRenewalOverdue', 'critical', 'CertificatesCritical'],
    ['AuthorityBoundsLeaves', 'warning', 'CertificatesWarning'],
    ['KubeletRenewalOverdue', 'warning', 'KubeletsOverdue'],
    ['RenewalErrors', 'warning', 'KubeletsOverdue'],
    ['RequestStorm', 'critical', 'RequestsStuck'],
    ['RequestDenied', 'warning', 'RequestsWaiting'],
    ['SourceLost', 'critical', 'CoverageLost'],
    ['SourceLost', 'warning', undefined],
    ['WeakKey', 'warning', undefined],
  ] as const)('counts %s, %s, as %s', (code, severity, signal) => {
    expect(signalOf({ code, severity })).toBe(signal);
  });

  it.each([
    ['kube-apiserver', 'CertificatesWarning'],
    ['etcd-server', 'CertificatesWarning'],
    ['kubelet-serving', undefined],
    [undefined, undefined],
  ] as const)('counts IssuerUnknown of %s as %s', (what, signal) => {
    expect(signalOf({ code: 'IssuerUnknown', severity: 'warning', ...(what && { what }) })).toBe(signal);
  });
});
