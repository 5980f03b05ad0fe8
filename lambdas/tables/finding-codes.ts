import { kebab } from '../words.ts';

/** From the worst on. */
export const SEVERITIES = ['critical', 'warning', 'info'] as const;
export type Severity = (typeof SEVERITIES)[number];

interface CodeEntry {
  /** The severities it can have, the worst first. */
  readonly severities: readonly Severity[];
  /** One sentence for `docs/findings.md` and for people. */
  readonly meaning: string;
}

/** Every code that a finding can have. Each has its runbook, `docs/runbooks/` and the code in kebab case; a test compares them. */
export const FINDING_CODES = {
  // When a certificate ends.
  CertificateExpired: { severities: ['critical', 'warning'], meaning: 'The certificate has ended.' },
  CertificateExpiring: {
    severities: ['critical', 'warning'],
    meaning: 'Little of the life of the certificate is left.',
  },
  CertificateNotYetValid: {
    severities: ['critical', 'warning'],
    meaning: 'The life of the certificate begins in the future.',
  },
  KubeletRenewalOverdue: {
    severities: ['critical', 'warning'],
    meaning: 'A kubelet renews between 70 % and 90 % of the life of its certificate, and did not.',
  },
  AuthorityBoundsLeaves: {
    severities: ['warning', 'info'],
    meaning: 'The authority ends so soon that what it signs is cut short.',
  },
  OutlivesIssuer: {
    severities: ['warning'],
    meaning: 'The certificate says that it lives longer than the authority that signed it.',
  },
  VeryLongLived: {
    severities: ['info'],
    meaning: 'The certificate lives so long that nobody will remember how to renew it.',
  },

  // What a certificate is.
  WeakKey: { severities: ['warning'], meaning: 'The key is too weak.' },
  WeakSignature: { severities: ['warning'], meaning: 'The signature is too weak.' },
  IssuerUnknown: { severities: ['warning'], meaning: 'No authority that the cluster trusts signed the certificate.' },
  KubeletNameMismatch: {
    severities: ['info'],
    meaning:
      'The common name of a kubelet serving certificate is not system:node: and the name of its Node (KEP-4872).',
  },
  NameMismatch: {
    severities: ['warning'],
    meaning: 'The name that the server was asked for is not among those of its certificate.',
  },
  CertificateUnreadable: { severities: ['warning'], meaning: 'What is there is no certificate that can be read.' },

  // Who says what.
  StaleAnnotation: {
    severities: ['warning'],
    meaning: 'Two sources disagree about the end of a certificate by over two days.',
  },
  ExpiryUnknown: {
    severities: ['warning', 'info'],
    meaning: 'The certificate exists, and nothing tells when it ends.',
  },
  ClockSkew: { severities: ['warning'], meaning: 'The clock of the API server differs from ours.' },

  // EKS certificate authorities.
  SuccessorNotTrusted: {
    severities: ['critical', 'warning'],
    meaning: 'Nodes are older than the successor of the cluster CA: they lose the API server when it is activated.',
  },
  AuthorityDistributionFailed: {
    severities: ['critical'],
    meaning: 'EKS could not distribute a certificate authority.',
  },

  // Renewals.
  RenewalErrors: { severities: ['warning'], meaning: 'A kubelet says that renewing its certificate failed.' },
  RotationUnusual: {
    severities: ['info'],
    meaning: 'A kubelet replaced its serving certificates far from 70 % to 90 % of their life.',
  },
  NoValidCertificate: { severities: ['critical'], meaning: 'A kubelet says that it has no valid certificate.' },

  // CertificateSigningRequests.
  RequestPending: { severities: ['warning'], meaning: 'Requests wait undecided for longer than a kubelet does.' },
  RequestNotIssued: {
    severities: ['critical', 'warning'],
    meaning: 'Requests are approved, and no signer issues them.',
  },
  RequestFailed: { severities: ['warning'], meaning: 'The signer refused requests after their approval.' },
  RequestDenied: { severities: ['warning'], meaning: 'A requester asks again and again, and is denied.' },
  RequestStorm: {
    severities: ['critical', 'warning'],
    meaning: 'A requester makes more requests than a kubelet can need.',
  },

  // What was issued to nodes.
  IssuedNamesAnother: {
    severities: ['critical'],
    meaning:
      'A kubelet serving certificate was issued for what belongs to another node, to the API server or to a Service.',
  },
  IssuedUnproven: {
    severities: ['warning', 'info'],
    meaning: 'A kubelet serving certificate was issued with a name that no evidence proves to be of its node.',
  },

  // What could not be seen.
  Unreachable: { severities: ['warning'], meaning: 'A place that should show a certificate does not answer.' },
  SourceUnread: { severities: ['warning'], meaning: 'A source could not be read.' },
  SourceLost: {
    severities: ['critical', 'warning'],
    meaning: 'A source or place that was read before cannot be read for long.',
  },
  CoverageShrunk: { severities: ['warning'], meaning: 'Fewer machines are seen than the last time.' },
  SourcePartial: {
    severities: ['warning'],
    meaning: 'A source leaves out something that exists, or there is more than is kept.',
  },
  NotVisible: { severities: ['info'], meaning: 'Certificates of this kind cannot be seen from here.' },
} as const satisfies Record<string, CodeEntry>;

export type FindingCode = keyof typeof FINDING_CODES;

/** `CertificateExpired` → `docs/runbooks/certificate-expired.md`. */
export function runbookOf(code: FindingCode): string {
  return `docs/runbooks/${kebab(code)}.md`;
}

/** What it is that a place could not be read. */
export function codeOfUnread(problem: string): 'CertificateUnreadable' | 'SourcePartial' | 'Unreachable' {
  if (problem === 'malformed') return 'CertificateUnreadable';
  return problem === 'missing' ? 'SourcePartial' : 'Unreachable';
}
