import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { readSnapshot, type Snapshot } from '../contracts/snapshot.ts';

/**
 * Bytes of JSON: a small file must not decompress to a huge one. An assessment has at most 52 MiB of observations and
 * findings. A stored snapshot is no larger: gzip stores incompressible data as it is.
 */
export const MAX_SNAPSHOT = 64 * 1024 * 1024;

const compress = promisify(gzip);
const decompress = promisify(gunzip);

/** gzip of JSON. Assessments are bounded, see `lambdas/audit/bound-observations.ts`. */
export async function encodeSnapshot(snapshot: Snapshot): Promise<Buffer> {
  return compress(JSON.stringify(snapshot));
}

/** Undefined if it is damaged, too large when decompressed, or not written by certmarshal. */
export async function decodeSnapshot(bytes: Uint8Array): Promise<Snapshot | undefined> {
  let value: unknown;
  try {
    const text = await decompress(bytes, { maxOutputLength: MAX_SNAPSHOT });
    value = JSON.parse(text.toString('utf8'));
  } catch {
    // The reason does not matter: it is written again.
    return undefined;
  }
  return readSnapshot(value);
}
