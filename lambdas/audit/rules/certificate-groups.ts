import type { Observation } from '../../contracts/observation.ts';
import type { Snapshot } from '../../contracts/snapshot.ts';
import type { Provider } from '../../identifiers.ts';
import { finished } from '../../steps.ts';
import type { Basis } from '../../tables/audit-sources.ts';
import { CERTIFICATE_CLASSES, type CertificateClass, type Layer } from '../../tables/certificate-classes.ts';
import { type FindingCode, SEVERITIES, type Severity } from '../../tables/finding-codes.ts';
import { timestamp } from '../../time.ts';
import { compare } from '../../words.ts';
import { type KnownCertificate, knownCertificates, renewalOf } from '../certificates.ts';
import { isOfServer, isProven } from './proof.ts';

/**
 * The certificates of one class, for a line of a timeline: all of them, and the one that expires first. All times RFC
 * 3339.
 */
export interface CertificateGroup {
  readonly what: CertificateClass;
  readonly title: string;
  readonly layer: Layer;
  /** Different certificates, not places. */
  readonly count: number;
  /** How many of them have expired. */
  readonly ended: number;
  readonly first: {
    /** As in its findings. */
    readonly object: string;
    readonly notBefore?: string;
    /** The earliest expiry that is believed. */
    readonly notAfter: string;
    readonly where: string;
    readonly member?: string;
    readonly basis: Basis;
    /** The expiry is a refuted guess, and so is every other of the group. */
    readonly unknown?: true;
    /** Only if it was not seen now. */
    readonly lastSeen?: string;
  };
  /** Of the worst finding about them; `info` where there is no such finding. */
  readonly severity: Severity;
  readonly renewedBy?: string;
}

/** Findings about certificates that are not seen, and so are in no group. */
const NOT_SEEN: ReadonlySet<FindingCode> = new Set<FindingCode>([
  'CertificateUnreadable',
  'ExpiryUnknown',
  'Unreachable',
  'SourceUnread',
  'SourceLost',
  'CoverageShrunk',
  'SourcePartial',
  'NotVisible',
]);

/** The certificates of a cluster by class, the most severe first, then by expiry. Pure. */
export function certificateGroups(
  {
    observations,
    findings,
    provider,
    auditedAt,
  }: Pick<Snapshot, 'observations' | 'findings' | 'provider' | 'auditedAt'>,
  now: number,
): readonly CertificateGroup[] {
  const kept = new Set<Observation>(observations.filter(({ observedAt }) => observedAt < auditedAt));
  const certificates = finished(knownCertificates(observations, kept, now));
  const objects = new Set(certificates.map(({ object }) => object));
  const severities = Map.groupBy(
    findings.filter(({ code, object }) => !NOT_SEEN.has(code) || objects.has(object)),
    ({ what }) => what,
  );
  const severityOf = (what: CertificateClass): Severity =>
    SEVERITIES.find((severity) => severities.get(what)?.some((finding) => finding.severity === severity)) ?? 'info';
  return [...Map.groupBy(certificates, ({ what }) => what)]
    .map(([what, same]) => groupOf(what, severityOf(what), same, provider, now))
    .toSorted(
      (a, b) =>
        SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) ||
        Date.parse(a.first.notAfter) - Date.parse(b.first.notAfter) ||
        compare(a.what, b.what),
    );
}

function groupOf(
  what: CertificateClass,
  severity: Severity,
  same: readonly KnownCertificate[],
  provider: Provider,
  now: number,
): CertificateGroup {
  const dated = same.filter(({ unknown }) => !unknown);
  const first = (dated.length > 0 ? dated : same).reduce((earliest, next) =>
    next.notAfter < earliest.notAfter || (next.notAfter === earliest.notAfter && next.object < earliest.object)
      ? next
      : earliest,
  );
  const { best, object, member, notAfter, lastSeen } = first;
  const different = withoutEstimate(same, now);
  const { title, layer } = CERTIFICATE_CLASSES[what];
  return {
    what,
    title,
    layer,
    count: different.length,
    ended: different.filter(({ notAfter: end, unknown }) => end <= now && !unknown).length,
    first: {
      object,
      notBefore: best.notBefore,
      notAfter: timestamp(notAfter),
      where: best.where,
      member,
      basis: best.basis,
      ...(dated.length > 0 ? {} : { unknown: true }),
      lastSeen: lastSeen === undefined ? undefined : timestamp(lastSeen),
    },
    severity,
    renewedBy: renewalOf(first, provider, now),
  };
}

/**
 * An endpoint leads to a machine. An estimate that has expired stays. Unless a machine was seen with the same certificate, it is that of a machine which was
 * not read: of the one whose estimate is nearest, which is then no certificate more.
 */
function withoutEstimate(same: readonly KnownCertificate[], now: number): readonly KnownCertificate[] {
  const endpoint = same.find(
    ({ member, best, lastSeen }) =>
      member === undefined && lastSeen === undefined && isOfServer(best) && best.issuedByCluster && isProven(best),
  );
  if (endpoint === undefined) return same;
  const distance = ({ notAfter }: KnownCertificate): number => Math.abs(notAfter - endpoint.notAfter);
  const [estimate] = same
    .filter(({ member, best, notAfter }) => member !== undefined && best.basis !== 'certificate' && notAfter > now)
    .toSorted((a, b) => distance(a) - distance(b));
  return same.filter((certificate) => certificate !== estimate);
}
