import { createPublicKey, verify } from 'node:crypto';
import { readWithPeculiar } from '../peculiar.ts';

/** What API server and signer look at in a PKCS #10 request. */
export interface CertificationRequest {
  /** The last one, if there are several, as Go reads it; empty without one. */
  readonly commonName: string;
  readonly organizations: readonly string[];
  /** `type` as `@peculiar/x509` names it: `dns`, `ip`, `url`, `email` and others. */
  readonly subjectAltNames: readonly { readonly type: string; readonly value: string }[];
}

/**
 * Reads `spec.request` as upstream does: its first PEM block, whatever stands around it. More lenient than certmarshal
 * and independent of its decoder, so that hostile requests get as far as they get in a real cluster.
 *
 * @param pem what `spec.request` carries in base64.
 * @throws Error saying what is wrong, in upstream's words where those are simple.
 */
export function parseCertificationRequest(pem: string): CertificationRequest {
  const { subject, subjectAltNames } = readWithPeculiar(firstRequest(pem));
  const values = (type: string): string[] => subject.flatMap((rdn) => rdn[type] ?? []);
  return { commonName: values('CN').at(-1) ?? '', organizations: values('O'), subjectAltNames };
}

/**
 * Proof of possession: the request is signed with the key that it carries.
 *
 * @throws Error when it is not, or not with an algorithm that is known here.
 */
export function verifyCertificationRequest(pem: string): void {
  const [info, algorithm, signature] = children(firstRequest(pem));
  const [, , publicKeyInfo] = children(required(info));
  const [algorithmOid] = children(required(algorithm));
  const digest = DIGESTS[required(algorithmOid).toString('hex')];
  if (digest === undefined) throw new Error('x509: cannot verify signature: algorithm unimplemented');
  const key = createPublicKey({ key: required(publicKeyInfo), format: 'der', type: 'spki' });
  // A BIT STRING begins with the number of its unused bits.
  if (!verify(digest, required(info), key, contentOf(required(signature)).subarray(1))) {
    throw new Error(`x509: ${key.asymmetricKeyType === 'ec' ? 'ECDSA ' : ''}verification failure`);
  }
}

/** By the DER of the signature algorithm's object identifier; null where the algorithm brings its own digest. */
const DIGESTS: Readonly<Record<string, string | null>> = {
  '06082a8648ce3d040302': 'sha256', // ecdsa-with-SHA256
  '06082a8648ce3d040303': 'sha384',
  '06082a8648ce3d040304': 'sha512',
  '06092a864886f70d01010b': 'sha256', // sha256WithRSAEncryption
  '06092a864886f70d01010c': 'sha384',
  '06092a864886f70d01010d': 'sha512',
  '06032b6570': null, // Ed25519
};

function firstRequest(pem: string): Buffer {
  const [, label, base64 = ''] = /-----BEGIN ([A-Z0-9 ]+)-----\r?\n([\s\S]*?)-----END \1-----/.exec(pem) ?? [];
  if (label !== 'CERTIFICATE REQUEST') throw new Error('PEM block type must be CERTIFICATE REQUEST');
  const der = Buffer.from(base64, 'base64');
  const { end } = extentOf(der);
  if (end < der.length) throw new Error('asn1: syntax error: trailing data');
  return der;
}

/** The DER values inside a DER value. */
function children(der: Buffer): Buffer[] {
  const values: Buffer[] = [];
  for (let rest = contentOf(der); rest.length > 0; ) {
    const { end } = extentOf(rest);
    values.push(rest.subarray(0, end));
    rest = rest.subarray(end);
  }
  return values;
}

function contentOf(der: Buffer): Buffer {
  const { start, end } = extentOf(der);
  return der.subarray(start, end);
}

/** Where the content of the value that begins `der` starts and ends. */
function extentOf(der: Buffer): { readonly start: number; readonly end: number } {
  const first = der[1];
  if (first === undefined) throw new Error('asn1: syntax error: truncated tag or length');
  const octets = first < 0x80 ? 0 : first & 0x7f;
  const start = 2 + octets;
  if (octets > 4 || start > der.length) throw new Error('asn1: syntax error: truncated tag or length');
  const end = start + (octets === 0 ? first : der.readUIntBE(2, octets));
  if (end > der.length) throw new Error('asn1: syntax error: data truncated');
  return { start, end };
}

function required(value: Buffer | undefined): Buffer {
  if (value === undefined) throw new Error('asn1: structure error');
  return value;
}
