import type { Snapshot } from '../expiry/snapshot.ts';

/** gzip of JSON. At most 10,000 observations; beyond these the least urgent certificates are left out, and a finding says so. */
export async function encodeSnapshot(snapshot: Snapshot): Promise<Buffer> {
  throw new Error(`not built: ${snapshot.version}`);
}

/** Undefined when it is damaged, or not what certmarshal wrote. Bounded also against a small file that becomes a large one. */
export async function decodeSnapshot(bytes: Uint8Array): Promise<Snapshot | undefined> {
  throw new Error(`not built: ${bytes.length}`);
}
