import { describe, expect, it } from 'vitest';
import { type JournalQuery, searchJournal } from '../../../lambdas/journal/search.ts';
import { CLUSTER, entry, memoryBucket, never, writerOf } from './values.ts';

/** A journal with two decisions, the second one on a hostile request. */
async function searched(query: JournalQuery, damage: (body: string) => string = (body) => body) {
  const bucket = memoryBucket();
  await writerOf(bucket).append(CLUSTER, [entry(1), entry(2, { hostile: true })], never);
  for (const [key, bytes] of bucket.objects)
    if (key.startsWith('journal/')) bucket.objects.set(key, Buffer.from(damage(bytes.toString())));
  return searchJournal(bucket.store, query, 10, never);
}

describe('a search of the journal', () => {
  it('counts every line that it looks at, and finds fault with none that is whole', async () => {
    expect(await searched({ csr: 'csr-1' })).toMatchObject({ found: 1, searched: 2, unreadable: 0 });
  });

  it('counts a line that it cannot read among those that it looked at', async () => {
    const cut = (body: string) => body.slice(0, -5);
    expect(await searched({}, cut)).toMatchObject({ found: 1, searched: 2, unreadable: 1 });
  });

  it('leaves out requests that are not hostile where it is asked for those that are', async () => {
    const { lines } = await searched({ hostile: true });
    expect(lines.map(({ value }) => value['csr'])).toEqual(['csr-2']);
  });
});
