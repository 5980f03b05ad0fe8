import type { V1Node } from '@kubernetes/client-node';
import { describe, expect, it } from 'vitest';
import { field, list, raw, text } from '../../../lambdas/resources/fields.ts';
import { timeAt } from '../../../lambdas/resources/values.ts';

const object = JSON.parse('{"a":{"b":"text","c":["x"],"d":null,"e":0},"__proto__":{"polluted":"yes"}}');

describe('field', () => {
  it('walks to a value', () => {
    expect(field(object, 'a', 'b')).toBe('text');
    expect(field(object, 'a', 'd')).toBeNull();
    expect(field(object)).toBe(object);
    expect(field(object, '__proto__', 'polluted')).toBe('yes');
  });

  it.each([
    ['a field that is not there', ['x']],
    ['a step through text', ['a', 'b', 'length']],
    ['a step through a list', ['a', 'c', '0']],
    ['a step through null', ['a', 'd', 'x']],
    ['what every object inherits', ['a', 'constructor']],
  ])('gives nothing for %s', (_, path) => {
    expect(field(object, ...path)).toBeUndefined();
  });

  it.each([null, undefined, 'text', 1, ['x']])('gives nothing for a field of %j', (value) => {
    expect(field(value, 'a')).toBeUndefined();
  });
});

describe('text and list', () => {
  it('give a value of their type and nothing else', () => {
    expect(text(object, 'a', 'b')).toBe('text');
    expect(text(object, 'a', 'e')).toBeUndefined();
    expect(list(object, 'a', 'c')).toEqual(['x']);
    expect(list(object, 'a', 'b')).toEqual([]);
  });
});

describe('a field that the type does not have', () => {
  const node = raw<V1Node>({ status: { addresses: [{ address: '10.0.0.1' }] }, metadata: { labels: { a: 'b' } } });

  it('does not compile', () => {
    // @ts-expect-error it is called metadata
    expect(text(node, 'metdata', 'labels', 'a')).toBeUndefined();
    // @ts-expect-error it is called creationTimestamp
    expect(timeAt(node, 'metadata', 'createdAt')).toBeUndefined();
    // @ts-expect-error it is called address
    expect(list(node, 'status', 'addresses').map((entry) => text(entry, 'ip'))).toEqual([undefined]);
  });

  it('is not taken for a label, or for something in a list', () => {
    expect(text(node, 'metadata', 'labels', 'a')).toBe('b');
    expect(list(node, 'status', 'addresses').map((entry) => text(entry, 'address'))).toEqual(['10.0.0.1']);
  });
});
