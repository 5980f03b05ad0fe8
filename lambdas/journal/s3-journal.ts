import { type BucketOptions, createByteObjects } from '../aws/byte-objects.ts';
import { isConflict } from '../aws/errors.ts';
import { type Journal, type JournalEntry, linesOf } from './journal.ts';

/** Prefix of all objects; permissions name it. */
export const JOURNAL_PREFIX = 'journal/';

/** Of one object: thousands of ordinary lines. Bytes. */
const LARGEST = 4 * 1024 * 1024;

export interface S3JournalOptions extends BucketOptions {
  /** Text for the end of a key, different each time. */
  readonly random: () => string;
}

/** The journal in a bucket: each append is one new object, or several where its lines are too large for one. */
export function createS3Journal({ random, ...bucket }: S3JournalOptions): Journal {
  const objects = createByteObjects({ ...bucket, largest: LARGEST, contentType: 'application/x-ndjson' });
  return {
    async append(cluster, entries, signal) {
      const [first] = entries;
      if (first === undefined) return;
      for (const lines of parts(entries)) {
        const put = async () => objects.write(journalKey(cluster, first.at, random()), lines, undefined, signal);
        try {
          await put();
        } catch (error) {
          if (!isConflict(error)) throw error;
          // The answer to the first attempt of the SDK was lost. A line that is there twice is better than none.
          await put();
        }
      }
    },
  };
}

/** NDJSON, in parts of at most {@link LARGEST} bytes. */
function* parts(entries: readonly JournalEntry[]): Generator<Buffer> {
  let lines: Buffer[] = [];
  let size = 0;
  for (const entry of entries) {
    const line = Buffer.from(linesOf([entry]));
    if (size + line.length > LARGEST) {
      yield Buffer.concat(lines);
      [lines, size] = [[], 0];
    }
    lines.push(line);
    size += line.length;
  }
  yield Buffer.concat(lines);
}

/**
 * `journal/2026/11/21/111122223333/eu-central-1/dublin/20261121T100217.250Z-9f86d081884c7d65.ndjson`: an id has no
 * character that a key cannot have.
 *
 * @param at RFC 3339, UTC
 */
export function journalKey(cluster: string, at: string, random: string): string {
  return `${JOURNAL_PREFIX}${at.slice(0, 10).replaceAll('-', '/')}/${cluster}/${at.replaceAll(/[:-]/g, '')}-${random}.ndjson`;
}
