export interface StoredObject {
  /** Undefined if damaged, that is not JSON or too large: then it can only be replaced. */
  readonly value: unknown;
  /** Version that was read, for a write that replaces exactly it. */
  readonly etag: string;
}

/**
 * Where a minute keeps what the next one needs: a bucket, or a directory. Objects are JSON, compressed under keys that
 * end in `.gz`. Errors quote nothing of an object.
 */
export interface State {
  /**
   * @returns undefined if the object does not exist
   *
   * @throws AwsError
   */
  get(key: string, signal: AbortSignal): Promise<StoredObject | undefined>;
  /**
   * Writes an object unless it changed since it was read.
   *
   * @param etag of the replaced version; undefined to create the object
   * @returns its new etag
   * @throws AwsError `conflict` if it changed
   */
  put(key: string, value: unknown, etag: string | undefined, signal: AbortSignal): Promise<string>;
  /**
   * The keys that begin with this prefix, in order.
   *
   * @param after only those that sort after it
   * @throws AwsError
   */
  list(prefix: string, after: string, signal: AbortSignal): Promise<readonly string[]>;
}
