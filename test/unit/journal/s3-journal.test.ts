import { S3Client } from '@aws-sdk/client-s3';
import { describe, expect, it } from 'vitest';
import type { JournalEntry } from '../../../lambdas/journal/journal.ts';
import { createS3Journal, journalKey } from '../../../lambdas/journal/s3-journal.ts';
import { awsClientConfig } from '../../fleet/aws/aws-environment.ts';
import { startSimulatedAws } from '../../fleet/aws/simulated-aws.ts';
import { steppedClock } from '../../fleet/clock.ts';
import { HUB } from '../../fleet/hub/places.ts';
import { awsFailure } from '../aws/failure.ts';
import { CLUSTER, entry, never } from './values.ts';

const FOLDER = `journal/2026/11/21/${CLUSTER}`;
const keyOf = (random: string) => `${FOLDER}/20261121T100000.000Z-${random}.ndjson`;

/** A bucket, and a journal in it whose keys end with these texts. */
async function journalWith(...randoms: string[]) {
  const aws = await startSimulatedAws({ clock: steppedClock(Date.now()) });
  aws.s3.createBucket(HUB, 'journal');
  const client = new S3Client({ ...awsClientConfig(aws, HUB), maxAttempts: 1 });
  const journal = createS3Journal({ client, bucket: 'journal', random: () => randoms.shift() ?? '' });
  return {
    append: async (...entries: readonly JournalEntry[]) => journal.append(CLUSTER, entries, never),
    keys: () => aws.s3.keys('journal'),
    read: (key: string) => aws.s3.read('journal', key)?.toString(),
    async [Symbol.asyncDispose]() {
      client.destroy();
      await aws[Symbol.asyncDispose]();
    },
  };
}

describe('the journal in S3', () => {
  it('puts the lines of a sweep into one object, by day, cluster and time', async () => {
    await using journal = await journalWith('a', 'b');
    await journal.append(entry(1), entry(2));
    await journal.append(entry(3, { at: '2026-11-22T00:00:01.250Z' }));
    const later = `journal/2026/11/22/${CLUSTER}/20261122T000001.250Z-b.ndjson`;
    expect(journal.keys().toSorted()).toEqual([keyOf('a'), later]);
    expect(journal.read(keyOf('a'))).toBe(`${JSON.stringify(entry(1))}\n${JSON.stringify(entry(2))}\n`);
  });

  it('puts more lines than one object takes into several, each line once and whole', async () => {
    await using journal = await journalWith('a', 'b', 'c');
    const lines = Array.from({ length: 5 }, (_, number) => entry(number, { message: 'x'.repeat(1_500_000) }));
    await journal.append(...lines);
    const texts = journal.keys().map((key) => journal.read(key) ?? '');
    expect(texts.map((text) => text.length < 4 * 1024 * 1024 && text.endsWith('}\n'))).toEqual([true, true, true]);
    expect(texts.join('')).toBe(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  });

  it('puts no object without lines', async () => {
    await using journal = await journalWith('a');
    await journal.append();
    expect(journal.keys()).toEqual([]);
  });

  it('overwrites nothing, and takes another name if its own exists: the answer to its first attempt was lost', async () => {
    await using journal = await journalWith('a', 'a', 'b', 'a', 'a');
    await journal.append(entry(1));
    await journal.append(entry(2));
    expect([keyOf('a'), keyOf('b')].map((key) => journal.read(key))).toEqual([
      expect.stringContaining('uid-1'),
      expect.stringContaining('uid-2'),
    ]);
    expect(await awsFailure(journal.append(entry(3)))).toMatchObject({ kind: 'conflict' });
    expect(journal.keys()).toHaveLength(2);
  });

  it('has keys in the order of time', () => {
    const times = ['2026-11-21T09:59:59.999Z', '2026-11-21T10:00:00.000Z', '2026-11-21T10:00:00.001Z'];
    const keys = times.map((at, index) => journalKey(CLUSTER, at, String(9 - index)));
    expect(keys.toSorted()).toEqual(keys);
  });
});
