import {
  GetObjectCommand,
  type GetObjectCommandOutput,
  PutObjectCommand,
  type S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';

import { callAws } from './call.ts';
import { invalid } from './classify.ts';
import { AwsError } from './errors.ts';

/** The largest object that is read or written, in bytes: the registry of 10,000 clusters is under half of it. */
const LARGEST_OBJECT = 32 * 1024 * 1024;

export interface JsonObject {
  /** Undefined when it is damaged, that is no JSON or larger than 32 MiB: then it is only good to be written anew. */
  readonly value: unknown;
  /** Of the version that was read, for a write that replaces just that one. */
  readonly etag: string;
}

/** JSON in one bucket. No error quotes anything of an object. */
export interface JsonObjects {
  /**
   * @returns undefined when there is no such object
   * @throws AwsError
   */
  read(key: string, signal: AbortSignal): Promise<JsonObject | undefined>;
  /**
   * Writes an object that nobody else has written since it was read.
   *
   * @param etag of what it replaces; undefined when there must be none
   * @returns its new etag
   * @throws AwsError `conflict` when it is another one by now
   */
  write(key: string, value: unknown, etag: string | undefined, signal: AbortSignal): Promise<string>;
}

export interface JsonObjectsOptions {
  readonly client: S3Client;
  readonly bucket: string;
}

/** Objects of one bucket. One deadline covers a call and its body. */
export function createJsonObjects({ client, bucket }: JsonObjectsOptions): JsonObjects {
  return {
    async read(key, signal) {
      const object = `s3:GetObject s3://${bucket}/${key}`;
      const command = new GetObjectCommand({ Bucket: bucket, Key: key });
      const remedies = {
        denied: 'Allow s3:GetObject, and s3:ListBucket: without it an object that is absent looks denied too.',
      };
      const get = async (abortSignal: AbortSignal) => {
        try {
          const { Body, ContentLength, ETag } = await client.send(command, { abortSignal });
          return { etag: etagOf(ETag, object), text: await textOf(Body, ContentLength, object, abortSignal) };
        } catch (error) {
          if (isNoSuchKey(error)) return undefined;
          throw error;
        }
      };
      const answer = await callAws({ object, remedies }, signal, get);
      return answer === undefined ? undefined : { value: parsed(answer.text), etag: answer.etag };
    },
    async write(key, value, etag, signal) {
      const object = `s3:PutObject s3://${bucket}/${key}`;
      const body = Buffer.from(JSON.stringify(value));
      if (body.length > LARGEST_OBJECT) throw invalid(object, `it is larger than ${LARGEST_OBJECT} bytes`);
      const command = new PutObjectCommand({
        Bucket: bucket,
        Key: key,
        Body: body,
        ContentType: 'application/json',
        ...(etag === undefined ? { IfNoneMatch: '*' } : { IfMatch: etag }),
      });
      const put = async (abortSignal: AbortSignal) => {
        try {
          return await client.send(command, { abortSignal });
        } catch (error) {
          // What If-Match answers for an object that is gone by now.
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

/** Undefined when it is too large. */
async function textOf(
  body: GetObjectCommandOutput['Body'],
  length: number | undefined,
  object: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (body === undefined || !(Symbol.asyncIterator in body)) throw invalid(object, 'the answer has no body');
  const pieces: Uint8Array[] = [];
  let size = 0;
  const end = (): unknown => 'destroy' in body && body.destroy();
  // The SDK does not end a body that is being read.
  signal.addEventListener('abort', end, { once: true });
  try {
    if (Number(length) > LARGEST_OBJECT) return undefined;
    for await (const piece of body) {
      size += piece.length;
      if (size > LARGEST_OBJECT) return undefined;
      pieces.push(piece);
    }
  } finally {
    signal.removeEventListener('abort', end);
    end();
  }
  return Buffer.concat(pieces).toString('utf8');
}

/** Undefined is no JSON. */
function parsed(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

function etagOf(etag: string | undefined, object: string): string {
  if (etag === undefined || etag === '') throw invalid(object, 'the answer has no ETag');
  return etag;
}
