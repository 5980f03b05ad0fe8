import type { DecodedCertificate } from './certificate.ts';
import { decodeCertificate } from './decode-certificate.ts';
import { pemCertificates } from './pem-certificates.ts';

/** Characters of a bundle that are read. All roots of Mozilla take 250 KiB. */
const MAX_TEXT = 4 * 1024 * 1024;
const MAX_CERTIFICATES = 1000;

const BEGIN_CERTIFICATE = '-----BEGIN CERTIFICATE-----';

export interface CertificateBundle {
  /** One for each CERTIFICATE block that Go reads, in order; other blocks, and text between them, are skipped. */
  readonly certificates: readonly DecodedCertificate[];
  /** Why it was not read completely, or has no certificate. */
  readonly problem?: string;
}

/** Reads PEM text, for example a CA bundle. Skips private keys. Never throws. */
export function decodeBundle(text: string): CertificateBundle {
  const read = text.slice(0, MAX_TEXT);
  const certificates: DecodedCertificate[] = [];
  for (const bytes of pemCertificates(read)) {
    if (certificates.length === MAX_CERTIFICATES) {
      return { certificates, problem: `only the first ${MAX_CERTIFICATES} certificates are read` };
    }
    certificates.push(decodeCertificate(bytes));
  }
  if (text.length > MAX_TEXT) return { certificates, problem: `only the first ${MAX_TEXT} characters are read` };
  const begun = read.split(BEGIN_CERTIFICATE).length - 1;
  if (certificates.length > 0 && certificates.length >= begun) return { certificates };
  const why = FORMS.find(([form]) => form.test(read))?.[1];
  if (begun === 0) return { certificates, problem: `no certificate in PEM${why === undefined ? '' : `: ${why}`}` };
  const skipped = `Kubernetes and other Go programs skip ${begun - certificates.length} of ${begun} certificates`;
  return { certificates, problem: `${skipped}: ${why ?? 'their PEM blocks are not whole, or not base64'}` };
}

/** What people write instead of PEM, the first that fits. Each character is one byte. */
const FORMS: readonly (readonly [RegExp, string])[] = [
  [/^\s*$/, 'it is empty'],
  [/^(?:\xfe\xff|\xff\xfe)|^.?\0/, 'it is UTF-16; write it as ASCII'],
  [/^(?:\xef\xbb\xbf|\ufeff)/, 'it begins with a byte order mark; remove its first three bytes'],
  [/^\x30[\x80-\x84]/, 'it is DER (openssl x509 -inform der -in FILE -out FILE.pem) or PKCS #12; write PEM'],
  [/^\s*LS0tLS1CRUdJTi/, 'it is base64 of base64; encode it once'],
  [/^\s*MII[A-Za-z0-9+/=\s]+$/, 'it is base64 without a BEGIN and an END line'],
  [/-----BEGIN (?:NEW )?CERTIFICATE REQUEST-----/, 'it is a request, not a certificate'],
  [/-----BEGIN TRUSTED CERTIFICATE-----/, 'it is a TRUSTED CERTIFICATE of OpenSSL; write it with openssl x509'],
  [/-----BEGIN PKCS7-----/, 'it is PKCS #7; extract the certificates as PEM'],
  [/\r(?!\n)/, 'its line breaks are CR; write LF'],
  [/\\n-----END|-----\\n/, String.raw`it has \n as text instead of line breaks`],
  [/-----END [A-Z0-9 ]{1,40}-----[ \t]*[^\s]/, 'an END line is followed by text; break the line after it'],
  [/-----BEGIN CERTIFICATE-----[ \t]*[^\s]/, 'a BEGIN line is followed by text; break the line after it'],
  [/[^\r\n]-----BEGIN CERTIFICATE/, 'a BEGIN line has text before it; begin the line with it'],
  [/[^\r\n]-----END CERTIFICATE/, 'an END line has text before it; begin the line with it'],
];
