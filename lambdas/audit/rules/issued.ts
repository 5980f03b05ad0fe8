import { approverName } from '../../approval/condition-reasons.ts';
import {
  type CertificateObservation,
  NOT_ISSUED,
  type Observation,
  type UnreadObservation,
} from '../../contracts/observation.ts';
import type { FindingCode, Severity } from '../../tables/finding-codes.ts';
import { ISSUED_VERDICTS, type IssuedVerdict } from '../../tables/issued-verdicts.ts';
import { DAY_MS } from '../../time.ts';
import { compare, counted, isoOf, span, timeOf } from '../../words.ts';
import type { KnownCertificate } from '../certificates.ts';
import type { Draft } from './draft.ts';

/** The finding for each verdict; the others have none. */
const TOLD: Readonly<
  Partial<Record<IssuedVerdict, { readonly code: FindingCode; readonly severity: Severity; readonly words: string }>>
> = {
  'names-another': { code: 'IssuedNamesAnother', severity: 'critical', words: 'covers more than its node' },
  'not-proven': { code: 'IssuedUnproven', severity: 'warning', words: 'is not proven' },
  'no-longer-proven': { code: 'IssuedUnproven', severity: 'info', words: 'was proven, and is no longer' },
};

/** A certificate with another's name is reported this long after it expires, even if it lived only minutes. */
const FORGET_AFTER_MS = 7 * DAY_MS;

/** Until then, evidence may become readable again. */
const UNJUDGED_MS = DAY_MS;

/** A certificate, or one that cannot be read. */
type Said = CertificateObservation | UnreadObservation;

/** A certificate issued to a node, from all sources that saw it. */
export interface IssuedCertificate<T extends Said = Said> {
  /** The observation with the worst verdict. */
  readonly worst: T & Required<Pick<T, 'issued'>>;
  /** Reason of the approval, if its request was seen. */
  readonly approvedBy: string | undefined;
}

/** Each kubelet serving certificate with a verdict, once. Pure. */
export function issuedCertificates<T extends Said>(said: readonly T[]): readonly IssuedCertificate<T>[] {
  const judged = said.filter((one): one is IssuedCertificate<T>['worst'] => one.issued !== undefined);
  return [...Map.groupBy(judged, keyOf).values()].map((same) => ({
    worst: same.reduce((worst, next) => (worseFirst(next, worst) < 0 ? next : worst)),
    approvedBy: same.find(({ issued }) => issued?.approvedBy !== undefined)?.issued?.approvedBy,
  }));
}

/** Unreadable certificates of one node for one reason count as one. */
function keyOf(said: Said): string {
  if (said.kind === 'certificate') return said.fingerprint ?? said.where;
  return `${said.member ?? said.where}\n${said.problem}`;
}

/**
 * One finding for each certificate with names that are not proven to be its node's. Its object includes the
 * fingerprint, as a node may have several. Unreadable ones have one finding for each node and reason. Pure.
 *
 * @param now milliseconds since the epoch
 */
export function issuedFindings(
  certificates: readonly KnownCertificate[],
  observations: readonly Observation[],
  now: number,
): readonly Draft[] {
  const read = certificates.flatMap(({ object, member, said }) =>
    issuedCertificates(said).flatMap((certificate) => {
      const { notBefore, notAfter, commonName, fingerprint = '' } = certificate.worst;
      // The requester is not a node: only the certificate names one.
      const named = member === undefined && commonName !== undefined ? `, for ${commonName}` : '';
      const since = timeOf(notBefore) === undefined ? '' : `, issued ${notBefore?.slice(0, 10)}`;
      const called = { object: `${object} ${fingerprint.slice(0, 8)}`.trim(), member, since: `${named}${since}` };
      return draftOf(certificate, called, now - (timeOf(notAfter) ?? now));
    }),
  );
  const unread = issuedCertificates(observations.filter((one) => one.kind === 'unread')).flatMap((certificate) => {
    const { what, where, member, problem } = certificate.worst;
    return draftOf(
      certificate,
      {
        object: `${what} ${member ?? where} ${problem}`,
        member,
        since: problem === NOT_ISSUED ? ', not issued yet' : '',
      },
      0,
    );
  });
  return [...read, ...unread];
}

interface Called {
  readonly object: string;
  readonly member: string | undefined;
  readonly since: string;
}

function draftOf(
  { worst, approvedBy }: IssuedCertificate,
  { object, member, since }: Called,
  endedMs: number,
): Draft[] {
  const { issued, what, where = '' } = worst;
  const told = issued && TOLD[issued.verdict];
  if (told === undefined) return [];
  const { code, severity, words } = told;
  if (endedMs > (severity === 'critical' ? FORGET_AFTER_MS : 0)) return [];
  const by = approvedBy === undefined ? '' : `, approved by ${approverName(approvedBy)}`;
  return [
    {
      code,
      severity,
      what,
      object,
      places: [where],
      message: `the certificate of ${member ?? where}${since}${by}, ${words}: ${issued?.why ?? 'no reason is known'}`,
      words: { node: member, where },
    },
  ];
}

/**
 * Reports certificates that have been unknown for over a day because evidence could not be read, not those that no
 * evidence can prove. Pure.
 *
 * @param now milliseconds since the epoch
 */
export function unjudgedFindings(certificates: readonly KnownCertificate[], now: number): readonly Draft[] {
  const lasting = certificates
    .flatMap(({ said }) => issuedCertificates(said))
    .flatMap(({ worst: { issued, notAfter, member, where } }) => {
      const since = timeOf(issued?.since) ?? now;
      const isOver = Date.parse(notAfter) < now;
      return issued?.evidenceUnread !== true || isOver || now - since <= UNJUDGED_MS
        ? []
        : [{ since, why: issued.why ?? 'evidence could not be read', where: member ?? where }];
    })
    .toSorted((a, b) => a.since - b.since || compare(a.where, b.where) || compare(a.why, b.why));
  const [first] = lasting;
  if (first === undefined) return [];
  return [
    {
      code: 'SourceUnread',
      severity: 'warning',
      object: 'evidence of kubelet-serving',
      what: 'kubelet-serving',
      message: `${counted(lasting.length, 'kubelet certificate')} could not be judged for ${span(now - first.since)}, because evidence could not be read: ${first.where}: ${first.why}; explain --node says which, and how to make it readable`,
      since: isoOf(first.since),
    },
  ];
}

/** Independent of the order of observations. */
function worseFirst(a: Said, b: Said): number {
  return rankOf(a) - rankOf(b) || compare(a.where ?? '', b.where ?? '');
}

function rankOf({ issued }: Said): number {
  return issued === undefined ? ISSUED_VERDICTS.length : ISSUED_VERDICTS.indexOf(issued.verdict);
}
