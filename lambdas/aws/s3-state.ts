import { paginateListObjectsV2 } from '@aws-sdk/client-s3';
import { jsonBytes, jsonOf, MAX_OBJECT } from '../json-bytes.ts';
import type { State } from '../state.ts';
import { type BucketOptions, createByteObjects } from './byte-objects.ts';
import { callAws } from './call.ts';
import { invalid } from './classify.ts';

/** State in a bucket. */
export function createS3State({ client, bucket }: BucketOptions): State {
  const objects = createByteObjects({ client, bucket, largest: MAX_OBJECT, contentType: 'application/json' });
  return {
    async get(key, signal) {
      const stored = await objects.read(key, signal);
      return stored && { value: await jsonOf(stored.bytes), etag: stored.etag };
    },
    async put(key, value, etag, signal) {
      const bytes = await jsonBytes(key, value);
      if (bytes === undefined)
        throw invalid(`s3:PutObject s3://${bucket}/${key}`, `it is larger than ${MAX_OBJECT} bytes`);
      return objects.write(key, bytes, etag, signal);
    },
    async list(prefix, after, signal) {
      return callAws({ object: `s3:ListBucket s3://${bucket}/${prefix}` }, signal, async (abortSignal) => {
        const keys: string[] = [];
        const input = { Bucket: bucket, Prefix: prefix, StartAfter: after };
        const pages = paginateListObjectsV2({ client }, input, { abortSignal });
        for await (const { Contents = [] } of pages) keys.push(...Contents.flatMap(({ Key }) => Key ?? []));
        return keys;
      });
    },
  };
}
