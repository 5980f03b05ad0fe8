import { expect, it } from 'vitest';
import { advance, decodeHead, encodeHead, headOfObject } from '../../../lambdas/journal/head.ts';
import { CLUSTER, entry, memoryBucket, never, writerOf } from './values.ts';

it.each([null, undefined, 'abc', 7, []])(
  'reads a head whose recent decisions are %s as one without them',
  async (recent) => {
    const bucket = memoryBucket();
    await writerOf(bucket).append(CLUSTER, [entry(1)], never);
    const [key = '', body] = [...bucket.objects].find(([name]) => !name.startsWith('heads/')) ?? [];
    const head = headOfObject(key, body?.toString() ?? '');
    const damaged = Buffer.from(JSON.stringify({ ...head, recent }));
    expect(decodeHead(damaged, CLUSTER)).toEqual({ ...head, recent: {} });
    expect(head && decodeHead(encodeHead(head), CLUSTER)).toEqual(head);
  },
);

it('reads of recent decisions only those that it could have written', async () => {
  const bucket = memoryBucket();
  await writerOf(bucket).append(CLUSTER, [entry(1)], never);
  const [key = '', body] = [...bucket.objects].find(([name]) => !name.startsWith('heads/')) ?? [];
  const head = headOfObject(key, body?.toString() ?? '');
  const recent = {
    '0123456789abcdef': 5,
    '0123456789ABCDEF': 5,
    short: 5,
    fedcba9876543210: '5',
    aaaaaaaaaaaaaaaa: null,
  };
  const damaged = Buffer.from(JSON.stringify({ ...head, recent }));
  expect(decodeHead(damaged, CLUSTER)?.recent).toEqual({ '0123456789abcdef': 5 });
});

it('puts what is larger than an object into one of its own', () => {
  const large = (number: number) => entry(number, { message: 'm'.repeat(5 * 1024 * 1024) });
  expect(advance(undefined, CLUSTER, [large(1), large(2)])).toMatchObject({ added: 1, rest: 1 });
  expect(advance(undefined, CLUSTER, [entry(1), large(2), entry(3)])).toMatchObject({ added: 1, rest: 2 });
  expect(advance(undefined, CLUSTER, [entry(1), entry(2)])).toMatchObject({ added: 2, rest: 0 });
});
