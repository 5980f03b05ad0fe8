import type { ExpiryFinding } from '../contracts/finding.ts';
import { isOfControlPlane } from '../tables/certificate-classes.ts';
import type { FindingCode, Severity } from '../tables/finding-codes.ts';
import type { SignalId } from '../tables/signals.ts';

/**
 * Which signal a finding of an audit counts for, by severity; `info` never does.
 *
 * Findings without a signal are for the report page: no action resolves them now (a weak key lives until
 * its next renewal), and engineers stop reading alarms that they cannot resolve. A gap in what is read counts from its
 * 24th hour on ({@link findingGroups}).
 */
const FINDING_SIGNALS: Readonly<Record<FindingCode, Readonly<Partial<Record<Severity, SignalId>>>>> = {
  // Expiry.
  CertificateExpired: { critical: 'CertificatesCritical', warning: 'CertificatesWarning' },
  CertificateExpiring: { critical: 'CertificatesCritical', warning: 'CertificatesWarning' },
  CertificateNotYetValid: { critical: 'CertificatesCritical', warning: 'CertificatesWarning' },
  KubeletRenewalOverdue: { critical: 'CertificatesCritical', warning: 'KubeletsOverdue' },
  AuthorityBoundsLeaves: { warning: 'CertificatesWarning' },
  OutlivesIssuer: { warning: 'CertificatesWarning' },
  IssuerUnknown: { warning: 'CertificatesWarning' },
  VeryLongLived: {},

  // Content.
  WeakKey: {},
  WeakSignature: {},
  KubeletNameMismatch: {},
  KubeletAddressMissing: { warning: 'CertificatesWarning' },
  NameMismatch: {},
  CertificateUnreadable: { critical: 'CertificatesCritical' },

  // Sources that disagree.
  StaleAnnotation: {},
  ExpiryUnknown: { critical: 'CertificatesCritical', warning: 'CertificatesWarning' },
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
  SignerDoesNotIssue: { critical: 'RequestsStuck', warning: 'RequestsWaiting' },
  RequestFailed: { warning: 'RequestsWaiting' },
  RequestDenied: { warning: 'RequestsWaiting' },
  RequestStorm: { critical: 'RequestsStuck', warning: 'RequestsWaiting' },

  // Certificates issued to nodes.
  IssuedNamesAnother: { critical: 'IssuedNamesAnother' },
  IssuedUnproven: { warning: 'IssuedUnproven' },

  Acceptance: { warning: 'CertificatesWarning' },

  // Unread.
  Unreachable: {},
  SourceUnread: { warning: 'CoverageGapHours' },
  SourceLost: { critical: 'CoverageLost', warning: 'CoverageGapHours' },
  CoverageShrunk: {},
  SourcePartial: { warning: 'CoverageGapHours' },
  NotVisible: {},
};

/** The signal that a finding counts for; undefined if it fires no alarm. Pure. */
export function signalOf({
  code,
  severity,
  what,
}: Pick<ExpiryFinding, 'code' | 'severity' | 'what'>): SignalId | undefined {
  // A kubelet certificate from another CA may be what its owner wants, and one that was not issued yet has no expiry.
  const isOfAnyNode = severity === 'warning' && (code === 'IssuerUnknown' || code === 'ExpiryUnknown');
  if (isOfAnyNode && (what === undefined || !isOfControlPlane(what))) return undefined;
  return FINDING_SIGNALS[code][severity];
}
