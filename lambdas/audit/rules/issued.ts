import type { CertificateObservation } from '../../contracts/observation.ts';
import type { FindingCode, Severity } from '../../tables/finding-codes.ts';
import { ISSUED_VERDICTS, type IssuedVerdict } from '../../tables/issued-verdicts.ts';
import { DAY_MS } from '../../time.ts';
import { compare, timeOf } from '../../words.ts';
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

/** A certificate that was issued to a node, by whoever saw it. */
export interface IssuedCertificate {
  /** The worst that is said of it. */
  readonly worst: CertificateObservation & Required<Pick<CertificateObservation, 'issued'>>;
  /** Reason of the approval, where its request was seen. */
  readonly approvedBy: string | undefined;
}

/** Each kubelet serving certificate of which something was said, once. Pure. */
export function issuedCertificates(said: readonly CertificateObservation[]): readonly IssuedCertificate[] {
  const judged = said.filter((one): one is IssuedCertificate['worst'] => one.issued !== undefined);
  return [...Map.groupBy(judged, ({ fingerprint, where }) => fingerprint ?? where).values()].map((same) => ({
    worst: same.reduce((worst, next) => (worseFirst(next, worst) < 0 ? next : worst)),
    approvedBy: same.find(({ issued }) => issued.approvedBy !== undefined)?.issued.approvedBy,
  }));
}

/**
 * One finding for each certificate that names what is not its node's, called after the certificate: its node may have several. Pure.
 *
 * @param now milliseconds since the epoch
 */
export function issuedFindings(certificates: readonly KnownCertificate[], now: number): readonly Draft[] {
  return certificates.flatMap(({ object, member, said }) =>
    issuedCertificates(said).flatMap(({ worst, approvedBy }) => {
      const { issued, what, where, notBefore, notAfter, fingerprint = '' } = worst;
      const told = TOLD[issued.verdict];
      if (told === undefined) return [];
      const { code, severity, words } = told;
      const ended = now - (timeOf(notAfter) ?? now);
      if (ended > (severity === 'critical' ? FORGET_AFTER_MS : 0)) return [];
      const since = timeOf(notBefore) === undefined ? '' : `, issued ${notBefore?.slice(0, 10)}`;
      const by = approvedBy === undefined ? '' : `, approved by ${approvedBy}`;
      return [
        {
          code,
          severity,
          what,
          object: `${object} ${fingerprint.slice(0, 8)}`.trim(),
          places: [where],
          message: `the certificate of ${member ?? where}${since}${by}, ${words}: ${issued.why ?? 'no reason is known'}`,
          words: { node: member, where },
        },
      ];
    }),
  );
}

/** Whoever was heard first. */
function worseFirst(a: IssuedCertificate['worst'], b: IssuedCertificate['worst']): number {
  return rankOf(a) - rankOf(b) || compare(a.where, b.where);
}

function rankOf({ issued }: IssuedCertificate['worst']): number {
  return ISSUED_VERDICTS.indexOf(issued.verdict);
}
