import type { BucketOptions } from '../aws/byte-objects.ts';
import { createJsonObjects, type JsonObjects } from '../aws/json-objects.ts';
import { KEYS_BEFORE } from './state-keys.ts';

/** The state bucket. What the version before wrote is read too, until this one wrote its own. */
export function createStateObjects(options: BucketOptions): JsonObjects {
  return createJsonObjects({ ...options, before: KEYS_BEFORE });
}
