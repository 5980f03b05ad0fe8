import type { Journal } from '../journal/journal.ts';
import type { Rebuilt } from '../journal/s3-journal.ts';

export interface LateJournalOptions {
  readonly bucket: string;
  readonly onRebuilt: (rebuilt: Rebuilt) => void;
}

/** A journal with code that is loaded at the first line: most sweeps decide nothing, and a new function must not wait for it to approve. */
export function lateJournal({ bucket, onRebuilt }: LateJournalOptions): Journal {
  let loaded: Promise<Journal> | undefined;
  const load = async (): Promise<Journal> => {
    const [{ S3Client }, { createS3Journal }] = await Promise.all([
      import('@aws-sdk/client-s3'),
      import('../journal/s3-journal.ts'),
    ]);
    return createS3Journal({ client: new S3Client(), bucket, onRebuilt });
  };
  return {
    async append(cluster, entries, signal) {
      loaded ??= load();
      return (await loaded).append(cluster, entries, signal);
    },
  };
}
