import { approverName } from '../../approval/condition-reasons.ts';
import type { Facts } from '../../contracts/facts.ts';
import {
  type CertificateObservation,
  NOT_ISSUED,
  type Observation,
  type UnreadObservation,
} from '../../contracts/observation.ts';
import type { Severity } from '../../tables/finding-codes.ts';
import { ISSUED_VERDICTS, type IssuedVerdict } from '../../tables/issued-verdicts.ts';
import { DAY_MS } from '../../time.ts';
import { compare, isoOf, timeOf } from '../../words.ts';
import type { KnownCertificate } from '../certificates.ts';
import type { Draft } from './draft.ts';

/** The finding for each verdict; the others have none. */
const TOLD: Readonly<
  Partial<
    Record<IssuedVerdict, { readonly code: 'IssuedNamesAnother' | 'IssuedUnproven'; readonly severity: Severity }>
  >
> = {
  'names-another': { code: 'IssuedNamesAnother', severity: 'critical' },
  'not-proven': { code: 'IssuedUnproven', severity: 'warning' },
  'no-longer-proven': { code: 'IssuedUnproven', severity: 'info' },
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
      const facts = {
        node: member,
        // The requester is not a node: only the certificate names one.
        commonName: member === undefined ? commonName : undefined,
        notBefore: timeOf(notBefore) === undefined ? undefined : notBefore,
      };
      const name = `${object} ${fingerprint.slice(0, 8)}`.trim();
      return draftOf(certificate, name, facts, now - (timeOf(notAfter) ?? now));
    }),
  );
  const unread = issuedCertificates(observations.filter((one) => one.kind === 'unread')).flatMap((certificate) => {
    const { what, where, member, problem } = certificate.worst;
    const facts = { node: member, isPending: problem === NOT_ISSUED || undefined };
    return draftOf(certificate, `${what} ${member ?? where} ${problem}`, facts, 0);
  });
  return [...read, ...unread];
}

function draftOf(
  { worst, approvedBy }: IssuedCertificate,
  object: string,
  facts: Omit<Facts<'IssuedUnproven'>, 'where'>,
  endedMs: number,
): Draft[] {
  const { issued, what, where = '' } = worst;
  const told = issued && TOLD[issued.verdict];
  if (told === undefined) return [];
  const { code, severity } = told;
  if (endedMs > (severity === 'critical' ? FORGET_AFTER_MS : 0)) return [];
  const approver = approvedBy === undefined ? undefined : approverName(approvedBy);
  return [
    {
      code,
      severity,
      what,
      object,
      places: [where],
      facts: { ...facts, where, approvedBy: approver, why: issued?.why },
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
      facts: { of: 'evidence', certificates: lasting.length, where: first.where, why: first.why },
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
