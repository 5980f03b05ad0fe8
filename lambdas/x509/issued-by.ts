import type { Certificate } from './certificate.ts';

/** Whether the key of an authority made the signature of a certificate, and the authority is what its issuer is called. Never throws. */
export function isIssuedBy(certificate: Certificate, authority: Certificate): boolean {
  throw new Error(`not built: ${certificate.fingerprint} ${authority.fingerprint}`);
}
