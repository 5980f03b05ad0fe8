import { type BucketOptions, createByteObjects } from './byte-objects.ts';

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

export type JsonObjectsOptions = BucketOptions;

export function createJsonObjects(options: JsonObjectsOptions): JsonObjects {
  const objects = createByteObjects({ ...options, largest: LARGEST_OBJECT, contentType: 'application/json' });
  return {
    async read(key, signal) {
      const found = await objects.read(key, signal);
      return found && { value: parsed(found.bytes), etag: found.etag };
    },
    write: async (key, value, etag, signal) => objects.write(key, Buffer.from(JSON.stringify(value)), etag, signal),
  };
}

/** Undefined is no JSON. */
function parsed(bytes: Buffer | undefined): unknown {
  try {
    return bytes === undefined ? undefined : JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}
