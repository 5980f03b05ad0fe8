import type { BucketOptions } from '../aws/byte-objects.ts';
import { createJsonObjects, type JsonObjects } from '../aws/json-objects.ts';
import { readOrBefore } from './state-keys.ts';

/** The state bucket. What the version before wrote is read too, until this one wrote its own, and stays. */
export function createStateObjects(options: BucketOptions): JsonObjects {
  const objects = createJsonObjects(options);
  return {
    ...objects,
    read: async (key, signal) =>
      readOrBefore(key, async (one) => {
        const found = await objects.read(one, signal);
        return found && one !== key ? { ...found, etag: undefined } : found;
      }),
  };
}
