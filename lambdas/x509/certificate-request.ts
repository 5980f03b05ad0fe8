/** One attribute of a distinguished name, as encoded. */
export interface NameAttribute {
  /** Dotted object identifier, for example `2.5.4.3`. */
  readonly oid: string;
  /** ASN.1 string type of the value; `other` for anything that is not a character string. */
  readonly stringType: StringType;
  /** The decoded text; empty when `stringType` is `other`. */
  readonly value: string;
}

export type StringType =
  | 'UTF8String'
  | 'PrintableString'
  | 'IA5String'
  | 'NumericString'
  | 'TeletexString'
  | 'BMPString'
  | 'UniversalString'
  | 'other';

/** A subject, RDN by RDN, in encoded order. A multi-valued RDN has several attributes. */
export type Subject = readonly (readonly NameAttribute[])[];

/** RFC 5280 §4.2.1.6, every choice. Only the kinds with text carry one; `value` of an IP is its canonical text. */
export type GeneralName =
  | { readonly kind: 'dNSName'; readonly value: string }
  | { readonly kind: 'iPAddress'; readonly value: string }
  | { readonly kind: 'rfc822Name'; readonly value: string }
  | { readonly kind: 'uniformResourceIdentifier'; readonly value: string }
  | { readonly kind: 'otherName' | 'x400Address' | 'directoryName' | 'ediPartyName' | 'registeredID' };

export interface RequestedExtension {
  readonly oid: string;
  readonly critical: boolean;
}

/** The public key of a request, by kind and size. `curve` and `bits` are what the SubjectPublicKeyInfo says. */
export type PublicKey =
  | { readonly kind: 'ECDSA'; readonly curve: 'P-256' | 'P-384' | 'P-521' }
  | { readonly kind: 'RSA'; readonly bits: number; readonly exponent: number }
  | { readonly kind: 'Ed25519' }
  | { readonly kind: 'ML-DSA'; readonly parameterSet: 'ML-DSA-44' | 'ML-DSA-65' | 'ML-DSA-87' }
  | { readonly kind: 'unknown'; readonly algorithm: string };

/** A PKCS#10 request (RFC 2986) of which every byte was understood. */
export interface CertificateRequest {
  readonly subject: Subject;
  readonly extensions: readonly RequestedExtension[];
  /** Every name of the one subjectAltName extension; empty without one. */
  readonly subjectAltNames: readonly GeneralName[];
  readonly publicKey: PublicKey;
  /** DER of SubjectPublicKeyInfo. */
  readonly publicKeyInfo: Uint8Array;
  /** The exact bytes that the signature covers (CertificationRequestInfo). */
  readonly toBeSigned: Uint8Array;
  /** Dotted OID of the signature algorithm. */
  readonly signatureAlgorithm: string;
  readonly signature: Uint8Array;
}

/** Why bytes are not an accepted request: the broken rule, the place, and what was found. */
export interface DecodeRefusal {
  readonly code: DecodeRefusalCode;
  /** One sentence, safe to print: no byte of the input is quoted unescaped. */
  readonly message: string;
}

export type DecodeRefusalCode =
  | 'TooLarge'
  | 'NotPem'
  | 'NotDer'
  | 'TooDeep'
  | 'TrailingData'
  | 'UnexpectedStructure'
  | 'DuplicateExtension'
  | 'DuplicateAttribute'
  | 'UnsupportedVersion';

export type DecodedRequest =
  | { readonly ok: true; readonly request: CertificateRequest }
  | { readonly ok: false; readonly refusal: DecodeRefusal };
