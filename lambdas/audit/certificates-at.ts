import type { Observation, UnreadObservation } from '../contracts/observation.ts';
import type { Provider } from '../identifiers.ts';
import { type Certificate, readable } from '../x509/certificate.ts';
import { type CertificateBundle, decodeBundle } from '../x509/certificate-bundle.ts';
import { certificateObservation, type Sighting } from './certificate-observation.ts';

export interface CertificatesAtPlace {
  readonly observations: readonly Observation[];
  /** The readable ones. */
  readonly certificates: readonly Certificate[];
}

/** Observations of PEM text, or a bundle of it, at one place: each certificate, and each that cannot be read. */
export function certificatesAt(
  sighting: Sighting,
  content: string | CertificateBundle,
  provider: Provider,
): CertificatesAtPlace {
  const { certificates, problem } = typeof content === 'string' ? decodeBundle(content) : content;
  // The verdict is on the leaf.
  const at = (position: number): Sighting => (position === 0 ? sighting : { ...sighting, issued: undefined });
  const observations = certificates.map((read, position) =>
    read.ok
      ? certificateObservation({ ...at(position), position }, read.certificate, provider)
      : malformed(sighting, `certificate ${position + 1}: ${read.problem}`),
  );
  return {
    observations: problem === undefined ? observations : [...observations, malformed(sighting, problem)],
    certificates: readable(certificates),
  };
}

/** The bytes at a place are no certificate: its clients refuse them too. */
export function malformed(
  { source, observedAt, where, what, member, usedBy }: Sighting,
  problem: string,
): UnreadObservation {
  return {
    kind: 'unread',
    source,
    observedAt,
    where,
    what,
    member,
    problem: 'malformed',
    message: problem,
    remedy: 'Correct the content.',
    broken: true,
    usedBy,
  };
}
