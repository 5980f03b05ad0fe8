import type { BucketOptions } from '../aws/byte-objects.ts';
import { createJsonObjects, type JsonObjects } from '../aws/json-objects.ts';
import { readOrBefore } from './state-keys.ts';

/** The state bucket. Objects of the previous version are read until this version wrote its own, and stay. */
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
