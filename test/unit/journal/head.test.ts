import { expect, it } from 'vitest';
import { advance, decodeHead, encodeHead, headOfObject } from '../../../lambdas/journal/head.ts';
import { CLUSTER, entry } from './values.ts';

const HEAD = advance(undefined, CLUSTER, [entry(1)])?.head;
const readWith = (recent: unknown) => decodeHead(Buffer.from(JSON.stringify({ ...HEAD, recent })), CLUSTER);

it('reads a head as it was written', () => {
  expect(HEAD && decodeHead(encodeHead(HEAD), CLUSTER)).toEqual(HEAD);
});

it('is told from the last object of a chain with the times at which its decisions were made', () => {
  expect(HEAD && headOfObject(HEAD.key, HEAD.body)).toEqual(HEAD);
});

it.each([null, undefined, 'abc', 7, []])('reads a head whose recent decisions are %s as one without them', (recent) =>
  expect(readWith(recent)).toEqual({ ...HEAD, recent: {} }),
);

it('reads of recent decisions only those that it could have written', () => {
  const recent = {
    '0123456789abcdef': 5,
    '0123456789ABCDEF': 5,
    short: 5,
    fedcba9876543210: '5',
    aaaaaaaaaaaaaaaa: null,
  };
  expect(readWith(recent)?.recent).toEqual({ '0123456789abcdef': 5 });
});

it('puts what is larger than an object into one of its own', () => {
  const large = (number: number) => entry(number, { message: 'm'.repeat(5 * 1024 * 1024) });
  expect(advance(undefined, CLUSTER, [large(1), large(2)])).toMatchObject({ added: 1, rest: 1 });
  expect(advance(undefined, CLUSTER, [entry(1), large(2), entry(3)])).toMatchObject({ added: 1, rest: 2 });
  expect(advance(undefined, CLUSTER, [entry(1), entry(2)])).toMatchObject({ added: 2, rest: 0 });
});
