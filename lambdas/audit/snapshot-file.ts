import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { readSnapshot, type Snapshot } from '../contracts/snapshot.ts';

/**
 * Bytes of JSON: a small file must not become a large one. An assessment has at most 52 MiB of observations and findings. A snapshot that is
 * stored is no larger either: what cannot be compressed is left as it is.
 */
export const MAX_SNAPSHOT = 64 * 1024 * 1024;

const compress = promisify(gzip);
const decompress = promisify(gunzip);

/** gzip of JSON. What is assessed is bounded already, see `lambdas/audit/bound-observations.ts`. */
export async function encodeSnapshot(snapshot: Snapshot): Promise<Buffer> {
  return compress(JSON.stringify(snapshot));
}

/** Undefined when it is damaged, or not what certmarshal wrote. Bounded also against a small file that becomes a large one. */
export async function decodeSnapshot(bytes: Uint8Array): Promise<Snapshot | undefined> {
  let value: unknown;
  try {
    const text = await decompress(bytes, { maxOutputLength: MAX_SNAPSHOT });
    value = JSON.parse(text.toString('utf8'));
  } catch {
    // What is wrong with it changes nothing: it is written anew.
    return undefined;
  }
  return readSnapshot(value);
}
