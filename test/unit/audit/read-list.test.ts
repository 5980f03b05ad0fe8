import { expect, test } from 'vitest';
import { readList } from '../../../lambdas/audit/read-list.ts';

test('gives the event loop back while it looks at objects that take long', async () => {
  let turns = 0;
  let over = false;
  const count = (): void => {
    turns += 1;
    if (!over) setImmediate(count);
  };
  setImmediate(count);
  async function* pages() {
    yield Array.from({ length: 5 }, (_, index) => index);
  }
  const busy = () => {
    for (const startedAt = performance.now(); performance.now() - startedAt < 30; );
    return 'more' as const;
  };
  expect(await readList(pages(), busy)).toEqual({ count: 5 });
  over = true;
  expect(turns).toBeGreaterThanOrEqual(4);
});

test('a bug in who looks is no problem of the list', async () => {
  async function* pages() {
    yield [1];
  }
  const bug = new TypeError('a bug');
  const look = () => {
    throw bug;
  };
  await expect(readList(pages(), look)).rejects.toBe(bug);
});
