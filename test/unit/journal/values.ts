import { createHash } from 'node:crypto';
import { AwsError } from '../../../lambdas/aws/errors.ts';
import type { DecisionEntry, PersonEntry, RolloutEntry } from '../../../lambdas/journal/journal.ts';
import type { JournalStore } from '../../../lambdas/journal/journal-store.ts';
import { createJournal, type Rebuilt } from '../../../lambdas/journal/s3-journal.ts';

export const CLUSTER = '111122223333/eu-central-1/dublin';
export const never = new AbortController().signal;

/** A decision; another number is another request. */
export function entry(number: number, changed: Partial<DecisionEntry> = {}): DecisionEntry {
  return {
    version: 1,
    kind: 'decision',
    at: '2026-11-21T10:00:00.000Z',
    cluster: CLUSTER,
    csr: `csr-${number}`,
    uid: `uid-${number}`,
    requester: `system:node:worker-${number}`,
    names: [`worker-${number}`, `10.0.1.${number % 250}`],
    nameCount: 2,
    verdict: 'approve',
    reason: 'Proven',
    message: `worker-${number} ← Machine eksa-system/md-0-${number}`,
    hostile: false,
    outcome: 'written',
    policy: 'default',
    policyHash: '5'.repeat(64),
    evidence: [{ source: 'machine', object: `Machine eksa-system/md-0-${number}`, readAt: '2026-11-21T10:00:00.000Z' }],
    requestHash: '7'.repeat(64),
    program: '0.0.0',
    ...changed,
  };
}

/** What a person decided, against the checks. */
export function person(changed: Partial<PersonEntry> = {}): PersonEntry {
  return {
    ...entry(1),
    kind: 'person',
    verdict: 'approve',
    judged: 'leave',
    reason: 'SanNotOwned',
    message: 'IP 10.0.1.8 belongs to worker-8',
    hostile: true,
    failed: ['san-proven'],
    by: 'ada',
    because: 'address moved, ticket 4711',
    ...changed,
  };
}

/** A write of a rollout. */
export function rollout(changed: Partial<RolloutEntry> = {}): RolloutEntry {
  return {
    version: 1,
    kind: 'rollout',
    at: '2026-11-21T10:00:00.000Z',
    cluster: CLUSTER,
    object: 'KubeadmControlPlane eksa-system/berlin',
    uid: 'uid-kcp',
    write: 'roll-control-plane',
    rollout: 'berlin-20261121',
    start: '2026-11-21T09:59:55Z',
    trigger: 'schedule',
    reason: 'certificates expire 2026-12-30',
    message: 'admission webhook "x" denied the request: no',
    outcome: 'refused',
    program: '0.0.0',
    ...changed,
  };
}

type Fault = (call: string, when: 'before' | 'after') => void | Promise<void>;

/** A bucket in memory, with the conditional writes of S3. */
export interface MemoryBucket {
  readonly objects: Map<string, Buffer>;
  /** Every call: `PUT heads/berlin.json`. */
  readonly calls: string[];
  /** Called before and after each read and write; throws where the call is to fail. */
  fault: Fault | undefined;
  readonly store: JournalStore;
}

export function memoryBucket(initial: Iterable<readonly [string, Buffer]> = []): MemoryBucket {
  const objects = new Map(initial);
  const etagOf = (bytes: Buffer): string => createHash('md5').update(bytes).digest('hex');
  const sorted = (): string[] => [...objects.keys()].toSorted();
  const calls: string[] = [];
  const around = async <T>(call: string, work: () => T): Promise<T> => {
    calls.push(call);
    await bucket.fault?.(call, 'before');
    const result = work();
    await bucket.fault?.(call, 'after');
    return result;
  };
  const bucket: MemoryBucket = {
    objects,
    calls,
    fault: undefined,
    store: {
      read: async (key: string) =>
        around(`GET ${key}`, () => {
          const bytes = objects.get(key);
          return bytes && { bytes, etag: etagOf(bytes) };
        }),
      write: async (key: string, value: Uint8Array, etag: string | undefined) =>
        around(`PUT ${key}`, () => {
          const present = objects.get(key);
          if ((present && etagOf(present)) !== etag) throw failure('conflict', key);
          const bytes = Buffer.from(value);
          objects.set(key, bytes);
          return etagOf(bytes);
        }),
      async *objects(prefix) {
        calls.push(`LIST ${prefix}`);
        for (const key of sorted()) {
          const bytes = objects.get(key);
          if (key.startsWith(prefix) && bytes !== undefined) yield { key, size: bytes.length };
        }
      },
      async folders(prefix) {
        calls.push(`LIST ${prefix}`);
        const below = sorted().filter((key) => key.startsWith(prefix));
        const parts = below.map((key) => key.slice(prefix.length).split('/'));
        return [...new Set(parts.flatMap(([folder = '', ...rest]) => (rest.length > 0 ? [folder] : [])))];
      },
    },
  };
  return bucket;
}

export function failure(kind: AwsError['kind'], object: string): AwsError {
  return new AwsError({ kind, object, problem: `${kind} in this test`, remedy: 'Nothing.' });
}

/** A writer that knows nothing yet, as a function after a cold start. */
export function writerOf(bucket: MemoryBucket, onRebuilt?: (rebuilt: Rebuilt) => void) {
  return createJournal(bucket.store, onRebuilt);
}
