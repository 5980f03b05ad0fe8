import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isAllowedAddress, machineAddresses } from '../../../lambdas/probe/allowed-addresses.ts';

const hex = (address: string) => Buffer.from(address.split('.').map(Number)).toString('hex').replace(/^.{4}/, '$&:');

/** Forms of IPv6 that lead to an IPv4 address. */
const FORMS: readonly (readonly [string, (address: string) => string])[] = [
  ['IPv4-mapped', (address) => `::ffff:${address}`],
  ['IPv4-mapped in hexadecimal', (address) => `0:0:0:0:0:FFFF:${hex(address)}`],
  ['IPv4-translated', (address) => `::ffff:0:${address}`],
  ['NAT64', (address) => `64:ff9b::${address}`],
  ['6to4', (address) => `2002:${hex(address)}::1`],
];

describe('no machine of a cluster is at', () => {
  test.each([
    '169.254.169.254',
    '169.254.170.23',
    '168.63.129.16',
    '100.100.100.200',
    '192.0.0.192',
    '192.0.0.8',
    '0.0.0.0',
    '224.0.0.1',
    '255.255.255.255',
    '127.0.0.1',
    '127.255.255.254',
  ])('%s, in any form', (address) => {
    expect(isAllowedAddress(address, 'machines')).toBe(false);
    const spelt = FORMS.map(([, form]) => form(address));
    expect(spelt.filter((each) => isAllowedAddress(each, 'machines'))).toEqual([]);
  });

  test.each([
    '::',
    '::1',
    '::127.0.0.1',
    '::169.254.169.254',
    '::10.0.0.1',
    '64:ff9b:1::a9fe:a9fe',
    '64:ff9b:1:a9fe:a9:fe00::',
    '2001::1',
    '2001:0:a9fe:a9fe::1',
    'fd00:ec2::254',
    'fd20:ce::254',
    'fd00:c1::a9fe:a9fe',
    'fd00:42::42',
    'fe80::a9fe:a9fe',
    'ff02::1',
    '10.0.0.1%eth0',
    'fd12::1%eth0',
    '0x7f.1',
    '2130706433',
    'localhost',
    '',
  ])('%s', (address) => {
    expect(isAllowedAddress(address, 'machines')).toBe(false);
  });
});

test.each([
  '10.0.0.1',
  '172.16.0.1',
  '192.168.1.1',
  '192.0.1.1',
  '100.64.0.1',
  '100.100.100.201',
  '203.0.113.9',
  '::ffff:10.0.0.1',
  '64:ff9b::10.0.0.1',
  '2001:db8::1',
  '2001:1::1',
  '2600:1f13::1',
  'fd12:3456::254',
  'fd20:ce::1',
])('a machine may be at %s', (address) => {
  expect(isAllowedAddress(address, 'machines')).toBe(true);
});

test('an IPv4 address is judged the same in every form', () => {
  fc.assert(
    fc.property(fc.ipV4(), fc.constantFrom(...FORMS), (address, [, form]) => {
      expect(isAllowedAddress(form(address), 'machines')).toBe(isAllowedAddress(address, 'machines'));
    }),
    { seed: 5, numRuns: 2000 },
  );
});

test('loopback is allowed where the API server is on it, in the plain forms only', () => {
  const rule = machineAddresses('127.0.0.1');
  expect(rule).toBe('machines-and-loopback');
  const allowed = ['127.0.0.1', '::1', '::ffff:127.0.0.1', '10.0.0.1'];
  expect(allowed.filter((address) => !isAllowedAddress(address, rule))).toEqual([]);
  const refused = ['::127.0.0.1', '64:ff9b::127.0.0.1', '2002:7f00:1::', '169.254.169.254', '::'];
  expect(refused.filter((address) => isAllowedAddress(address, rule))).toEqual([]);
  expect(machineAddresses('64:ff9b::127.0.0.1')).toBe('machines');
});

test('a person may name any address', () => {
  expect(isAllowedAddress('::169.254.169.254', 'any')).toBe(true);
  expect(isAllowedAddress('not an address', 'any')).toBe(false);
});
