import type { CertificateObservation } from '../contracts/observation.ts';
import type { Provider } from '../identifiers.ts';
import { renewedBy } from '../tables/certificate-classes.ts';
import { timestamp } from '../time.ts';
import type { Certificate } from '../x509/certificate.ts';

/** Where a certificate was seen, by which source, and when. */
export type Sighting = Pick<CertificateObservation, 'what' | 'where' | 'source' | 'observedAt'> &
  Partial<CertificateObservation>;

/**
 * The observation of a certificate that was read itself. A time zone can move its times out of the years of RFC 3339.
 */
export function certificateObservation(
  sighting: Sighting,
  certificate: Certificate,
  provider: Provider,
): CertificateObservation {
  const { commonName, weakKey, weakSignature, subjectKeyId, authorityKeyId, refused, dnsNames } = certificate;
  const serverNames =
    sighting.what === 'tls-secret' ? dnsNames.filter((name) => name.endsWith('.svc')).slice(0, 16) : [];
  return {
    kind: 'certificate',
    ...sighting,
    basis: 'certificate',
    notBefore: timestamp(certificate.notBefore),
    notAfter: timestamp(certificate.notAfter),
    subject: certificate.subject,
    issuer: certificate.issuer,
    commonName,
    serialNumber: certificate.serialNumber,
    fingerprint: certificate.fingerprint,
    isAuthority: certificate.isAuthority,
    key: certificate.key,
    weakKey,
    weakSignature,
    subjectKeyId,
    authorityKeyId,
    renewedBy: renewedBy(sighting.what, provider),
    refused,
    ...(serverNames.length === 0 ? {} : { serverNames }),
  };
}
