import { Refused } from './der.ts';

/** A kubelet's request takes about 500 bytes of PEM; one with 100 names of 253 characters takes 35 KiB. */
const MAX_BYTES = 64 * 1024;

const BEGIN = '-----BEGIN CERTIFICATE REQUEST-----';
const END = '-----END CERTIFICATE REQUEST-----';

/**
 * Decodes one PEM block (RFC 7468 §3, §7) with nothing around it but one final line break. All lines of base64 are of
 * one length, the last may be shorter; line breaks are LF throughout or CRLF throughout. A reader that looks for the
 * first block, or skips what it does not know, therefore finds the same bytes.
 *
 * The label is the one that kube-apiserver accepts; `NEW CERTIFICATE REQUEST` is not.
 */
export function decodePem(bytes: Uint8Array): Buffer {
  if (bytes.length > MAX_BYTES) {
    throw new Refused('TooLarge', `the request: ${bytes.length} bytes found, ${MAX_BYTES} allowed`);
  }
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
  if (!text.startsWith(BEGIN)) throw notPem('no CERTIFICATE REQUEST block at the first byte');
  const lineBreak = text.charAt(BEGIN.length) === '\r' ? '\r\n' : '\n';
  const bodyStart = BEGIN.length + lineBreak.length;
  if (!text.startsWith(lineBreak, BEGIN.length)) throw notPem('text after the BEGIN line');

  const bodyEnd = text.indexOf('-', bodyStart);
  if (bodyEnd < 0 || !text.startsWith(END, bodyEnd)) throw notPem('no END CERTIFICATE REQUEST line');
  const after = text.slice(bodyEnd + END.length);
  if (after !== '' && after !== lineBreak) throw notPem(`${after.length} bytes found after the END line`);
  return decodeBase64(text.slice(bodyStart, bodyEnd), lineBreak);
}

function decodeBase64(body: string, lineBreak: string): Buffer {
  if (!body.endsWith(lineBreak)) throw notPem('no line break before the END line');
  const lines = body.split(lineBreak);
  lines.pop();
  const width = lines[0]?.length ?? 0;
  if (width === 0) throw notPem('no base64 text');
  lines.forEach((line, index) => {
    const last = index === lines.length - 1;
    if (last ? line.length === 0 || line.length > width : line.length !== width) {
      throw notPem(`line ${index + 2} has ${line.length} characters, the first line of base64 has ${width}`);
    }
  });
  const base64 = lines.join('');
  const der = Buffer.from(base64, 'base64');
  // Buffer.from accepts anything; the comparison requires the canonical encoding (RFC 4648 §3.5).
  if (der.toString('base64') !== base64) {
    throw notPem('base64 with a foreign character, wrong padding or spare bits');
  }
  return der;
}

function notPem(found: string): Refused {
  return new Refused('NotPem', `the request is not one PEM block: ${found}`);
}
