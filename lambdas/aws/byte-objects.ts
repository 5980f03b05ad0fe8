import { addAbortSignal, Readable } from 'node:stream';
import { GetObjectCommand, PutObjectCommand, type S3Client, S3ServiceException } from '@aws-sdk/client-s3';
import { callAws } from './call.ts';
import { invalid } from './classify.ts';
import { AwsError } from './errors.ts';

export interface ByteObject {
  /** Undefined if it exceeds the size limit. */
  readonly bytes: Buffer | undefined;
  /** Version that was read, for a write that replaces exactly it. */
  readonly etag: string;
}

/** Objects of one bucket. No error quotes anything of an object. */
export interface ByteObjects {
  /**
   * @returns undefined if the object does not exist
   *
   * @throws AwsError
   */
  read(key: string, signal: AbortSignal): Promise<ByteObject | undefined>;
  /**
   * Writes an object unless it changed since it was read.
   *
   * @param etag of the replaced version; undefined to create the object
   * @returns its new etag
   * @throws AwsError `conflict` if it changed
   */
  write(key: string, bytes: Uint8Array, etag: string | undefined, signal: AbortSignal): Promise<string>;
}

export interface BucketOptions {
  readonly client: S3Client;
  readonly bucket: string;
}

export interface ByteObjectsOptions extends BucketOptions {
  /** The largest object that is read or written, in bytes. */
  readonly largest: number;
  readonly contentType: string;
  /** @default none */
  readonly contentEncoding?: string;
}

/** Objects of one bucket. One deadline covers a call and its body. */
export function createByteObjects(options: ByteObjectsOptions): ByteObjects {
  const { client, bucket, largest, contentType, contentEncoding } = options;
  return {
    async read(key, signal) {
      const object = `s3:GetObject s3://${bucket}/${key}`;
      const command = new GetObjectCommand({ Bucket: bucket, Key: key });
      const remedies = {
        denied: 'Allow s3:GetObject and s3:ListBucket: without s3:ListBucket, a missing object looks denied too.',
      };
      const get = async (abortSignal: AbortSignal) => {
        try {
          const { Body, ContentLength, ETag } = await client.send(command, { abortSignal });
          const etag = etagOf(ETag, object);
          if (!(Body instanceof Readable)) throw invalid(object, 'the answer has no body');
          // The SDK does not abort the reading of a body.
          addAbortSignal(abortSignal, Body);
          return { etag, bytes: await bytesOf(Body, ContentLength, largest) };
        } catch (error) {
          if (isNoSuchKey(error)) return undefined;
          throw error;
        }
      };
      return callAws({ object, remedies }, signal, get);
    },
    async write(key, bytes, etag, signal) {
      const object = `s3:PutObject s3://${bucket}/${key}`;
      if (bytes.length > largest) throw invalid(object, `it is larger than ${largest} bytes`);
      const command = new PutObjectCommand({
        Bucket: bucket,
        Key: key,
        Body: bytes,
        ContentType: contentType,
        ContentEncoding: contentEncoding,
        ...(etag === undefined ? { IfNoneMatch: '*' } : { IfMatch: etag }),
      });
      const put = async (abortSignal: AbortSignal) => {
        try {
          return await client.send(command, { abortSignal });
        } catch (error) {
          // The answer to If-Match when the object was deleted.
          if (isNoSuchKey(error)) throw new AwsError({ kind: 'conflict', object, problem: DELETED, remedy: AGAIN });
          throw error;
        }
      };
      const { ETag } = await callAws({ object }, signal, put);
      return etagOf(ETag, object);
    },
  };
}

const DELETED = 'it was deleted since it was read';
const AGAIN = 'Read it again, and decide again.';

function isNoSuchKey(error: unknown): boolean {
  return error instanceof S3ServiceException && error.name === 'NoSuchKey';
}

/** Undefined if too large. */
async function bytesOf(body: Readable, length: number | undefined, largest: number): Promise<Buffer | undefined> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  if (Number(length) > largest) return void body.destroy();
  for await (const piece of body) {
    size += piece.length;
    if (size > largest) return undefined;
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

function etagOf(etag: string | undefined, object: string): string {
  if (etag === undefined || etag === '') throw invalid(object, 'the answer has no ETag');
  return etag;
}
