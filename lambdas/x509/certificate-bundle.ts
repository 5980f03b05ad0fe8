import type { DecodedCertificate } from './certificate.ts';
import { decodeCertificate } from './decode-certificate.ts';

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

const BEGIN = '-----BEGIN ';
const END = '\n-----END ';

/**
 * The bytes of each CERTIFICATE block without headers that Go reads, and so kube-apiserver in a `caBundle`: what Go
 * skips, its clients do not have. Each character is one byte. Never throws.
 *
 * Source: Go, `encoding/pem`, Decode, and `AppendCertsFromPEM`.
 */
export function* pemCertificates(text: string): Generator<Buffer> {
  for (let at = 0; ; ) {
    const end = text.indexOf(END, at);
    if (end === -1) return;
    const trailer = end + END.length;
    // A slice, so that no search goes back to the start of the text.
    const before = text.slice(at, end);
    const begin = before.lastIndexOf(BEGIN);
    const typeLine = lineAt(text, at + begin + BEGIN.length);
    const startsLine = begin === 0 || before[begin - 1] === '\n';
    at = trailer;
    if (begin === -1 || !startsLine || !typeLine.text.endsWith('-----')) continue;
    const body = afterHeaders(text, typeLine.next);
    if (body === undefined || body > trailer) return;
    const hasHeaders = body > typeLine.next;
    const last = lineAt(text, trailer);
    if (last.text !== typeLine.text || (hasHeaders && body > end)) continue;
    const bytes = decoded(text.slice(body, end));
    if (bytes === undefined) continue;
    at = last.next;
    if (typeLine.text === 'CERTIFICATE-----' && !hasHeaders) yield bytes;
  }
}

/** Without white space at its end. */
function lineAt(text: string, start: number): { readonly text: string; readonly next: number } {
  const lineBreak = text.indexOf('\n', start);
  const next = lineBreak === -1 ? text.length : lineBreak + 1;
  let end = lineBreak === -1 ? text.length : lineBreak;
  if (lineBreak !== -1 && text[end - 1] === '\r') end -= 1;
  while (end > start && (text[end - 1] === ' ' || text[end - 1] === '\t')) end -= 1;
  return { text: text.slice(start, end), next };
}

/** Where the body begins; undefined if the text ends before. */
function afterHeaders(text: string, start: number): number | undefined {
  let at = start;
  while (at < text.length) {
    const line = lineAt(text, at);
    if (!line.text.includes(':')) return at;
    at = line.next;
  }
  return undefined;
}

function decoded(body: string): Buffer | undefined {
  const base64 = body.replaceAll(/[ \t\r\n]+/g, '');
  if (base64.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(base64)) return undefined;
  return Buffer.from(base64, 'base64');
}
