import { AwsError } from '../../../lambdas/aws/errors.ts';
import type { State } from '../../../lambdas/state.ts';

/** A bucket in memory, with the conditional writes of S3. */
export interface MemoryObjects extends State {
  readonly objects: Map<string, { value: unknown; etag: string }>;
  /** What another writer does just before the next write. */
  before: (() => void) | undefined;
  /** Keys that cannot be read. */
  readonly broken: Set<string>;
}

export function memoryObjects(initial: Readonly<Record<string, unknown>> = {}): MemoryObjects {
  let version = 0;
  const next = (value: unknown) => ({
    value: value === undefined ? undefined : JSON.parse(JSON.stringify(value)),
    etag: `"${(version += 1)}"`,
  });
  const objects = new Map(Object.entries(initial).map(([key, value]) => [key, next(value)]));
  const memory: MemoryObjects = {
    objects,
    before: undefined,
    broken: new Set(),
    async get(key) {
      if (memory.broken.has(key)) throw awsError('unavailable', `s3:GetObject ${key}`);
      return objects.get(key);
    },
    async put(key, value, etag) {
      const { before } = memory;
      memory.before = undefined;
      before?.();
      if (objects.get(key)?.etag !== etag) throw awsError('conflict', `s3:PutObject ${key}`);
      const written = next(value);
      objects.set(key, written);
      return written.etag;
    },
    async list(prefix, after) {
      return [...objects.keys()].filter((key) => key.startsWith(prefix) && key > after).toSorted();
    },
  };
  return memory;
}

export function awsError(kind: AwsError['kind'], object = 'a call'): AwsError {
  return new AwsError({ kind, object, problem: `${kind} in this test`, remedy: 'Nothing.' });
}
