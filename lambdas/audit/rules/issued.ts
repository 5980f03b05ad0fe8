import type { CertificateObservation } from '../../contracts/observation.ts';
import type { FindingCode, Severity } from '../../tables/finding-codes.ts';
import { ISSUED_VERDICTS, type IssuedVerdict } from '../../tables/issued-verdicts.ts';
import { timeOf } from '../../words.ts';
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
    worst: same.reduce((worst, next) => (rankOf(next) < rankOf(worst) ? next : worst)),
    approvedBy: same.find(({ issued }) => issued.approvedBy !== undefined)?.issued.approvedBy,
  }));
}

/** One finding for each certificate that names what is not its node's. Pure. */
export function issuedFindings(certificates: readonly KnownCertificate[]): readonly Draft[] {
  return certificates.flatMap(({ object, member, said }) =>
    issuedCertificates(said).flatMap(({ worst, approvedBy }, index) => {
      const { issued, what, where, notBefore, fingerprint = '' } = worst;
      const told = TOLD[issued.verdict];
      if (told === undefined) return [];
      const { code, severity, words } = told;
      const since = timeOf(notBefore) === undefined ? '' : `, issued ${notBefore?.slice(0, 10)}`;
      const by = approvedBy === undefined ? '' : `, approved by ${approvedBy}`;
      return [
        {
          code,
          severity,
          what,
          object: index === 0 ? object : `${object} ${fingerprint.slice(0, 8)}`,
          places: [where],
          message: `the certificate of ${member ?? where}${since}${by}, ${words}: ${issued.why ?? 'no reason is known'}`,
          words: { node: member, where },
        },
      ];
    }),
  );
}

function rankOf({ issued }: IssuedCertificate['worst']): number {
  return ISSUED_VERDICTS.indexOf(issued.verdict);
}
