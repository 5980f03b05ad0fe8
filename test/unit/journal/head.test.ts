import { expect, it } from 'vitest';
import { advance, decodeHead, headOfObject } from '../../../lambdas/journal/head.ts';
import { MAX_JOURNAL_OBJECT } from '../../../lambdas/journal/journal-store.ts';
import { CLUSTER, entry } from './values.ts';

const HEAD = advance(undefined, CLUSTER, [entry(1)])?.head;
const readWith = (recent: unknown) => decodeHead(Buffer.from(JSON.stringify({ ...HEAD, recent })), CLUSTER);

it('reads a head as it was written', () => {
  expect(decodeHead(Buffer.from(JSON.stringify(HEAD)), CLUSTER)).toEqual(HEAD);
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

it('puts five hundred entries into one object, and the rest into others', () => {
  const entries = Array.from({ length: 501 }, (_, number) => entry(number));
  expect(advance(undefined, CLUSTER, entries)).toMatchObject({ added: 500, rest: 1 });
  expect(advance(undefined, CLUSTER, entries.slice(1))).toMatchObject({ added: 500, rest: 0 });
});

it('can be read again however large its entries are', () => {
  const largest = (number: number) =>
    entry(number, {
      csr: `${number}${'"'.repeat(250)}`,
      requester: '"'.repeat(300),
      message: '"'.repeat(600),
      names: Array.from({ length: 16 }, () => '"'.repeat(253)),
      evidence: Array.from({ length: 20 }, () => ({ source: 'machine', object: '"'.repeat(300), readAt: '2026' })),
    });
  const { head, rest } =
    advance(
      undefined,
      CLUSTER,
      Array.from({ length: 500 }, (_, number) => largest(number)),
    ) ?? {};
  expect(rest).toBe(0);
  expect(Buffer.byteLength(JSON.stringify(head))).toBeLessThan(MAX_JOURNAL_OBJECT);
});
