import { approverName } from '../../approval/condition-reasons.ts';
import type { CertificateObservation, Observation, UnreadObservation } from '../../contracts/observation.ts';
import type { FindingCode, Severity } from '../../tables/finding-codes.ts';
import { ISSUED_VERDICTS, type IssuedVerdict } from '../../tables/issued-verdicts.ts';
import { compare, counted, timeOf } from '../../words.ts';
import type { Draft } from './draft.ts';

/** The finding for each verdict; the others have none. */
const FINDINGS: Readonly<
  Partial<Record<IssuedVerdict, { readonly code: FindingCode; readonly severity: Severity; readonly words: string }>>
> = {
  'names-another': { code: 'IssuedNamesAnother', severity: 'critical', words: 'covers more than its node' },
  'not-proven': { code: 'IssuedUnproven', severity: 'warning', words: 'is not proven' },
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
  const { code, severity, words } = finding;
  const by = approvedBy === undefined ? '' : `, approved by ${approverName(approvedBy)}`;
  const soon = issued?.addressOfAnother === true ? '; if the next audit sees that too, it is critical' : '';
  const why = `${issued?.why ?? 'no reason is known'}${soon}`;
  return [
    {
      code,
      severity,
      what,
      object: `${what} ${member ?? where} ${worst.kind === 'certificate' ? worst.fingerprint?.slice(0, 8) : worst.problem}`,
      places: [where],
      message: `the certificate of ${member ?? where}${sinceOf(worst)}${by}, ${words}: ${why}`,
      words: { node: member, where },
    },
  ];
}

function sinceOf(worst: Judged): string {
  if (worst.kind === 'unread') return '';
  const { member, commonName, notBefore } = worst;
  // The requester is not a node: only the certificate names one.
  const named = member === undefined && commonName !== undefined ? `, for ${commonName}` : '';
  return timeOf(notBefore) === undefined ? named : `${named}, issued ${notBefore?.slice(0, 10)}`;
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
      message: `${counted(unread.length, 'kubelet certificate')} could not be judged, because evidence could not be read: ${member ?? where}: ${issued?.why}; explain --node says which, and how to make it readable`,
    },
  ];
}
