import { approverName } from '../../approval/condition-reasons.ts';
import type { VerdictCounts } from '../../contracts/audit-summary.ts';
import type {
  CertificateObservation,
  IssuedObservation,
  Observation,
  UnreadObservation,
} from '../../contracts/observation.ts';
import { ISSUED_VERDICTS, isBad } from '../../tables/issued-verdicts.ts';
import { compare, timeOf } from '../../words.ts';
import type { Draft } from './draft.ts';

/** The verdict on a kubelet serving certificate, if it has one. Of an unreadable one, no name is proven. Pure. */
export function issuedOf(one: Observation): IssuedObservation | undefined {
  if (one.kind === 'certificate') return one.issued;
  if (one.kind !== 'unread' || one.what !== 'kubelet-serving') return undefined;
  const unproven = { verdict: 'not-proven', why: `its names cannot be read: ${one.message}` } as const;
  return one.issued ?? (one.problem === 'malformed' ? unproven : undefined);
}

/** The worst first; between equals, an address that is another's. */
export function rankOf({ verdict, addressOfAnother }: IssuedObservation): number {
  return ISSUED_VERDICTS.indexOf(verdict) - (addressOfAnother === true ? 0.5 : 0);
}

/** A certificate issued to a node: the observation with the worst verdict, from all sources that show it. */
interface IssuedCertificate {
  readonly worst: CertificateObservation | UnreadObservation;
  readonly issued: IssuedObservation;
}

/** Each kubelet serving certificate with a verdict, once; unreadable ones of one node count as one. Pure. */
export function issuedCertificates(observations: readonly Observation[]): readonly IssuedCertificate[] {
  const judged = observations.flatMap((worst): readonly IssuedCertificate[] => {
    const issued = issuedOf(worst);
    return issued !== undefined && (worst.kind === 'certificate' || worst.kind === 'unread') ? [{ worst, issued }] : [];
  });
  const keyOf = ({ worst }: IssuedCertificate) =>
    worst.kind === 'certificate'
      ? (worst.fingerprint ?? worst.where)
      : `${worst.member ?? worst.where} ${worst.problem}`;
  return [...Map.groupBy(judged, keyOf).values()].map((same) => {
    const { worst, issued } = same.reduce((first, next) => (worseFirst(next, first) < 0 ? next : first));
    // Only its request says who approved it.
    return { worst, issued: { ...issued, approvedBy: same.find((one) => one.issued.approvedBy)?.issued.approvedBy } };
  });
}

/** Independent of the order of observations. */
function worseFirst(a: IssuedCertificate, b: IssuedCertificate): number {
  return rankOf(a.issued) - rankOf(b.issued) || compare(a.worst.where ?? '', b.worst.where ?? '');
}

/**
 * One finding for each certificate with names that are not proven to be its node's. Its object includes the
 * fingerprint, as a node may have several. One for all that could not be judged. Pure.
 */
export function issuedFindings(observations: readonly Observation[]): readonly Draft[] {
  const certificates = issuedCertificates(observations);
  return [...certificates.flatMap(draftOf), ...unjudged(certificates)];
}

function draftOf({ worst, issued }: IssuedCertificate): readonly Draft[] {
  const { verdict, why, approvedBy, addressOfAnother } = issued;
  if (!isBad(verdict)) return [];
  const { what, where = '', member } = worst;
  const read = worst.kind === 'certificate' ? worst : undefined;
  return [
    {
      code: verdict === 'names-another' ? 'IssuedNamesAnother' : 'IssuedUnproven',
      severity: verdict === 'names-another' ? 'critical' : 'warning',
      what,
      object: `${what} ${member ?? where} ${worst.kind === 'certificate' ? worst.fingerprint?.slice(0, 8) : worst.problem}`,
      places: [where],
      facts: {
        node: member,
        where,
        // The requester is not a node: only the certificate names one.
        commonName: member === undefined ? read?.commonName : undefined,
        notBefore: timeOf(read?.notBefore) === undefined ? undefined : read?.notBefore,
        approvedBy: approvedBy && approverName(approvedBy),
        why,
        isAddress: addressOfAnother,
      },
    },
  ];
}

function unjudged(certificates: readonly IssuedCertificate[]): readonly Draft[] {
  const unread = certificates.filter(({ issued }) => issued.evidenceUnread === true).toSorted(worseFirst);
  return unread.slice(0, 1).map(({ worst: { member, where = '' }, issued: { why = '' } }) => ({
    code: 'SourceUnread',
    severity: 'warning',
    object: 'evidence of kubelet-serving',
    what: 'kubelet-serving',
    facts: { of: 'evidence', certificates: unread.length, where: member ?? where, why },
  }));
}

/** The number of kubelet serving certificates by verdict. Undefined if none was judged. Pure. */
export function issuedSummaryOf(observations: readonly Observation[]): VerdictCounts | undefined {
  const counts = { 'names-another': 0, 'not-proven': 0, unknown: 0, proven: 0 };
  const certificates = issuedCertificates(observations);
  for (const { issued } of certificates) counts[issued.verdict] += 1;
  return certificates.length === 0 ? undefined : counts;
}

export function issuedTotal(counts: VerdictCounts): number {
  return ISSUED_VERDICTS.reduce((sum, verdict) => sum + counts[verdict], 0);
}
