// The library's dependency injection wants it loaded first.
// oxlint-disable-next-line import/no-unassigned-import
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';

/**
 * The one door to `@peculiar/x509`: an independent second reader of requests, and a maker of keys, requests and
 * certificates. It reads lenient BER and takes about a millisecond a request, so nothing that judges imports it.
 */

/** What a second reader sees in a request. Texts are as it writes them; a value that is no text is `#` and hexadecimal. */
export interface SecondReading {
  /** RDN by RDN: values by attribute type, which is a short name (`CN`, `O`, …) or a dotted object identifier. */
  readonly subject: readonly Readonly<Record<string, readonly string[]>>[];
  readonly extensions: readonly { readonly oid: string; readonly critical: boolean }[];
  /** `type` is `dns`, `ip`, `email`, `url`, `dn`, `upn`, `guid` or `id`. */
  readonly subjectAltNames: readonly { readonly type: string; readonly value: string }[];
}

/** Reads a PKCS#10 request in DER. Throws when the library does not understand it. */
export function readWithPeculiar(der: Uint8Array): SecondReading {
  const request = new x509.Pkcs10CertificateRequest(new Uint8Array(der));
  return {
    subject: request.subjectName.toJSON(),
    extensions: request.extensions.map(({ type, critical }) => ({ oid: type, critical })),
    subjectAltNames: request.extensions
      .filter((extension) => extension instanceof x509.SubjectAlternativeNameExtension)
      .flatMap((extension) => extension.names.items.map(({ type, value }) => ({ type, value }))),
  };
}

export type KeyKind = 'P-256' | 'P-384' | 'RSA-2048' | 'Ed25519';

const KEY_ALGORITHMS = {
  'P-256': { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' },
  'P-384': { name: 'ECDSA', namedCurve: 'P-384', hash: 'SHA-384' },
  'RSA-2048': {
    name: 'RSASSA-PKCS1-v1_5',
    hash: 'SHA-256',
    modulusLength: 2048,
    publicExponent: new Uint8Array([1, 0, 1]),
  },
  Ed25519: { name: 'Ed25519' },
} as const;

export interface KeyPair {
  readonly kind: KeyKind;
  readonly privateKey: webcrypto.CryptoKey;
  readonly publicKey: webcrypto.CryptoKey;
}

export async function createKeyPair(kind: KeyKind): Promise<KeyPair> {
  const pair = await webcrypto.subtle.generateKey(KEY_ALGORITHMS[kind], true, ['sign', 'verify']);
  if (!('privateKey' in pair)) throw new Error(`${kind} is not a key pair`);
  return { kind, privateKey: pair.privateKey, publicKey: pair.publicKey };
}

/** The private key in PKCS #8, for a TLS server. */
export async function privateKeyPem({ privateKey }: KeyPair): Promise<string> {
  return x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', privateKey), 'PRIVATE KEY');
}

export interface SubjectOptions {
  /** Without it the subject may be empty. */
  readonly commonName: string | undefined;
  /** One RDN each, before the common name. */
  readonly organizations?: readonly string[];
}

export interface CertificateRequestOptions extends SubjectOptions {
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
  readonly keys: KeyPair;
}

/** Makes a PKCS#10 request like a kubelet's, in PEM. */
export async function createCertificateRequest(options: CertificateRequestOptions): Promise<string> {
  const { keys, dnsNames = [], ipAddresses = [] } = options;
  const names = [
    ...dnsNames.map((value) => ({ type: 'dns' as const, value })),
    ...ipAddresses.map((value) => ({ type: 'ip' as const, value })),
  ];
  const request = await x509.Pkcs10CertificateRequestGenerator.create({
    name: nameOf(options),
    keys: { privateKey: keys.privateKey, publicKey: keys.publicKey },
    signingAlgorithm: KEY_ALGORITHMS[keys.kind],
    extensions: names.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(names)],
  });
  return pemText(request);
}

export interface Validity {
  readonly notBefore: Date;
  readonly notAfter: Date;
}

export interface CertificateAuthority {
  readonly certificate: string;
  readonly keys: KeyPair;
}

/** Makes a self-signed certificate authority, of P-256 where nothing else is said. */
export async function createCertificateAuthority(
  options: SubjectOptions & Validity & { readonly keys?: KeyPair },
): Promise<CertificateAuthority> {
  const { keys = await createKeyPair('P-256'), notBefore, notAfter } = options;
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: nameOf(options),
    notBefore,
    notAfter,
    keys: { privateKey: keys.privateKey, publicKey: keys.publicKey },
    signingAlgorithm: KEY_ALGORITHMS[keys.kind],
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { certificate: pemText(certificate), keys };
}

/** Issues what a request asks for: its subject, its names and its key, for a server. In PEM. */
export async function issueCertificate(
  authority: CertificateAuthority,
  request: string,
  { notBefore, notAfter }: Validity,
): Promise<string> {
  const issuer = new x509.X509Certificate(authority.certificate);
  const asked = new x509.Pkcs10CertificateRequest(request);
  const certificate = await x509.X509CertificateGenerator.create({
    subject: asked.subjectName,
    issuer: issuer.subjectName,
    notBefore,
    notAfter,
    publicKey: asked.publicKey,
    signingKey: authority.keys.privateKey,
    signingAlgorithm: KEY_ALGORITHMS[authority.keys.kind],
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      await x509.AuthorityKeyIdentifierExtension.create(issuer.publicKey),
      ...asked.extensions.filter((extension) => extension instanceof x509.SubjectAlternativeNameExtension),
    ],
  });
  return pemText(certificate);
}

/** What a TLS server, or its client, needs: a certificate and its private key, in PEM. */
export interface CertificatePair {
  readonly cert: string;
  readonly key: string;
}

/** Makes a request and issues it. New keys are of P-256. */
export async function issuePair(
  authority: CertificateAuthority,
  options: Partial<CertificateRequestOptions> & SubjectOptions & Validity,
): Promise<CertificatePair> {
  const { keys = await createKeyPair('P-256'), notBefore, notAfter } = options;
  const request = await createCertificateRequest({ ...options, keys });
  const cert = await issueCertificate(authority, request, { notBefore, notAfter });
  return { cert, key: await privateKeyPem(keys) };
}

function nameOf({ commonName, organizations = [] }: SubjectOptions): x509.Name {
  return new x509.Name([
    ...organizations.map((value) => ({ O: [literal(value)] })),
    ...(commonName === undefined ? [] : [{ CN: [literal(commonName)] }]),
  ]);
}

/** A value with its type; the library would look for escapes in a plain string. */
function literal(value: string): { printableString: string } | { utf8String: string } {
  return x509.Name.isPrintableString(value) ? { printableString: value } : { utf8String: value };
}

function pemText(data: x509.X509Certificate | x509.Pkcs10CertificateRequest): string {
  return `${data.toString('pem')}\n`;
}
