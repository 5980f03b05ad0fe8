import { type BucketOptions, type ByteObjects, createByteObjects } from '../aws/byte-objects.ts';
import { isConflict } from '../aws/errors.ts';
import { STATE_KEYS } from '../fleet/state-keys.ts';

/** Bytes. */
const MAX_PAGE = 2_000_000;

/** Where the report page is kept. */
export function createPageObjects(state: BucketOptions): ByteObjects {
  return createByteObjects({ ...state, largest: MAX_PAGE, contentType: 'text/html; charset=utf-8' });
}

/**
 * Writes the report page over the last one. A page that another process wrote at the same moment stays: it is as new.
 *
 * @param objects only the etag of what they find is used
 * @throws AwsError
 */
export async function writePage(html: string, objects: ByteObjects, signal: AbortSignal): Promise<void> {
  const last = await objects.read(STATE_KEYS.page, signal);
  try {
    await objects.write(STATE_KEYS.page, Buffer.from(html), last?.etag, signal);
  } catch (error) {
    if (!isConflict(error)) throw error;
  }
}
