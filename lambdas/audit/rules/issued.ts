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

/** What is told of a verdict; of the others nothing. */
const TOLD: Readonly<
  Partial<Record<IssuedVerdict, { readonly code: FindingCode; readonly severity: Severity; readonly words: string }>>
> = {
  'names-another': { code: 'IssuedNamesAnother', severity: 'critical', words: 'is more than its node' },
  'not-proven': { code: 'IssuedUnproven', severity: 'warning', words: 'is not proven' },
  'no-longer-proven': { code: 'IssuedUnproven', severity: 'info', words: 'was proven, and is no longer' },
};

/** Who was given another's name is worth knowing for a while, also where the certificate ends within minutes. */
const FORGET_AFTER_MS = 7 * DAY_MS;

/** Until then evidence may be read again. */
const UNJUDGED_MS = DAY_MS;

/** A certificate, or one that cannot be read. */
type Said = CertificateObservation | UnreadObservation;

/** A certificate that was issued to a node, by whoever saw it. */
export interface IssuedCertificate<T extends Said = Said> {
  /** The worst that is said of it. */
  readonly worst: T & Required<Pick<T, 'issued'>>;
  /** Reason of the approval, where its request was seen. */
  readonly approvedBy: string | undefined;
}

/** Each kubelet serving certificate of which something was said, once. Pure. */
export function issuedCertificates<T extends Said>(said: readonly T[]): readonly IssuedCertificate<T>[] {
  const judged = said.filter((one): one is IssuedCertificate<T>['worst'] => one.issued !== undefined);
  return [...Map.groupBy(judged, keyOf).values()].map((same) => ({
    worst: same.reduce((worst, next) => (worseFirst(next, worst) < 0 ? next : worst)),
    approvedBy: same.find(({ issued }) => issued?.approvedBy !== undefined)?.issued?.approvedBy,
  }));
}

/** What cannot be read of one node for one reason counts as one. */
function keyOf(said: Said): string {
  if (said.kind === 'certificate') return said.fingerprint ?? said.where;
  return `${said.member ?? said.where}\n${said.problem}`;
}

/**
 * One finding for each certificate that names what is not its node's, called after the certificate: its node may have several. Of those that cannot be read, one
 * for each node and reason. Pure.
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
      // Who asked is no node: only the certificate names one.
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
  const by = approvedBy === undefined ? '' : `, approved by ${approvedBy}`;
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
 * Says that certificates have been unknown for over a day because evidence could not be read. What no evidence can tell is not among them. Pure.
 *
 * @param now milliseconds since the epoch
 */
export function unjudgedFindings(certificates: readonly KnownCertificate[], now: number): readonly Draft[] {
  const lasting = certificates
    .flatMap(({ said }) => issuedCertificates(said))
    .flatMap(({ worst: { issued, notAfter, member, where } }) => {
      const since = timeOf(issued?.since) ?? now;
      const isOver = (timeOf(notAfter) ?? now) < now;
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
      message: `${counted(lasting.length, 'kubelet certificate')} could not be judged for ${span(now - first.since)}, as evidence could not be read: ${first.where}: ${first.why}; explain --node says which, and how to make it readable`,
      since: isoOf(first.since),
    },
  ];
}

/** Whoever was heard first. */
function worseFirst(a: Said, b: Said): number {
  return rankOf(a) - rankOf(b) || compare(a.where ?? '', b.where ?? '');
}

function rankOf({ issued }: Said): number {
  return issued === undefined ? ISSUED_VERDICTS.length : ISSUED_VERDICTS.indexOf(issued.verdict);
}
