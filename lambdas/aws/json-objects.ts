import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { type BucketOptions, createByteObjects } from './byte-objects.ts';
import { invalid } from './classify.ts';

/** The largest object. The registry of 10,000 clusters is under half of it. Bytes of JSON. */
const MAX_OBJECT = 32 * 1024 * 1024;
/** The fastest level: JSON of clusters shrinks to a tenth, and hardly more at other levels. */
const GZIP_LEVEL = 1;

const compress = promisify(gzip);
const decompress = promisify(gunzip);

export interface JsonObject {
  /** Undefined if damaged, that is not JSON or larger than 32 MiB: then it can only be replaced. */
  readonly value: unknown;
  /** Version that was read, for a write that replaces exactly it. */
  readonly etag: string;
}

/** JSON in one bucket; compressed under keys that end in `.gz`. Errors quote nothing of an object. */
export interface JsonObjects {
  /**
   * @returns undefined if the object does not exist
   *
   * @throws AwsError
   */
  read(key: string, signal: AbortSignal): Promise<JsonObject | undefined>;
  /**
   * Writes an object unless it changed since it was read.
   *
   * @param etag of the replaced version; undefined to create the object
   * @returns its new etag
   * @throws AwsError `conflict` if it changed
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

/**
 * Decodes JSON, compressed or not. @returns undefined if damaged: not JSON, or a small file that expands to a large one
 */
export async function jsonOf(bytes: Uint8Array | undefined): Promise<unknown> {
  if (bytes === undefined) return undefined;
  try {
    const json = isGzip(bytes) ? await decompress(bytes, { maxOutputLength: MAX_OBJECT }) : Buffer.from(bytes);
    return JSON.parse(json.toString('utf8'));
  } catch {
    return undefined;
  }
}

/** RFC 1952 §2.3.1. JSON never begins with it. */
function isGzip([first, second]: Uint8Array): boolean {
  return first === 0x1f && second === 0x8b;
}
