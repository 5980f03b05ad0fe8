import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { type BucketOptions, createByteObjects } from './byte-objects.ts';
import { invalid } from './classify.ts';

/** The largest object that is read or written, in bytes of JSON: the registry of 10,000 clusters is under half of it. */
const MAX_OBJECT = 32 * 1024 * 1024;
/** The fastest: JSON of clusters becomes a tenth of its size, and little less with more time. */
const GZIP_LEVEL = 1;

const compress = promisify(gzip);
const decompress = promisify(gunzip);

export interface JsonObject {
  /** Undefined when it is damaged, that is no JSON or larger than 32 MiB: then it is only good to be written anew. */
  readonly value: unknown;
  /** Of the version that was read, for a write that replaces just that one. Undefined where what was read is not to be replaced: then the write makes a new object. */
  readonly etag: string | undefined;
}

/** JSON in one bucket; under a key that ends in `.gz` it is compressed. No error quotes anything of an object. */
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

export function createJsonObjects(options: BucketOptions): JsonObjects {
  const objects = createByteObjects({ ...options, largest: MAX_OBJECT, contentType: 'application/json' });
  return {
    async read(key, signal) {
      const found = await objects.read(key, signal);
      return found && { value: await jsonOf(found.bytes), etag: found.etag };
    },
    async write(key, value, etag, signal) {
      const bytes = Buffer.from(JSON.stringify(value));
      if (bytes.length > MAX_OBJECT)
        throw invalid(`s3:PutObject s3://${options.bucket}/${key}`, `it is larger than ${MAX_OBJECT} bytes`);
      return objects.write(
        key,
        key.endsWith('.gz') ? await compress(bytes, { level: GZIP_LEVEL }) : bytes,
        etag,
        signal,
      );
    },
  };
}

/** JSON, compressed or not. @returns undefined for what is damaged: no JSON, or a small file that becomes a large one */
export async function jsonOf(bytes: Uint8Array | undefined): Promise<unknown> {
  if (bytes === undefined) return undefined;
  try {
    const json = isGzip(bytes) ? await decompress(bytes, { maxOutputLength: MAX_OBJECT }) : Buffer.from(bytes);
    return JSON.parse(json.toString('utf8'));
  } catch {
    return undefined;
  }
}

/** RFC 1952 §2.3.1. No JSON begins like that. */
function isGzip([first, second]: Uint8Array): boolean {
  return first === 0x1f && second === 0x8b;
}
