import { Buffer, isUtf8 } from 'node:buffer';

export type Line = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly problem: string };

const NEWLINE = 0x0a;

/**
 * Reads the lines of a UTF-8 stream while it arrives. A line ends only at `\n` (ndjson.org): JSON may contain U+2028
 * and U+2029 unescaped. A line over the limit is a problem and is not buffered.
 *
 * @param maxBytes longest line, in bytes without its end
 */
export async function* readLines(input: AsyncIterable<Buffer | string>, maxBytes: number): AsyncGenerator<Line> {
  let parts: Buffer[] = [];
  let bytes = 0;
  const keep = (part: Buffer) => {
    bytes += part.length;
    if (bytes <= maxBytes) parts.push(part);
    else parts = [];
  };
  const take = (): Line => {
    const line: Line = bytes > maxBytes ? { ok: false, problem: `is longer than ${maxBytes} bytes` } : decode(parts);
    parts = [];
    bytes = 0;
    return line;
  };
  for await (const data of input) {
    const chunk = typeof data === 'string' ? Buffer.from(data) : data;
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      keep(chunk.subarray(start, end));
      start = end + 1;
      yield take();
    }
    if (start < chunk.length) keep(chunk.subarray(start));
  }
  if (bytes > 0) yield take();
}

function decode(parts: readonly Buffer[]): Line {
  const [first] = parts;
  const line = parts.length === 1 && first !== undefined ? first : Buffer.concat(parts);
  return isUtf8(line) ? { ok: true, text: line.toString('utf8') } : { ok: false, problem: 'is not UTF-8' };
}
