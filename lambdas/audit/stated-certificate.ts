import type { CertificateObservation } from '../contracts/observation.ts';
import type { Provider } from '../identifiers.ts';
import { renewedBy } from '../tables/certificate-classes.ts';
import { timestamp } from '../time.ts';
import type { Sighting } from './certificate-observation.ts';

/** What a source says about a certificate. Times in milliseconds since the epoch. */
export interface Stated {
  readonly basis: 'status' | 'annotation' | 'inference';
  readonly notBefore?: number | undefined;
  readonly notAfter: number;
  readonly precisionMs?: number;
}

/** The observation of a certificate that was not read itself. */
export function statedCertificate(
  sighting: Sighting,
  { basis, notBefore, notAfter, precisionMs }: Stated,
  provider: Provider,
): CertificateObservation {
  const renewal = renewedBy(sighting.what, provider);
  return {
    kind: 'certificate',
    ...sighting,
    basis,
    ...(notBefore === undefined ? {} : { notBefore: timestamp(notBefore) }),
    notAfter: timestamp(notAfter),
    ...(precisionMs === undefined ? {} : { precisionMs }),
    ...(renewal === undefined ? {} : { renewedBy: renewal }),
  };
}
