import { describe, expect, it } from 'vitest';
import * as z from 'zod/mini';
import { list, read, record, text } from '../../../lambdas/contracts/contract.ts';

describe('what is wrong with a value', () => {
  const Order = z.object({ nodes: list(text(5), 2), counts: z.optional(record(text(9), z.number(), 2)) });

  it.each([
    ['the whole', 7, 'the message is not an object'],
    ['a field', { nodes: 7 }, 'nodes is not a list of at most 2 entries'],
    ['an entry', { nodes: ['a', 7] }, 'nodes[1] is not text of at most 5 characters'],
    ['a key that is content', { nodes: [], counts: { 'a secret': '7' } }, 'counts.? is not a number'],
    ['a key that is too long', { nodes: [], counts: { 'another secret': 7 } }, 'a key of counts is not allowed'],
  ])('is told with its place, and with nothing of the content: %s', (_, value, problem) => {
    expect(read(Order, value)).toEqual({ ok: false, problem });
  });

  it('is told of what the reader calls the value', () => {
    expect(read(Order, null, 'the order')).toEqual({ ok: false, problem: 'the order is not an object' });
  });
});
