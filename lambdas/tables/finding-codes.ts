import { kebab } from '../words.ts';

/** The worst first. */
export const SEVERITIES = ['critical', 'warning', 'info'] as const;
export type Severity = (typeof SEVERITIES)[number];

interface CodeEntry {
  /** The severities it can have, the worst first. */
  readonly severities: readonly Severity[];
}

/** Every code of findings. Each has a runbook, `docs/runbooks/` and the code in kebab case; a test compares them. */
export const FINDING_CODES = {
  // Expiry.
  CertificateExpired: { severities: ['critical', 'warning', 'info'] },
  CertificateExpiring: { severities: ['critical', 'warning'] },
  CertificateNotYetValid: { severities: ['critical', 'warning'] },
  KubeletRenewalOverdue: { severities: ['critical', 'warning'] },
  AuthorityBoundsLeaves: { severities: ['warning', 'info'] },
  OutlivesIssuer: { severities: ['warning', 'info'] },
  VeryLongLived: { severities: ['info'] },

  // Content.
  WeakKey: { severities: ['warning'] },
  WeakSignature: { severities: ['warning'] },
  IssuerUnknown: { severities: ['warning'] },
  KubeletNameMismatch: { severities: ['info'] },
  KubeletAddressMissing: { severities: ['warning', 'info'] },
  NameMismatch: { severities: ['warning'] },
  CertificateUnreadable: { severities: ['critical', 'warning', 'info'] },

  // Sources that disagree.
  StaleAnnotation: { severities: ['warning'] },
  ExpiryUnknown: { severities: ['critical', 'warning'] },
  ClockSkew: { severities: ['warning'] },

  // EKS certificate authorities.
  SuccessorNotTrusted: { severities: ['critical', 'warning'] },
  AuthorityDistributionFailed: { severities: ['critical'] },

  // Renewals.
  RenewalErrors: { severities: ['warning'] },
  RotationUnusual: { severities: ['info'] },
  NoValidCertificate: { severities: ['critical'] },

  // CertificateSigningRequests.
  RequestPending: { severities: ['warning'] },
  RequestNotIssued: { severities: ['critical', 'warning'] },
  SignerDoesNotIssue: { severities: ['critical', 'warning'] },
  RequestFailed: { severities: ['warning'] },
  RequestDenied: { severities: ['warning'] },
  RequestStorm: { severities: ['critical', 'warning'] },

  // Certificates issued to nodes.
  IssuedNamesAnother: { severities: ['critical'] },
  IssuedUnproven: { severities: ['warning'] },

  // Of `audit.accept` in fleet.yaml.
  Acceptance: { severities: ['warning'] },

  // Unread.
  Unreachable: { severities: ['warning'] },
  SourceUnread: { severities: ['warning'] },
  SourceLost: { severities: ['critical', 'warning'] },
  CoverageShrunk: { severities: ['warning'] },
  SourcePartial: { severities: ['warning'] },
  NotVisible: { severities: ['info'] },
} as const satisfies Record<string, CodeEntry>;

export type FindingCode = keyof typeof FINDING_CODES;

/** `CertificateExpired` → `docs/runbooks/certificate-expired.md`. */
export function runbookOf(code: FindingCode): string {
  return `docs/runbooks/${kebab(code)}.md`;
}

/** Findings about what could not be read at all. */
export const NOT_READ: ReadonlySet<FindingCode> = new Set(['SourceUnread', 'SourceLost', 'Unreachable']);

export function codeOfUnread(problem: string): 'CertificateUnreadable' | 'SourcePartial' | 'Unreachable' {
  if (problem === 'malformed') return 'CertificateUnreadable';
  return problem === 'missing' ? 'SourcePartial' : 'Unreachable';
}
