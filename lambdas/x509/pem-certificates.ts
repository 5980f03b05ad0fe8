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
