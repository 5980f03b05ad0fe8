import { describe, expect, it } from 'vitest';
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

it.each(['', 'x', '\n\n'])('reads no head whose lines end with %j', (end) => {
  const body = HEAD?.body.trimEnd() + end;
  expect(decodeHead(Buffer.from(JSON.stringify({ ...HEAD, body })), CLUSTER)).toBeUndefined();
});

describe('what was written lately', () => {
  const at = (seconds: number) => new Date(Date.parse('2026-11-21T10:00:00Z') + seconds * 1_000).toISOString();
  const next = (number: number, seconds: number, head = HEAD) =>
    advance(head, CLUSTER, [entry(number, { at: at(seconds) })])?.head;

  it('is forgotten after an hour', () => {
    expect(Object.values(next(2, 3_599)?.recent ?? {})).toHaveLength(2);
    expect(Object.values(next(2, 3_600)?.recent ?? {})).toHaveLength(1);
    expect(Object.values(next(2, -3_600)?.recent ?? {})).toHaveLength(1);
  });

  it('is not written again until then, and then it is', () => {
    expect(next(1, 60, next(2, 3_599))).toBeUndefined();
    expect(next(1, 60, next(2, 3_600))).toMatchObject({ seq: 3 });
  });

  it('is the newest ten thousand', () => {
    const recent = Object.fromEntries(
      Array.from({ length: 10_000 }, (_, n) => [n.toString(16).padStart(16, '0'), Date.parse(at(n / 10)) / 1_000]),
    );
    const kept = next(2, 1_001, HEAD && { ...HEAD, recent })?.recent ?? {};
    expect(Object.keys(kept)).toHaveLength(10_000);
    expect(kept).not.toHaveProperty('0'.repeat(16));
    expect(kept).toHaveProperty('1'.padStart(16, '0'));
  });
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
