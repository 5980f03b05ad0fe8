/** What is read from a certificate. All text is printable and bounded; times in milliseconds since the epoch. */
export interface Certificate {
  readonly notBefore: number;
  readonly notAfter: number;
  /** As RFC 4514 writes them. */
  readonly subject: string;
  readonly issuer: string;
  /** The one common name of the subject. */
  readonly commonName?: string;
  readonly organizations: readonly string[];
  /** Lowercase hexadecimal. */
  readonly serialNumber: string;
  /** SHA-256 of the DER, 64 lowercase hexadecimal digits. */
  readonly fingerprint: string;
  readonly isAuthority: boolean;
  /** Subject and issuer are the same, and no key identifier says otherwise. Whether its own key made the signature is another question. */
  readonly selfIssued: boolean;
  /** `P-256`, `RSA-2048`, `Ed25519`, …. */
  readonly key: string;
  /** A signature under its key is verified in no more than 2 ms. With other keys nothing is calculated. */
  readonly verifiesFast: boolean;
  /** Where key or signature is too weak to be trusted: why. */
  readonly weakKey?: string;
  readonly weakSignature?: string;
  readonly subjectKeyId?: string;
  readonly authorityKeyId?: string;
  /** Canonical as `lambdas/names.ts` has them. */
  readonly dnsNames: readonly string[];
  readonly addresses: readonly string[];
  /** There are names that are neither, or more than are kept. */
  readonly otherNames: boolean;
  /** Object identifiers of the extended key usage; absent when the certificate has none. */
  readonly extendedKeyUsages?: readonly string[];
  /** The encoding, for checks of the signature. */
  readonly der: Buffer;
}

export type DecodedCertificate =
  | { readonly ok: true; readonly certificate: Certificate }
  | { readonly ok: false; readonly problem: string };

/** Those that could be read. */
export function readable(decoded: readonly DecodedCertificate[]): readonly Certificate[] {
  return decoded.flatMap((one) => (one.ok ? [one.certificate] : []));
}
