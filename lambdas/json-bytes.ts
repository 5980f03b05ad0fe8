import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';

/** The largest object. The index of 10,000 clusters is under half of it. Bytes of JSON. */
export const MAX_OBJECT = 128 * 1024 * 1024;
/** The fastest level: JSON of clusters shrinks to a tenth, and hardly more at other levels. */
const GZIP_LEVEL = 1;

const compress = promisify(gzip);
const decompress = promisify(gunzip);

/** Encodes JSON, compressed for keys that end in `.gz`. @returns undefined if it is larger than {@link MAX_OBJECT} */
export async function jsonBytes(key: string, value: unknown): Promise<Buffer | undefined> {
  const bytes = Buffer.from(JSON.stringify(value));
  if (bytes.length > MAX_OBJECT) return undefined;
  return key.endsWith('.gz') ? compress(bytes, { level: GZIP_LEVEL }) : bytes;
}

/**
 * Decodes JSON, compressed or not. @returns undefined if damaged: not JSON, or a small file that expands to a large one
 */
export async function jsonOf(bytes: Uint8Array | undefined): Promise<unknown> {
  if (bytes === undefined) return undefined;
  try {
    const json = isGzip(bytes) ? await decompress(bytes, { maxOutputLength: MAX_OBJECT }) : Buffer.from(bytes);
    return JSON.parse(json.toString('utf8'));
  } catch {
    return undefined;
  }
}

/** RFC 1952 §2.3.1. JSON never begins with it. */
function isGzip([first, second]: Uint8Array): boolean {
  return first === 0x1f && second === 0x8b;
}
