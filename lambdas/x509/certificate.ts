/** What is read from a certificate. All text is printable and bounded; times in milliseconds since the epoch. */
export interface Certificate {
  readonly notBefore: number;
  readonly notAfter: number;
  /** In the notation of RFC 4514. */
  readonly subject: string;
  readonly issuer: string;
  /** The common name of the subject; absent if it has none or several. */
  readonly commonName?: string;
  readonly organizations: readonly string[];
  /** Lowercase hexadecimal. */
  readonly serialNumber: string;
  /** SHA-256 of the DER, 64 lowercase hexadecimal digits. */
  readonly fingerprint: string;
  readonly isAuthority: boolean;
  /** Subject and issuer are the same, and no key identifier contradicts. The signature is not verified. */
  readonly selfIssued: boolean;
  /** `P-256`, `RSA-2048`, `Ed25519`, …. */
  readonly key: string;
  /** A signature by its key is verified within 2 ms. Signatures by other keys are not verified. */
  readonly verifiesFast: boolean;
  /** Why the key or the signature is too weak to be trusted. */
  readonly weakKey?: string;
  readonly weakSignature?: string;
  readonly subjectKeyId?: string;
  readonly authorityKeyId?: string;
  /** Why Go programs, and so all of Kubernetes, refuse it. */
  readonly refused?: string;
  /** Canonical, see `lambdas/names.ts`. */
  readonly dnsNames: readonly string[];
  readonly addresses: readonly string[];
  /** There are names of other kinds, or more than are kept. */
  readonly otherNames: boolean;
  /** Object identifiers of the extended key usage; absent when the certificate has none. */
  readonly extendedKeyUsages?: readonly string[];
  /** The encoding, for checks of the signature. */
  readonly der: Buffer;
}

export type DecodedCertificate =
  | { readonly ok: true; readonly certificate: Certificate }
  | { readonly ok: false; readonly problem: string };

export function readable(decoded: readonly DecodedCertificate[]): readonly Certificate[] {
  return decoded.flatMap((one) => (one.ok ? [one.certificate] : []));
}
