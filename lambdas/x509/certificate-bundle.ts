import type { DecodedCertificate } from './certificate.ts';
import { decodeCertificate, MAX_CERTIFICATE_BYTES } from './decode-certificate.ts';

/** Characters of a bundle that are read. All roots of Mozilla take 250 KiB. */
const MAX_TEXT = 4 * 1024 * 1024;
const MAX_CERTIFICATES = 1000;

const DASHES = '-----';
const BEGIN = '-----BEGIN ';
const BEGIN_CERTIFICATE = '-----BEGIN CERTIFICATE-----';
/** Base64 of the largest certificate in lines of one character. */
const MAX_BODY = MAX_CERTIFICATE_BYTES * 4;

export interface CertificateBundle {
  /** One for each CERTIFICATE block, in order; other blocks, and text between them, are skipped. */
  readonly certificates: readonly DecodedCertificate[];
  /** Why it was not read completely, or has no certificate. */
  readonly problem?: string;
}

/** Reads PEM text, for example a CA bundle. Skips private keys without reading them. Never throws. */
export function decodeBundle(text: string): CertificateBundle {
  const read = text.slice(0, MAX_TEXT);
  const certificates: DecodedCertificate[] = [];
  for (let at = nextBlock(read, 0), next: number; at !== -1; at = next) {
    next = nextBlock(read, at + 1);
    if (!read.startsWith(BEGIN_CERTIFICATE, at)) continue;
    if (certificates.length === MAX_CERTIFICATES) {
      return { certificates, problem: `only the first ${MAX_CERTIFICATES} certificates are read` };
    }
    certificates.push(decodeBlock(read.slice(at + BEGIN_CERTIFICATE.length, next === -1 ? undefined : next)));
  }
  if (text.length > MAX_TEXT) return { certificates, problem: `only the first ${MAX_TEXT} characters are read` };
  return certificates.length === 0 ? { certificates, problem: 'no certificate in PEM' } : { certificates };
}

/** Start of the next BEGIN line; -1 if there is no more. */
function nextBlock(text: string, from: number): number {
  for (let at = text.indexOf(BEGIN, from); at !== -1; at = text.indexOf(BEGIN, at + 1)) {
    if (at === 0 || text[at - 1] === '\n' || text[at - 1] === '\r') return at;
  }
  return -1;
}

/** @param text from the end of a BEGIN line up to the next one */
function decodeBlock(text: string): DecodedCertificate {
  const end = text.indexOf(DASHES);
  if (end > MAX_BODY) return { ok: false, problem: `larger than the ${MAX_CERTIFICATE_BYTES} bytes allowed` };
  if (end === -1 || !text.startsWith('-----END CERTIFICATE-----', end)) {
    return { ok: false, problem: 'its PEM block has no END CERTIFICATE line' };
  }
  const base64 = text.slice(0, end).replaceAll(/\s+/g, '');
  if (base64 === '' || base64.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(base64)) {
    return { ok: false, problem: 'its PEM block is not base64' };
  }
  return decodeCertificate(Buffer.from(base64, 'base64'));
}
