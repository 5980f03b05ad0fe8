import { readSnapshot, type Snapshot } from '../../../lambdas/contracts/snapshot.ts';
import { jsonBytes, jsonOf } from '../../../lambdas/json-bytes.ts';

/** A snapshot as a state stores it. */
export async function encodeSnapshot(snapshot: Snapshot): Promise<Buffer> {
  const bytes = await jsonBytes('a.gz', snapshot);
  if (bytes === undefined) throw new RangeError('the snapshot is too large');
  return bytes;
}

export async function decodeSnapshot(bytes: Uint8Array): Promise<Snapshot | undefined> {
  return readSnapshot(await jsonOf(bytes));
}
