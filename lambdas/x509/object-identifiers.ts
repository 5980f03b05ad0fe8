/** The object identifiers in a kubelet's request. */
export const OID = {
  // PKCS #9 (RFC 2985)
  extensionRequest: '1.2.840.113549.1.9.14',
  // RFC 5280
  subjectAltName: '2.5.29.17',
  // Public keys: RFC 3279, RFC 5480, RFC 8410, RFC 9881
  rsaEncryption: '1.2.840.113549.1.1.1',
  ecPublicKey: '1.2.840.10045.2.1',
  secp256r1: '1.2.840.10045.3.1.7',
  secp384r1: '1.3.132.0.34',
  secp521r1: '1.3.132.0.35',
  ed25519: '1.3.101.112',
  mlDsa44: '2.16.840.1.101.3.4.3.17',
  mlDsa65: '2.16.840.1.101.3.4.3.18',
  mlDsa87: '2.16.840.1.101.3.4.3.19',
} as const;

export interface SignatureAlgorithm {
  /** Kind of the key; for ML-DSA its parameter set. */
  readonly key: 'ECDSA' | 'RSA' | 'Ed25519' | 'ML-DSA-44' | 'ML-DSA-65' | 'ML-DSA-87';
  readonly digest: string | null;
}

/** Accepted signature algorithms (RFC 4055, RFC 5758, RFC 8410, RFC 9881). Not SHA-1, MD5, RSASSA-PSS, Ed448. */
export const SIGNATURE_ALGORITHMS: ReadonlyMap<string, SignatureAlgorithm> = new Map([
  ['1.2.840.10045.4.3.2', { key: 'ECDSA', digest: 'sha256' }],
  ['1.2.840.10045.4.3.3', { key: 'ECDSA', digest: 'sha384' }],
  ['1.2.840.10045.4.3.4', { key: 'ECDSA', digest: 'sha512' }],
  ['1.2.840.113549.1.1.11', { key: 'RSA', digest: 'sha256' }],
  ['1.2.840.113549.1.1.12', { key: 'RSA', digest: 'sha384' }],
  ['1.2.840.113549.1.1.13', { key: 'RSA', digest: 'sha512' }],
  [OID.ed25519, { key: 'Ed25519', digest: null }],
  [OID.mlDsa44, { key: 'ML-DSA-44', digest: null }],
  [OID.mlDsa65, { key: 'ML-DSA-65', digest: null }],
  [OID.mlDsa87, { key: 'ML-DSA-87', digest: null }],
]);
