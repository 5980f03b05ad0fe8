import { isIP } from 'node:net';
import { certificateObservation } from '../../../lambdas/audit/certificate-observation.ts';
import { classOf } from '../../../lambdas/audit/certificates.ts';
import { isNeverValid, judgeCertificate } from '../../../lambdas/audit/rules/certificate.ts';
import type { Thresholds } from '../../../lambdas/audit/rules/thresholds.ts';
import { regionOfEksEndpoint } from '../../../lambdas/aws/eks-endpoint.ts';
import { namesOf } from '../../../lambdas/contracts/facts.ts';
import type { CertificateObservation } from '../../../lambdas/contracts/observation.ts';
import { canonicalAddress, canonicalDnsName } from '../../../lambdas/names.ts';
import { printable } from '../../../lambdas/printable.ts';
import type { CertificateClass } from '../../../lambdas/tables/certificate-classes.ts';
import { codeOfUnread, type FindingCode, SEVERITIES, type Severity } from '../../../lambdas/tables/finding-codes.ts';
import type { HandshakeResult, HandshakeTarget } from '../../../lambdas/tls/handshake.ts';
import { messageOf } from '../../../lambdas/words/findings.ts';
import { type Certificate, readable } from '../../../lambdas/x509/certificate.ts';
import {
  isIssuedBy,
  isSelfSigned,
  leadsTo,
  type Verifications,
  verifications,
} from '../../../lambdas/x509/issued-by.ts';
import { dayOf } from '../../terminal/words.ts';

export interface ProbeFinding {
  readonly code: FindingCode;
  readonly severity: Severity;
  /** One sentence, without a full stop. */
  readonly message: string;
  /** When it takes effect, RFC 3339. */
  readonly due?: string;
  /** One sentence. */
  readonly remedy: string;
}

export interface ProbedEndpoint {
  /** As given on the command line. */
  readonly endpoint: string;
  /** `TLSv1.3`; absent if the handshake failed. */
  readonly protocol?: string;
  /** In the first certificate, DNS names first; absent if it is unreadable. */
  readonly names?: readonly string[];
  readonly observations: readonly CertificateObservation[];
  /** The worst first. */
  readonly findings: readonly ProbeFinding[];
}

export interface ProbeRules {
  /** CAs that may have signed the certificates; absent: any. */
  readonly authorities?: readonly Certificate[] | undefined;
  readonly thresholds: Thresholds;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Judges the certificates of an endpoint by the rules of an audit. Pure. */
export function judgeEndpoint(
  endpoint: string,
  target: HandshakeTarget,
  result: HandshakeResult,
  rules: ProbeRules,
): ProbedEndpoint {
  const where = isIP(target.host) === 6 ? `[${target.host}]:${target.port}` : `${target.host}:${target.port}`;
  if (!result.ok) {
    const { kind, message, remedy } = result.failure;
    const code = codeOfUnread(kind === 'too-large' ? 'malformed' : kind);
    return {
      endpoint,
      observations: [],
      findings: [{ code, severity: 'warning', message: `${where}: ${message}`, remedy }],
    };
  }

  const observedAt = new Date(rules.now).toISOString();
  const sighting = { where, source: 'tls', observedAt } as const;
  const observations: CertificateObservation[] = [];
  const findings: ProbeFinding[] = [];
  const certificates = readable(result.chain);
  const known = [...certificates, ...(rules.authorities ?? [])];
  const made = verifications();
  for (const [position, read] of result.chain.entries()) {
    if (!read.ok) {
      const message = `certificate ${position + 1} at ${where} cannot be read: ${read.problem}`;
      findings.push(finding({ code: 'CertificateUnreadable', severity: 'warning', message }));
      continue;
    }
    const what = position === 0 ? leafClass(read.certificate, target) : 'endpoint';
    const seen = certificateObservation({ ...sighting, what, position }, read.certificate, 'eks');
    const { renewedBy: _, ...observation } = seen;
    observations.push(observation);
    findings.push(...outlivesIssuer(read.certificate, known, made, `certificate ${position + 1} at ${where}`));
  }
  const trusted = { ...sighting, what: 'cluster-ca', source: 'trust-configmaps' } as const;
  const anchors = (rules.authorities ?? []).map((authority) => certificateObservation(trusted, authority, 'eks'));
  for (const observation of observations)
    for (const judgement of judgeCertificate(observation, [...observations, ...anchors], rules)) {
      const { code, severity, due } = judgement;
      const message = messageOf({ ...judgement, what: classOf(observation) }, rules.now);
      const remedy = remedyOfDates(judgement, observation);
      findings.push(finding({ code, severity, message, due }, remedy));
    }
  const [first] = result.chain;
  const leaf = first?.ok === true ? first.certificate : undefined;
  if (leaf !== undefined) {
    findings.push(
      ...unknownIssuer(leaf, certificates.slice(1), rules.authorities, made, where),
      ...nameMismatch(leaf, target, where),
    );
  }
  return {
    endpoint,
    protocol: result.protocol,
    names: leaf && [...leaf.dnsNames, ...leaf.addresses],
    observations,
    findings: findings.toSorted((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity)),
  };
}

/** Source: Kubernetes, "PKI certificates and requirements", Certificate paths. */
const API_SERVER = 'CN=kube-apiserver';

/** As an audit calls it. By what the certificate claims; not verified. */
function leafClass({ subject }: Certificate, { host }: HandshakeTarget): CertificateClass {
  if (subject !== API_SERVER) return 'endpoint';
  return regionOfEksEndpoint(`https://${host}`) === undefined ? 'kube-apiserver' : 'eks-api-server';
}

type Judged = Omit<ProbeFinding, 'remedy'>;

function finding(judged: Judged, remedy = REMEDIES[judged.code] ?? 'Check the server.'): ProbeFinding {
  return { ...judged, remedy };
}

const RENEW = 'Renew it where the server keeps it, and let the server load it.';
const REMEDIES: Readonly<Partial<Record<FindingCode, string>>> = {
  CertificateExpired: RENEW,
  CertificateExpiring: RENEW,
  CertificateNotYetValid: 'Check the clock here, and that of its issuer; or issue it again.',
  VeryLongLived: 'Write down who renews it and how, or automate its renewal every year.',
  WeakKey: 'Issue a certificate for a new key: ECDSA P-256, or RSA of 2048 bits or more.',
  WeakSignature: 'Issue it again, signed with SHA-256 or better.',
  OutlivesIssuer: 'Renew the CA first, then what it signed.',
  IssuerUnknown: 'Find out who answers there; if it is the right server, give --ca its CAs.',
  NameMismatch: 'With --sni, ask for a name that it has; or issue it again with this name.',
  CertificateUnreadable: 'Replace it: a client cannot read it either.',
};

function remedyOfDates(
  { code, severity }: Pick<Judged, 'code' | 'severity'>,
  observation: CertificateObservation,
): string | undefined {
  if (code === 'CertificateExpired' && severity === 'info') return 'Leave it out of the chain.';
  return code === 'CertificateNotYetValid' && isNeverValid(observation) ? 'Issue it again.' : undefined;
}

/** Of several certificates of one CA, the longest-lived counts. No finding if the verification would take too long. */
function outlivesIssuer(
  certificate: Certificate,
  known: readonly Certificate[],
  made: Verifications,
  name: string,
): readonly ProbeFinding[] {
  const named = known.filter(({ subject }) => subject === certificate.issuer);
  if (named.every(({ notAfter }) => notAfter >= certificate.notAfter)) return [];
  if (isSelfSigned(certificate, made) !== false) return [];
  const last = named
    .toSorted((a, b) => b.notAfter - a.notAfter)
    .find((other) => isIssuedBy(certificate, other, made) !== false);
  if (last === undefined || last.notAfter >= certificate.notAfter || isIssuedBy(certificate, last, made) !== true)
    return [];
  const due = new Date(last.notAfter).toISOString();
  const message = `${name} is valid until ${dayOf(certificate.notAfter)}, but ${last.subject}, which signed it, expires on ${dayOf(last.notAfter)}`;
  return [finding({ code: 'OutlivesIssuer', severity: 'warning', message, due })];
}

function unknownIssuer(
  leaf: Certificate,
  sentAlong: readonly Certificate[],
  authorities: readonly Certificate[] | undefined,
  made: Verifications,
  where: string,
): readonly ProbeFinding[] {
  const known = authorities === undefined || leadsTo(leaf, sentAlong, authorities, made);
  if (known === true) return [];
  const message =
    known === false
      ? `none of the CAs in the --ca file signed the certificate at ${where}; it says ${leaf.issuer} did`
      : `it is not known whether a CA in the --ca file signed the certificate at ${where}: verifying what the server sent would take too long`;
  return [finding({ code: 'IssuerUnknown', severity: 'warning', message })];
}

/** Matches a name, or without one the address, as clients do (RFC 9525): only against subject alternative names. */
function nameMismatch(
  { dnsNames, addresses, otherNames }: Certificate,
  { host, serverName = host }: HandshakeTarget,
  where: string,
): readonly ProbeFinding[] {
  const address = canonicalAddress(serverName);
  const wanted = canonicalDnsName(serverName);
  if (address === undefined ? dnsNames.some((name) => covers(name, wanted)) : addresses.includes(address)) return [];
  const names = namesOf([...dnsNames, ...addresses]);
  const facts = { where, name: printable(serverName), names, isWithoutServerNames: otherNames || undefined };
  const mismatch = { code: 'NameMismatch', severity: 'warning' } as const;
  return [finding({ ...mismatch, message: messageOf({ ...mismatch, facts }, 0) })];
}

/** A wildcard covers exactly the whole first label (RFC 9525 §6.3). */
function covers(name: string, wanted: string): boolean {
  if (!name.startsWith('*.')) return name === wanted;
  const dot = wanted.indexOf('.');
  return dot > 0 && wanted.slice(dot) === name.slice(1);
}
