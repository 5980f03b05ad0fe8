import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addressRanges, canonicalAddress, canonicalDnsName, isDnsName } from '../../lambdas/names.ts';

const write = (groups: readonly number[], digits: number): string =>
  groups.map((group) => group.toString(16).padStart(digits, '0')).join(':');

describe('canonicalDnsName', () => {
  it.each([
    ['node-1', 'node-1'],
    ['Node-1.Example.COM', 'node-1.example.com'],
    ['node-1.', 'node-1'],
    ['node-1..', 'node-1.'],
    ['.', ''],
    ['', ''],
  ])('writes %j as %j', (name, canonical) => {
    expect(canonicalDnsName(name)).toBe(canonical);
  });
});

describe('canonicalAddress', () => {
  it.each([
    ['10.0.1.23', '10.0.1.23'],
    ['FD00:0:0::1', 'fd00::1'],
    ['fd00:0000:0000:0000:0000:0000:0000:0001', 'fd00::1'],
    ['2001:db8::10.0.1.23', '2001:db8::a00:117'],
    ['0:0:0:0:0:ffff:10.0.1.23', '::ffff:10.0.1.23'],
    ['::FFFF:a00:117', '::ffff:10.0.1.23'],
  ])('writes %s as %s', (text, canonical) => {
    expect(canonicalAddress(text)).toBe(canonical);
  });

  it.each([
    '',
    'node-1',
    '10.0.1',
    '10.0.1.023',
    '10.0.1.256',
    '0x0a000117',
    '167772439',
    ' 10.0.1.23',
    '10.0.1.0/24',
    'fe80::1%eth0',
    '[fd00::1]',
    'fd00:::1',
  ])('takes %j for no address', (text) => {
    expect(canonicalAddress(text)).toBeUndefined();
  });

  it('gives one text to all texts of one IPv6 address', () => {
    const groups = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 0xffff })), {
      minLength: 8,
      maxLength: 8,
    });
    fc.assert(
      fc.property(groups, (values) => {
        const short = canonicalAddress(write(values, 1));
        expect(short).toBeDefined();
        expect(canonicalAddress(write(values, 4).toUpperCase())).toBe(short);
        expect(canonicalAddress(short ?? '')).toBe(short);
      }),
      { seed: 1, numRuns: 2000 },
    );
  });
});

describe('isDnsName', () => {
  it.each([
    'node-1',
    'a',
    'ip-10-0-1-23.eu-west-1.compute.internal',
    'i-0123456789abcdef0',
    '1node',
    '4.example',
    'a'.repeat(63),
    'a'.repeat(64),
    '42',
    'node.7',
    '7.7.7',
    '7.7.7.7.7',
    '10.0.1.23.example',
  ])('takes %s', (name) => {
    expect(isDnsName(name)).toBe(true);
  });

  it.each([
    ['empty', ''],
    ['an address', '10.0.1.23'],
    ['what some clients read as an address', '010.0.1.023'],
    ['four numbers', '999.0.1.23'],
    ['upper case', 'Node'],
    ['an underscore', 'node_1'],
    ['a wildcard', '*.example.com'],
    ['an empty label', 'node..example'],
    ['a trailing dot', 'node.'],
    ['a leading hyphen', '-node'],
    ['a trailing hyphen', 'node-'],
    ['254 characters', Array.from({ length: 85 }, () => 'ab').join('.')],
    ['a space', 'node 1'],
    ['a zero byte', 'node\0'],
    ['a line feed', 'node\n'],
    ['a letter of another alphabet', 'nоde'],
    ['an IPv6 address', 'fd00::1'],
  ])('refuses %s', (_, name) => {
    expect(isDnsName(name)).toBe(false);
  });
});

describe('addressRanges', () => {
  it('tells what is inside, at the edges', () => {
    const ranges = addressRanges(['10.0.4.0/22', 'fd00:1::/32', '203.0.113.5/32']);
    const inside = ['10.0.4.0', '10.0.7.255', 'fd00:1::', 'fd00:1:ffff:ffff:ffff:ffff:ffff:ffff', '203.0.113.5'];
    const outside = ['10.0.3.255', '10.0.8.0', 'fd00:2::', '203.0.113.6'];
    expect(inside.filter((address) => !ranges.has(address))).toEqual([]);
    expect(outside.filter((address) => ranges.has(address))).toEqual([]);
  });

  it('does not take an IPv4-mapped address for its IPv4 address, nor the reverse', () => {
    expect(addressRanges(['10.0.0.0/8', '0.0.0.0/0']).has('::ffff:10.0.1.23')).toBe(false);
    expect(addressRanges(['::/0', '::ffff:0:0/96']).has('10.0.1.23')).toBe(false);
  });

  it.each(['10.0.0.0', '10.0.0.0/33', '10.0.0.0/', 'fd00::/129', 'node-1/8', '/8', '10.0.0.0/-1', ''])(
    'refuses %j',
    (cidr) => {
      expect(() => addressRanges([cidr])).toThrow(RangeError);
    },
  );
});
