/** A block of PEM text. */
export interface PemBlock {
  /** `CERTIFICATE`. */
  readonly type: string;
  readonly hasHeaders: boolean;
  readonly bytes: Buffer;
}

const BEGIN = '-----BEGIN ';
const END = '\n-----END ';
const DASHES = '-----';

/**
 * Exactly the blocks that Go reads, and so kube-apiserver in a `caBundle`: what Go skips, its clients do not have. Each
 * character is one byte. Never throws.
 *
 * Source: Go, `encoding/pem`, Decode.
 */
export function* pemBlocks(text: string): Generator<PemBlock> {
  let from = 0;
  for (let next = nextBlock(text, from); next !== undefined; next = nextBlock(text, from)) {
    yield next.block;
    from = next.end;
  }
}

function nextBlock(text: string, start: number): { readonly block: PemBlock; readonly end: number } | undefined {
  for (let at = start; ; ) {
    const end = text.indexOf(END, at);
    if (end === -1) return undefined;
    const trailer = end + END.length;
    // A slice, so that no search goes back to the start of the text.
    const before = text.slice(at, end);
    const begin = before.lastIndexOf(BEGIN);
    const typeLine = lineAt(text, at + begin + BEGIN.length);
    const startsLine = begin === 0 || before[begin - 1] === '\n';
    at = trailer;
    if (begin === -1 || !startsLine || !typeLine.text.endsWith(DASHES)) continue;
    const body = afterHeaders(text, typeLine.next);
    if (body === undefined || body > trailer) return undefined;
    const hasHeaders = body > typeLine.next;
    const last = lineAt(text, trailer);
    if (last.text !== typeLine.text || (hasHeaders && body > end)) continue;
    const bytes = decoded(text.slice(body, end));
    if (bytes !== undefined)
      return { block: { type: typeLine.text.slice(0, -DASHES.length), hasHeaders, bytes }, end: last.next };
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
