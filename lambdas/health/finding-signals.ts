import type { KeptFinding } from '../contracts/finding.ts';
import { isOfControlPlane } from '../tables/certificate-classes.ts';
import type { FindingCode, Severity } from '../tables/finding-codes.ts';
import type { SignalId } from '../tables/signals.ts';

/**
 * Which signal a finding of an audit counts for, by its severity; `info` never does.
 *
 * What has none is for the report page and the digest: nobody can end it by acting now (a weak key lives until its next renewal, a source that was never
 * granted stays unread), and an alarm that nobody can end is one that nobody reads. When it begins to hide an end, it becomes `SourceLost`, which is critical.
 */
const FINDING_SIGNALS: Readonly<Record<FindingCode, Readonly<Partial<Record<Severity, SignalId>>>>> = {
  // When a certificate ends.
  CertificateExpired: { critical: 'CertificatesCritical', warning: 'CertificatesWarning' },
  CertificateExpiring: { critical: 'CertificatesCritical', warning: 'CertificatesWarning' },
  CertificateNotYetValid: { critical: 'CertificatesCritical', warning: 'CertificatesWarning' },
  KubeletRenewalOverdue: { critical: 'CertificatesCritical', warning: 'KubeletsOverdue' },
  AuthorityBoundsLeaves: { warning: 'CertificatesWarning' },
  OutlivesIssuer: { warning: 'CertificatesWarning' },
  IssuerUnknown: { warning: 'CertificatesWarning' },
  VeryLongLived: {},

  // What a certificate is.
  WeakKey: {},
  WeakSignature: {},
  KubeletNameMismatch: {},
  NameMismatch: {},
  CertificateUnreadable: {},

  // Who says what.
  StaleAnnotation: {},
  ExpiryUnknown: {},
  ClockSkew: {},

  // EKS certificate authorities.
  SuccessorNotTrusted: { critical: 'CertificatesCritical', warning: 'CertificatesWarning' },
  AuthorityDistributionFailed: { critical: 'CertificatesCritical' },

  // Renewals.
  RenewalErrors: { warning: 'KubeletsOverdue' },
  RotationUnusual: {},
  NoValidCertificate: { critical: 'CertificatesCritical' },

  // CertificateSigningRequests.
  RequestPending: { warning: 'RequestsWaiting' },
  RequestNotIssued: { critical: 'RequestsStuck', warning: 'RequestsWaiting' },
  RequestFailed: { warning: 'RequestsWaiting' },
  RequestDenied: { warning: 'RequestsWaiting' },
  RequestStorm: { critical: 'RequestsStuck', warning: 'RequestsWaiting' },

  // What was issued to nodes.
  IssuedNamesAnother: { critical: 'IssuedNamesAnother' },
  IssuedUnproven: { warning: 'IssuedUnproven' },

  // What could not be seen.
  Unreachable: {},
  SourceUnread: {},
  SourceLost: { critical: 'CoverageLost' },
  CoverageShrunk: {},
  SourcePartial: {},
  NotVisible: {},
};

/** The signal that a finding counts for; undefined when nobody is alarmed by it. Pure. */
export function signalOf({
  code,
  severity,
  what,
}: Pick<KeptFinding, 'code' | 'severity' | 'what'>): SignalId | undefined {
  // That a kubelet has a certificate of another authority may be how its owner wants it.
  if (code === 'IssuerUnknown' && (what === undefined || !isOfControlPlane(what))) return undefined;
  return FINDING_SIGNALS[code][severity];
}
