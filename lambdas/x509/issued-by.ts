import type { Certificate } from './certificate.ts';
import { type Verifications, verifications } from './verifications.ts';

/**
 * Whether the key of an authority made the signature of a certificate, and the authority is what its issuer is called. Undefined where that is not found out: the
 * key is of a kind that is not calculated with, or enough was calculated. Never throws.
 */
export function isIssuedBy(
  certificate: Certificate,
  authority: Certificate,
  made: Verifications = verifications(1),
): boolean | undefined {
  return certificate.issuer === authority.subject && made.isSignedBy(certificate, authority);
}

/** Whether its own key made the signature of a certificate; undefined where that is not found out. */
export function isSelfSigned(certificate: Certificate, made?: Verifications): boolean | undefined {
  return certificate.selfIssued && isIssuedBy(certificate, certificate, made);
}

/** Those that may have issued a certificate, by their names; first those whose key it names, as Go does it: the identifiers are hints and may be wrong. */
export function possibleIssuers(certificate: Certificate, among: readonly Certificate[]): readonly Certificate[] {
  const { issuer, authorityKeyId } = certificate;
  const rank = ({ subjectKeyId }: Certificate): number => {
    if (authorityKeyId === undefined || subjectKeyId === undefined) return 1;
    return authorityKeyId === subjectKeyId ? 0 : 2;
  };
  return among.filter(({ subject }) => subject === issuer).toSorted((a, b) => rank(a) - rank(b));
}
