import { ListObjectsV2Command, type ListObjectsV2CommandOutput } from '@aws-sdk/client-s3';
import type { BucketOptions } from './byte-objects.ts';
import { callAws } from './call.ts';

export interface ListedObject {
  readonly key: string;
  /** In bytes. */
  readonly size: number;
}

/** Lists the objects of a bucket. */
export interface ObjectList {
  /**
   * Every object with this prefix, ordered by the bytes of the key, page by page.
   *
   * @throws AwsError
   */
  objects(prefix: string, signal: AbortSignal): AsyncGenerator<ListedObject>;
  /**
   * The parts between a prefix and the next slash, in order.
   *
   * @throws AwsError
   */
  folders(prefix: string, signal: AbortSignal): Promise<readonly string[]>;
}

export function createObjectList({ client, bucket }: BucketOptions): ObjectList {
  async function* pages(
    prefix: string,
    delimiter: string | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<ListObjectsV2CommandOutput> {
    const object = `s3:ListBucket s3://${bucket}/${prefix}`;
    let token: string | undefined;
    do {
      const command = new ListObjectsV2Command({
        Bucket: bucket,
        Prefix: prefix,
        // Keys of other writers may have characters that are invalid in XML.
        EncodingType: 'url',
        Delimiter: delimiter,
        ContinuationToken: token,
      });
      const page = await callAws({ object }, signal, async (abortSignal) => client.send(command, { abortSignal }));
      yield page;
      token = page.IsTruncated === true ? page.NextContinuationToken : undefined;
    } while (token !== undefined);
  }

  return {
    async *objects(prefix, signal) {
      for await (const { Contents = [] } of pages(prefix, undefined, signal))
        for (const { Key = '', Size = 0 } of Contents) yield { key: decoded(Key), size: Size };
    },
    async folders(prefix, signal) {
      const found: string[] = [];
      for await (const { CommonPrefixes = [] } of pages(prefix, '/', signal))
        for (const { Prefix = '' } of CommonPrefixes) found.push(decoded(Prefix).slice(prefix.length, -1));
      return found;
    },
  };
}

function decoded(key: string): string {
  return decodeURIComponent(key.replaceAll('+', ' '));
}
