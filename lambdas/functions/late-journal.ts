import type { Journal } from '../journal/journal.ts';
import type { Rebuilt } from '../journal/s3-journal.ts';
import { once } from './once.ts';

export interface LateJournalOptions {
  readonly bucket: string;
  readonly onRebuilt: (rebuilt: Rebuilt) => void;
}

/** A journal with code that is loaded at the first line: most sweeps decide nothing, and a new function must not wait for it to approve. */
export function lateJournal({ bucket, onRebuilt }: LateJournalOptions): Journal {
  const journal = once(async () => {
    const [{ S3Client }, { createS3Journal }] = await Promise.all([
      import('@aws-sdk/client-s3'),
      import('../journal/s3-journal.ts'),
    ]);
    return createS3Journal({ client: new S3Client(), bucket, onRebuilt });
  });
  return { append: async (cluster, entries, signal) => (await journal()).append(cluster, entries, signal) };
}
