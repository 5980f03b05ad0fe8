import type { CertificateFacts, Facts } from '../../../lambdas/contracts/facts.ts';
import type { ExpiryFinding } from '../../../lambdas/contracts/finding.ts';
import { FINDING_CODES, type FindingCode } from '../../../lambdas/tables/finding-codes.ts';

const AT: CertificateFacts = { where: '10.0.1.31:6443', source: 'tls' };
const EXPIRY = { ...AT, basis: 'certificate' } as const;
const SERVING = { ...AT, where: '10.0.1.43:10250', member: 'worker-3' };
const NODE = 'system:node:worker-3';
const REQUESTS = {
  requester: NODE,
  signer: 'kubernetes.io/kubelet-serving',
  count: 1,
  oldestAt: '2026-11-21T09:00:00.000Z',
  request: 'csr-9',
};
const UNREAD = {
  of: 'source',
  source: 'nodes',
  problem: 'timeout',
  message: 'no answer within 5 s',
  remedy: 'Check the route.',
  certificates: 0,
} as const;
const PLACES = {
  of: 'places',
  source: 'tls',
  places: { first: ['10.0.1.31:6443'], count: 1 },
  problems: [{ problem: 'timeout', count: 1 }],
  message: 'no answer within 5 s',
  remedy: 'Check the route.',
  lost: 1,
} as const;
const ISSUED = { node: 'worker-3', where: '10.0.1.43:10250', why: 'IP 10.0.1.24 belongs to worker-8' };

/** What a finding of each code can say. */
export const SAMPLES: { readonly [C in FindingCode]: Facts<C> } = {
  CertificateExpired: EXPIRY,
  CertificateExpiring: EXPIRY,
  CertificateNotYetValid: { ...AT, notBefore: '2026-11-23T10:00:00.000Z', notAfter: '2027-11-21T10:00:00.000Z' },
  KubeletRenewalOverdue: SERVING,
  AuthorityBoundsLeaves: { ...AT, lifeMs: 365 * 86_400_000 },
  OutlivesIssuer: { ...AT, notAfter: '2027-11-21T10:00:00.000Z', authority: 'cluster-ca Secret a/b tls.crt' },
  VeryLongLived: { ...AT, notAfter: '2036-11-21T10:00:00.000Z', lifeMs: 3652.5 * 86_400_000 },
  WeakKey: { ...AT, why: 'RSA-1024' },
  WeakSignature: { ...AT, why: 'SHA-1' },
  IssuerUnknown: { ...AT, issuer: 'CN=x' },
  KubeletNameMismatch: { ...SERVING, node: 'worker-3', commonName: 'x' },
  KubeletAddressMissing: { ...SERVING, address: '10.0.1.43' },
  NameMismatch: { where: '10.0.1.31:6443', name: 'api.example.com', names: { first: ['berlin'], count: 1 } },
  CertificateUnreadable: { of: 'certificate', ...AT, refused: 'notAfter: it has a fraction of a second' },
  StaleAnnotation: {
    ...AT,
    best: { source: 'tls', basis: 'certificate', where: '10.0.1.31:6443', notAfter: '2027-09-17T10:00:00.000Z' },
    other: { source: 'machines', basis: 'annotation', where: 'Machine a/b', notAfter: '2026-11-26T10:00:00.000Z' },
  },
  ExpiryUnknown: { of: 'certificate', ...AT, source: 'machines', notAfter: '2026-11-19T10:00:00.000Z' },
  Acceptance: { code: 'WeakKey', object: 'kubelet-serving worker-3', until: '2027-01-31T17:00:00.000Z' },
  ClockSkew: { server: 'https://x', skewMs: -61_000 },
  SuccessorNotTrusted: { createdAt: '2026-10-01T10:00:00.000Z', nodes: { first: ['a', 'b'], count: 2 } },
  AuthorityDistributionFailed: { id: 'ca-2' },
  RenewalErrors: { node: 'worker-3', count: 2 },
  RotationUnusual: { node: 'worker-3', count: 3, share: 0.1 },
  NoValidCertificate: { node: 'worker-3' },
  RequestPending: REQUESTS,
  RequestNotIssued: REQUESTS,
  SignerDoesNotIssue: { signer: 'kubernetes.io/kubelet-serving', nodes: 2, request: 'csr-9' },
  RequestFailed: { ...REQUESTS, condition: 'no such node' },
  RequestDenied: { ...REQUESTS, requester: '*', count: 3 },
  RequestStorm: { requester: NODE, count: 30 },
  IssuedNamesAnother: { ...ISSUED, notBefore: '2026-11-20T10:00:00.000Z', approvedBy: 'RubberStamp' },
  IssuedUnproven: ISSUED,
  Unreachable: PLACES,
  SourceUnread: UNREAD,
  SourceLost: UNREAD,
  CoverageShrunk: { of: 'wanted', role: 'control-plane', count: 1, wanted: 3, groups: { first: ['berlin'], count: 1 } },
  SourcePartial: { of: 'findings', count: 7, critical: 0, workloads: 7 },
  NotVisible: { classes: ['etcd-server'], off: ['tls-secrets'] },
};

/** Of any code, with any facts. */
export type FindingChanges = Partial<Omit<ExpiryFinding, 'facts'>> & { readonly facts?: Facts };

/** A finding of a code, with its sample facts unless others are given. */
export function findingOf(changed: FindingChanges = {}): ExpiryFinding {
  const { code = 'CertificateExpiring' } = changed;
  const finding = {
    code,
    severity: FINDING_CODES[code].severities[0],
    cluster: 'berlin',
    object: 'kube-apiserver 10.0.1.31:6443',
    what: 'kube-apiserver',
    since: '2026-11-20T10:00:00.000Z',
    facts: SAMPLES[code],
    ...changed,
  };
  return finding as ExpiryFinding;
}
