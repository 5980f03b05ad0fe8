// The library's decorators need this before anything else is loaded.
// oxlint-disable-next-line import/no-unassigned-import
import 'reflect-metadata';
import { generateKeyPairSync, webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';

/** A certificate or request with its private key, all PEM (PKCS #8 for the key). */
export interface KeyedCertificate {
  readonly certPem: string;
  readonly keyPem: string;
}

/** A certificate as a component of the control plane has one. */
export interface CertificateWanted {
  readonly commonName: string;
  /** @default none */
  readonly organizations?: readonly string[];
  /** @default none */
  readonly dnsNames?: readonly string[];
  /** @default none */
  readonly ipAddresses?: readonly string[];
  readonly usages: readonly ('client' | 'server')[];
  /** @default an hour ago */
  readonly notBefore?: Date;
  /** @default in a week */
  readonly notAfter?: Date;
}

/** A certificate authority that lives for one test run. */
export interface TestAuthority extends KeyedCertificate {
  /** Any certificate, with a key of its own. */
  certificate(wanted: CertificateWanted): Promise<KeyedCertificate>;
  /** A certificate for a server on this machine: 127.0.0.1 and localhost. */
  serverCertificate(commonName: string): Promise<KeyedCertificate>;
  /** A client certificate; Kubernetes reads the common name as the user and the organizations as groups. */
  clientCertificate(commonName: string, organizations: readonly string[]): Promise<KeyedCertificate>;
}

/** What a kubelet puts into its request for a serving certificate. */
export interface KubeletRequest {
  /** The node's name; the common name becomes `system:node:<nodeName>`. */
  readonly nodeName: string;
  /** @default none */
  readonly dnsNames?: readonly string[];
  /** @default none */
  readonly ipAddresses?: readonly string[];
  /** @default ['system:nodes'] */
  readonly organizations?: readonly string[];
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const rsa = {
  name: 'RSASSA-PKCS1-v1_5',
  hash: 'SHA-256',
  modulusLength: 2048,
  publicExponent: new Uint8Array([1, 0, 1]),
} as const;
const hour = 3_600_000;

/**
 * Makes a new certificate authority.
 *
 * @param notAfter its end. @default in a week
 * @param ownKey of the authority itself: not every part of Cluster API takes one of the new kind
 */
export async function createAuthority(
  commonName: string,
  notAfter?: Date,
  ownKey: 'P-256' | 'RSA' = 'P-256',
): Promise<TestAuthority> {
  const keys = await generateKeys(ownKey === 'RSA' ? rsa : algorithm);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: [{ CN: [commonName] }],
    keys,
    ...lifetime(undefined, notAfter),
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.digitalSignature, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });

  const sign = async (wanted: CertificateWanted): Promise<KeyedCertificate> => {
    const { organizations = [], usages } = wanted;
    const own = await generateKeys();
    const names = namesOf(wanted);
    const issued = await x509.X509CertificateGenerator.create({
      subject: subjectOf(wanted.commonName, organizations),
      issuer: certificate.subjectName,
      publicKey: own.publicKey,
      signingKey: keys.privateKey,
      ...lifetime(wanted.notBefore, wanted.notAfter),
      extensions: [
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        await x509.AuthorityKeyIdentifierExtension.create(certificate),
        new x509.ExtendedKeyUsageExtension(usages.map((usage) => x509.ExtendedKeyUsage[`${usage}Auth`])),
        ...(names.length > 0 ? [new x509.SubjectAlternativeNameExtension(names)] : []),
      ],
    });
    return keyed(issued, own.privateKey);
  };

  return {
    ...(await keyed(certificate, keys.privateKey)),
    certificate: sign,
    serverCertificate: (name) =>
      sign({ commonName: name, usages: ['server'], dnsNames: ['localhost'], ipAddresses: ['127.0.0.1'] }),
    clientCertificate: (name, organizations) => sign({ commonName: name, organizations, usages: ['client'] }),
  };
}

/** A P-256 key pair as the API server wants it for service-account tokens (PEM: PKCS #8 and SPKI). */
export function createServiceAccountKeys(): { readonly privatePem: string; readonly publicPem: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return {
    privatePem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    publicPem: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  };
}

/** A certificate signing request as a kubelet would make it, with a fresh P-256 key. */
export async function createKubeletRequest(
  wanted: KubeletRequest,
): Promise<{ readonly requestPem: string; readonly keyPem: string }> {
  const keys = await generateKeys();
  const names = namesOf(wanted);
  const request = await x509.Pkcs10CertificateRequestGenerator.create({
    name: subjectOf(`system:node:${wanted.nodeName}`, wanted.organizations ?? ['system:nodes']),
    keys,
    signingAlgorithm: algorithm,
    extensions: names.length > 0 ? [new x509.SubjectAlternativeNameExtension(names)] : [],
  });
  return { requestPem: `${request.toString('pem')}\n`, keyPem: await privatePem(keys.privateKey) };
}

/** Organizations first, as Go writes a subject. */
function subjectOf(commonName: string, organizations: readonly string[]): x509.JsonName {
  return [...organizations.map((organization) => ({ O: [organization] })), { CN: [commonName] }];
}

function namesOf({
  dnsNames = [],
  ipAddresses = [],
}: Pick<CertificateWanted, 'dnsNames' | 'ipAddresses'>): x509.JsonGeneralNames {
  return [
    ...dnsNames.map((value) => ({ type: 'dns' as const, value })),
    ...ipAddresses.map((value) => ({ type: 'ip' as const, value })),
  ];
}

function lifetime(
  notBefore = new Date(Date.now() - hour),
  notAfter = new Date(Date.now() + 7 * 24 * hour),
): { notBefore: Date; notAfter: Date } {
  return { notBefore, notAfter };
}

async function generateKeys(kind: typeof algorithm | typeof rsa = algorithm): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(kind, true, ['sign', 'verify']);
}

async function keyed(certificate: x509.X509Certificate, key: webcrypto.CryptoKey): Promise<KeyedCertificate> {
  return { certPem: `${certificate.toString('pem')}\n`, keyPem: await privatePem(key) };
}

async function privatePem(key: webcrypto.CryptoKey): Promise<string> {
  return `${x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY')}\n`;
}
