import type { JournalEntry } from '../../lambdas/journal/journal.ts';
import type { SimulatedAws } from '../fleet/aws/simulated-aws.ts';

/** All lines of a journal, in the order of its keys. */
export function journalLines({ s3 }: SimulatedAws, bucket: string): readonly JournalEntry[] {
  return s3.keys(bucket).flatMap((key) => entriesOf(s3.read(bucket, key)?.toString('utf8') ?? ''));
}

/** The entries of NDJSON. */
export function entriesOf(text: string): readonly JournalEntry[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line): JournalEntry => JSON.parse(line));
}
