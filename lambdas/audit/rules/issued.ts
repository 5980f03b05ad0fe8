import { approverName } from '../../approval/condition-reasons.ts';
import type { CertificateObservation, Observation, UnreadObservation } from '../../contracts/observation.ts';
import type { Severity } from '../../tables/finding-codes.ts';
import { ISSUED_VERDICTS, type IssuedVerdict } from '../../tables/issued-verdicts.ts';
import { compare, timeOf } from '../../words.ts';
import type { Draft } from './draft.ts';

/** The finding for each verdict; the others have none. */
const FINDINGS: Readonly<
  Partial<
    Record<IssuedVerdict, { readonly code: 'IssuedNamesAnother' | 'IssuedUnproven'; readonly severity: Severity }>
  >
> = {
  'names-another': { code: 'IssuedNamesAnother', severity: 'critical' },
  'not-proven': { code: 'IssuedUnproven', severity: 'warning' },
};

type Judged = (CertificateObservation | UnreadObservation) & Required<Pick<CertificateObservation, 'issued'>>;

/** A certificate issued to a node, from all sources that saw it. */
export interface IssuedCertificate {
  /** The observation with the worst verdict. */
  readonly worst: Judged;
  /** Reason of the approval, if its request was seen. */
  readonly approvedBy: string | undefined;
}

/** Each kubelet serving certificate with a verdict, once; unreadable ones of one node count as one. Pure. */
export function issuedCertificates(observations: readonly Observation[]): readonly IssuedCertificate[] {
  const judged = observations.filter((one): one is Judged => 'issued' in one && one.issued !== undefined);
  return [...Map.groupBy(judged, keyOf).values()].map((same) => ({
    worst: same.reduce((worst, next) => (worseFirst(next, worst) < 0 ? next : worst)),
    approvedBy: same.find(({ issued }) => issued?.approvedBy !== undefined)?.issued?.approvedBy,
  }));
}

function keyOf(one: Judged): string {
  return one.kind === 'certificate' ? (one.fingerprint ?? one.where) : `${one.member ?? one.where}\n${one.problem}`;
}

/** Independent of the order of observations. */
function worseFirst(a: Judged, b: Judged): number {
  const rankOf = ({ issued }: Judged) => ISSUED_VERDICTS.indexOf(issued?.verdict ?? 'proven');
  return rankOf(a) - rankOf(b) || compare(a.where ?? '', b.where ?? '');
}

/**
 * One finding for each certificate with names that are not proven to be its node's. Its object includes the
 * fingerprint, as a node may have several. One for all that could not be judged. Pure.
 */
export function issuedFindings(observations: readonly Observation[]): readonly Draft[] {
  const certificates = issuedCertificates(observations);
  return [...certificates.flatMap(draftOf), ...unjudged(certificates)];
}

function draftOf({ worst, approvedBy }: IssuedCertificate): readonly Draft[] {
  const { issued, what, where = '', member } = worst;
  const finding = issued && FINDINGS[issued.verdict];
  if (finding === undefined) return [];
  const { code, severity } = finding;
  return [
    {
      code,
      severity,
      what,
      object: `${what} ${member ?? where} ${worst.kind === 'certificate' ? worst.fingerprint?.slice(0, 8) : worst.problem}`,
      places: [where],
      facts: {
        node: member,
        where,
        ...(worst.kind === 'certificate' && {
          // The requester is not a node: only the certificate names one.
          commonName: member === undefined ? worst.commonName : undefined,
          notBefore: timeOf(worst.notBefore) === undefined ? undefined : worst.notBefore,
        }),
        approvedBy: approvedBy && approverName(approvedBy),
        why: issued?.why,
        isAddress: issued?.addressOfAnother,
      },
    },
  ];
}

function unjudged(certificates: readonly IssuedCertificate[]): readonly Draft[] {
  const unread = certificates.filter(({ worst }) => worst.issued?.evidenceUnread === true);
  const [first] = unread.toSorted((a, b) => worseFirst(a.worst, b.worst));
  if (first === undefined) return [];
  const { member, where, issued } = first.worst;
  return [
    {
      code: 'SourceUnread',
      severity: 'warning',
      object: 'evidence of kubelet-serving',
      what: 'kubelet-serving',
      facts: { of: 'evidence', certificates: unread.length, where: member ?? where ?? '', why: issued?.why ?? '' },
    },
  ];
}
