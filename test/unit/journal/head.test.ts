import { expect, it } from 'vitest';
import { decodeHead, encodeHead, headOfObject } from '../../../lambdas/journal/head.ts';
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
