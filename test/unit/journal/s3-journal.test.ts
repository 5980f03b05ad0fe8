import { S3Client } from '@aws-sdk/client-s3';
import { array, assert, asyncProperty, nat, record, scheduler } from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DecisionEntry } from '../../../lambdas/journal/journal.ts';
import { s3JournalStore } from '../../../lambdas/journal/journal-store.ts';
import { headKey, journalKey } from '../../../lambdas/journal/keys.ts';
import { createS3Journal, type Rebuilt } from '../../../lambdas/journal/s3-journal.ts';
import { verifyJournal } from '../../../lambdas/journal/verify.ts';
import { awsClientConfig } from '../../fleet/aws/aws-environment.ts';
import { startSimulatedAws } from '../../fleet/aws/simulated-aws.ts';
import { steppedClock } from '../../fleet/clock.ts';
import { HUB } from '../../fleet/hub/places.ts';
import { awsFailure } from '../aws/failure.ts';
import { CLUSTER, entry, failure, type MemoryBucket, memoryBucket, never, writerOf } from './values.ts';

const HEAD = headKey(CLUSTER);
const DAY = '2026-11-21';
const FIRST = journalKey({ day: DAY, cluster: CLUSTER, seq: 1 });

/** Requests in the order of their lines, of an unbroken journal. */
async function linesOf(bucket: MemoryBucket): Promise<string[]> {
  const { chains, strayCount } = await verifyJournal(bucket.store, {}, never);
  expect(strayCount).toBe(0);
  expect(chains.flatMap(({ problems }) => problems)).toEqual([]);
  const bodies = [...bucket.objects]
    .filter(([key]) => key.startsWith('journal/'))
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return bodies.flatMap(([, body]) =>
    body
      .toString('utf8')
      .trimEnd()
      .split('\n')
      .map((line): string => JSON.parse(line).uid),
  );
}

describe('the journal in S3', () => {
  it('appends one object a sweep, each line in the chain', async () => {
    const bucket = memoryBucket();
    const journal = writerOf(bucket);
    expect(await journal.append(CLUSTER, [entry(1), entry(2)], never)).toBe(2);
    expect(await journal.append(CLUSTER, [entry(3, { at: '2026-11-22T00:00:01.000Z' })], never)).toBe(1);
    expect([...bucket.objects.keys()].toSorted()).toEqual([
      HEAD,
      FIRST,
      journalKey({ day: '2026-11-22', cluster: CLUSTER, seq: 3 }),
    ]);
    expect(await linesOf(bucket)).toEqual(['uid-1', 'uid-2', 'uid-3']);
  });

  it('keeps to the order of the chain when a clock goes back over midnight', async () => {
    const bucket = memoryBucket();
    await writerOf(bucket).append(CLUSTER, [entry(1, { at: '2026-11-22T00:00:01.000Z' })], never);
    await writerOf(bucket).append(CLUSTER, [entry(2)], never);
    expect(await linesOf(bucket)).toEqual(['uid-1', 'uid-2']);
  });

  it('costs nothing where nothing is new, and nothing is new in a repeated sweep', async () => {
    const bucket = memoryBucket();
    const journal = writerOf(bucket);
    const left = entry(1, { verdict: 'leave', reason: 'EvidenceMissing', outcome: 'none' });
    await journal.append(CLUSTER, [left, left], never);
    const { length } = bucket.calls;
    expect(await journal.append(CLUSTER, [], never)).toBe(0);
    expect(await journal.append(CLUSTER, [{ ...left, at: '2026-11-21T10:01:00.000Z' }], never)).toBe(0);
    expect(bucket.calls).toHaveLength(length);
    // Another function, and another result of the same request.
    expect(await writerOf(bucket).append(CLUSTER, [left], never)).toBe(0);
    expect(await journal.append(CLUSTER, [left, entry(1)], never)).toBe(1);
    expect(await linesOf(bucket)).toEqual(['uid-1', 'uid-1']);
  });

  it.each<[string, Partial<DecisionEntry>]>([
    ['another name', { csr: 'csr-2' }],
    ['another requester', { requester: 'system:node:other' }],
    ['other bytes', { requestHash: '8'.repeat(64) }],
    ['other names', { names: ['worker-1', '10.0.0.99'] }],
    ['names that are not told', { nameCount: 200 }],
    ['another verdict on it', { hostile: true }],
    ['no answer', { outcome: 'unknown' }],
  ])('does not believe the uid alone: a request with the same one and %s has a line of its own', async (_, changed) => {
    const bucket = memoryBucket();
    const journal = writerOf(bucket);
    await journal.append(CLUSTER, [entry(1)], never);
    expect(await journal.append(CLUSTER, [entry(1), entry(1, changed)], never)).toBe(1);
    // Nor has one more when the head is made again from the last object.
    bucket.objects.delete(HEAD);
    expect(await writerOf(bucket).append(CLUSTER, [entry(1, changed)], never)).toBe(0);
  });

  it('does not take the request of another cluster for one of this', async () => {
    const bucket = memoryBucket();
    const journal = writerOf(bucket);
    await journal.append('other', [entry(1, { cluster: 'other' })], never);
    expect(await journal.append(CLUSTER, [entry(1)], never)).toBe(1);
  });

  it('splits what is too large for one object', async () => {
    const bucket = memoryBucket();
    const entries = Array.from({ length: 750 }, (_, index) => entry(index, { message: 'x'.repeat(6_000) }));
    expect(await writerOf(bucket).append(CLUSTER, entries, never)).toBe(750);
    expect(bucket.objects.size).toBe(3);
    expect(await linesOf(bucket)).toHaveLength(750);
  });

  describe('that is interrupted', () => {
    /** The calls of one append after another, and each of them fails before or after it was done. */
    const points = ['before', 'after'].flatMap((when) => [0, 1, 2, 3, 4].map((call) => ({ when, call })));
    it.each(points)('$when call $call loses nothing and makes no fork', async ({ when, call }) => {
      const bucket = memoryBucket();
      await writerOf(bucket).append(CLUSTER, [entry(1)], never);
      let count = -1;
      bucket.fault = (_, now) => {
        if (now === 'before') count += 1;
        if (count === call && now === when) throw failure('unavailable', 'a crash');
      };
      await writerOf(bucket)
        .append(CLUSTER, [entry(2), entry(3)], never)
        .catch(() => undefined);
      bucket.fault = undefined;
      // Between the two a verification finds nothing lost.
      const { chains } = await verifyJournal(bucket.store, {}, never);
      expect(chains.flatMap(({ problems }) => problems)).toEqual([]);
      // What comes next, in another process: another sweep, then the repeated one.
      await writerOf(bucket).append(CLUSTER, [entry(4)], never);
      await writerOf(bucket).append(CLUSTER, [entry(2), entry(3)], never);
      expect((await linesOf(bucket)).toSorted()).toEqual(['uid-1', 'uid-2', 'uid-3', 'uid-4']);
    });

    it('is completed by the same sweep again', async () => {
      const bucket = memoryBucket();
      bucket.fault = (call, now) => {
        if (now === 'before' && call.startsWith('PUT journal/')) throw failure('unavailable', 'a crash');
      };
      await awsFailure(writerOf(bucket).append(CLUSTER, [entry(1)], never));
      bucket.fault = undefined;
      expect(bucket.objects.has(FIRST)).toBe(false);
      expect(await writerOf(bucket).append(CLUSTER, [entry(1)], never)).toBe(0);
      expect(await linesOf(bucket)).toEqual(['uid-1']);
    });
  });

  it('makes one chain of any two writers at once, whatever fails in between', async () => {
    await assert(
      asyncProperty(
        scheduler(),
        array(record({ writer: nat(2), requests: array(nat(12), { maxLength: 4 }) }), { maxLength: 8 }),
        array(nat(40), { maxLength: 3 }),
        async (turns, sweeps, failing) => {
          const bucket = memoryBucket();
          let count = 0;
          bucket.fault = async (call, when) => {
            if (when === 'before') await turns.schedule(Promise.resolve(), call);
            count += 1;
            if (failing.includes(count)) throw failure('unavailable', 'a crash');
          };
          const wanted = new Set<string>();
          const runs = [0, 1, 2].map(async (writer) => {
            const journal = writerOf(bucket);
            for (const { requests } of sweeps.filter((sweep) => sweep.writer === writer)) {
              const entries = requests.map((number) => entry(number));
              for (const { uid } of entries) wanted.add(uid);
              // A sweep that could not write is repeated.
              for (let tries = 0; tries < 5; tries += 1)
                if (
                  await journal.append(CLUSTER, entries, never).then(
                    () => true,
                    () => false,
                  )
                )
                  break;
            }
          });
          await turns.waitFor(Promise.all(runs));
          bucket.fault = undefined;
          await writerOf(bucket).append(CLUSTER, [entry(0)], never);
          expect((await linesOf(bucket)).toSorted()).toEqual([...wanted.add('uid-0')].toSorted());
        },
      ),
      { numRuns: 150, seed: 20_261_121 },
    );
  });

  it.each([
    ['lost', undefined],
    ['damaged', Buffer.from('{"version":1')],
    ['that of another cluster', Buffer.from('{"version":1,"cluster":"other","seq":1}')],
  ])('goes on after its last object when the head is %s, and says so', async (_, head) => {
    const bucket = memoryBucket();
    await writerOf(bucket).append(CLUSTER, [entry(1)], never);
    await writerOf(bucket).append(CLUSTER, [entry(2, { at: '2026-11-23T10:00:00.000Z' })], never);
    if (head === undefined) bucket.objects.delete(HEAD);
    else bucket.objects.set(HEAD, head);
    const rebuilt: Rebuilt[] = [];
    const again = entry(2, { at: '2026-11-23T10:01:00.000Z' });
    expect(await writerOf(bucket, (one) => rebuilt.push(one)).append(CLUSTER, [again, entry(3)], never)).toBe(1);
    expect(rebuilt).toEqual([{ cluster: CLUSTER, key: journalKey({ day: '2026-11-23', cluster: CLUSTER, seq: 2 }) }]);
    expect(await linesOf(bucket)).toEqual(['uid-1', 'uid-2', 'uid-3']);
  });

  it('writes nothing over an object that somebody changed', async () => {
    const bucket = memoryBucket();
    await writerOf(bucket).append(CLUSTER, [entry(1)], never);
    const forged = Buffer.from('{"forged":true}\n');
    bucket.objects.set(FIRST, forged);
    expect(await awsFailure(writerOf(bucket).append(CLUSTER, [entry(2)], never))).toMatchObject({
      kind: 'conflict',
      object: `journal object ${FIRST}`,
      remedy: expect.stringContaining('certmarshal journal verify'),
    });
    expect(bucket.objects.get(FIRST)).toEqual(forged);
  });

  it('goes on when it wrote an object and the answer was lost', async () => {
    const bucket = memoryBucket();
    bucket.fault = (call, when) => {
      if (when === 'after' && call === `PUT ${FIRST}`) throw failure('conflict', 'it is there already');
    };
    await writerOf(bucket).append(CLUSTER, [entry(1)], never);
    expect(await linesOf(bucket)).toEqual(['uid-1']);
  });

  it('passes on what S3 says when an object cannot be written', async () => {
    const bucket = memoryBucket();
    bucket.fault = (call, when) => {
      if (when === 'before' && call === `PUT ${FIRST}`) throw failure('denied', 'no rights');
    };
    expect(await awsFailure(writerOf(bucket).append(CLUSTER, [entry(1)], never))).toMatchObject({ kind: 'denied' });
  });

  it('writes nothing over an object that somebody put there before', async () => {
    const bucket = memoryBucket();
    const journal = writerOf(bucket);
    await journal.append(CLUSTER, [entry(1)], never);
    const second = journalKey({ day: DAY, cluster: CLUSTER, seq: 2 });
    bucket.objects.set(second, Buffer.from('first'));
    expect(await awsFailure(journal.append(CLUSTER, [entry(2)], never))).toMatchObject({ kind: 'conflict' });
    expect(bucket.objects.get(second)?.toString()).toBe('first');
    // The lines are in the head, and in the chain once the object is gone.
    bucket.objects.delete(second);
    await journal.append(CLUSTER, [entry(3)], never);
    expect(await linesOf(bucket)).toEqual(['uid-1', 'uid-2', 'uid-3']);
  });

  it('gives up against a writer that always wins', async () => {
    const bucket = memoryBucket();
    bucket.fault = (call, when) => {
      if (when === 'before' && call === `PUT ${HEAD}`) bucket.objects.set(HEAD, Buffer.from(`${bucket.calls.length}`));
    };
    expect(await awsFailure(writerOf(bucket).append(CLUSTER, [entry(1)], never))).toMatchObject({ kind: 'conflict' });
    expect(bucket.calls.filter((call) => call === `PUT ${HEAD}`)).toHaveLength(8);
  });

  it('works with real clients', async () => {
    const aws = await startSimulatedAws({ clock: steppedClock(Date.now()) });
    aws.s3.createBucket(HUB, 'journal');
    const client = new S3Client({ ...awsClientConfig(aws, HUB), maxAttempts: 1 });
    try {
      const options = { client, bucket: 'journal' };
      for (const number of [1, 2, 3]) await createS3Journal(options).append(CLUSTER, [entry(number)], never);
      await createS3Journal(options).append('other', [entry(1, { cluster: 'other' })], never);
      aws.s3.remove('journal', HEAD);
      expect(await createS3Journal(options).append(CLUSTER, [entry(4)], never)).toBe(1);
      const { chains } = await verifyJournal(s3JournalStore(options), {}, never);
      expect(chains).toMatchObject([
        { cluster: CLUSTER, objects: 4, lines: 4, first: 1, problems: [] },
        { cluster: 'other', objects: 1, lines: 1, problems: [] },
      ]);
      const since = await verifyJournal(s3JournalStore(options), { cluster: 'other', since: DAY }, never);
      expect(since.chains).toMatchObject([{ cluster: 'other', lines: 1 }]);
    } finally {
      client.destroy();
      await aws[Symbol.asyncDispose]();
    }
  });
});
