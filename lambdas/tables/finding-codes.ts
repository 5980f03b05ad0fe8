import { kebab } from '../words.ts';

/** The worst first. */
export const SEVERITIES = ['critical', 'warning', 'info'] as const;
export type Severity = (typeof SEVERITIES)[number];

interface CodeEntry {
  /** The severities it can have, the worst first. */
  readonly severities: readonly Severity[];
  /** One sentence for `docs/findings.md` and for people. */
  readonly meaning: string;
}

/** Every code of findings. Each has a runbook, `docs/runbooks/` and the code in kebab case; a test compares them. */
export const FINDING_CODES = {
  // Expiry.
  CertificateExpired: { severities: ['critical', 'warning'], meaning: 'The certificate has expired.' },
  CertificateExpiring: {
    severities: ['critical', 'warning'],
    meaning: 'Little of the lifetime of the certificate is left.',
  },
  CertificateNotYetValid: {
    severities: ['critical', 'warning'],
    meaning: 'The certificate is not valid yet.',
  },
  KubeletRenewalOverdue: {
    severities: ['critical', 'warning'],
    meaning: 'The kubelet did not renew its certificate between 70 % and 90 % of its lifetime.',
  },
  AuthorityBoundsLeaves: {
    severities: ['warning', 'info'],
    meaning: 'The CA expires so soon that the certificates it signs are cut short.',
  },
  OutlivesIssuer: {
    severities: ['warning'],
    meaning: 'The certificate expires later than the CA that signed it.',
  },
  VeryLongLived: {
    severities: ['info'],
    meaning: 'The certificate is valid so long that its renewal will be forgotten.',
  },

  // Content.
  WeakKey: { severities: ['warning'], meaning: 'The key is too weak.' },
  WeakSignature: { severities: ['warning'], meaning: 'The signature is too weak.' },
  IssuerUnknown: { severities: ['warning'], meaning: 'The certificate is not signed by a CA that the cluster trusts.' },
  KubeletNameMismatch: {
    severities: ['info'],
    meaning:
      'The common name of a kubelet serving certificate is not system:node: and the name of its Node (KEP-4872).',
  },
  NameMismatch: {
    severities: ['warning'],
    meaning: 'The certificate does not have the name that the server was asked for.',
  },
  CertificateUnreadable: { severities: ['warning'], meaning: 'The certificate is unreadable.' },

  // Sources that disagree.
  StaleAnnotation: {
    severities: ['warning'],
    meaning: 'Two sources disagree by over two days about when a certificate expires.',
  },
  ExpiryUnknown: {
    severities: ['warning', 'info'],
    meaning: 'The certificate exists, but no source tells when it expires.',
  },
  ClockSkew: { severities: ['warning'], meaning: 'The clock of the API server differs from ours.' },

  // EKS certificate authorities.
  SuccessorNotTrusted: {
    severities: ['critical', 'warning'],
    meaning: 'Nodes are older than the successor of the cluster CA: they lose the API server when it is activated.',
  },
  AuthorityDistributionFailed: {
    severities: ['critical'],
    meaning: 'EKS could not distribute a CA.',
  },

  // Renewals.
  RenewalErrors: { severities: ['warning'], meaning: 'A kubelet reports that it failed to renew its certificate.' },
  RotationUnusual: {
    severities: ['info'],
    meaning: 'A kubelet replaced its serving certificates far outside 70 % to 90 % of their lifetime.',
  },
  NoValidCertificate: { severities: ['critical'], meaning: 'A kubelet reports that it has no valid certificate.' },

  // CertificateSigningRequests.
  RequestPending: { severities: ['warning'], meaning: 'Requests are pending for longer than a kubelet waits.' },
  RequestNotIssued: {
    severities: ['critical', 'warning'],
    meaning: 'Requests are approved, but no signer issues the certificates.',
  },
  RequestFailed: { severities: ['warning'], meaning: 'The signer failed approved requests.' },
  RequestDenied: { severities: ['warning'], meaning: 'A requester is denied, and asks again and again.' },
  RequestStorm: {
    severities: ['critical', 'warning'],
    meaning: 'A requester makes more requests than a kubelet can need.',
  },

  // Certificates issued to nodes.
  IssuedNamesAnother: {
    severities: ['critical'],
    meaning: 'A kubelet serving certificate was issued for a name of another node, of the API server or of a Service.',
  },
  IssuedUnproven: {
    severities: ['warning', 'info'],
    meaning: 'A kubelet serving certificate was issued with a name that no evidence proves.',
  },

  // Unread.
  Unreachable: { severities: ['warning'], meaning: 'A server that should present a certificate does not answer.' },
  SourceUnread: { severities: ['warning'], meaning: 'A source could not be read.' },
  SourceLost: {
    severities: ['critical', 'warning'],
    meaning: 'A source or place that was read before has been unreadable for long.',
  },
  CoverageShrunk: { severities: ['warning'], meaning: 'Fewer machines are seen than last time.' },
  SourcePartial: {
    severities: ['warning'],
    meaning: 'A source does not show everything that exists, or there is more than certmarshal keeps.',
  },
  NotVisible: { severities: ['info'], meaning: 'Certificates of this kind cannot be seen from here.' },
} as const satisfies Record<string, CodeEntry>;

export type FindingCode = keyof typeof FINDING_CODES;

/** `CertificateExpired` → `docs/runbooks/certificate-expired.md`. */
export function runbookOf(code: FindingCode): string {
  return `docs/runbooks/${kebab(code)}.md`;
}

/** The finding for an unread place. */
export function codeOfUnread(problem: string): 'CertificateUnreadable' | 'SourcePartial' | 'Unreachable' {
  if (problem === 'malformed') return 'CertificateUnreadable';
  return problem === 'missing' ? 'SourcePartial' : 'Unreachable';
}
