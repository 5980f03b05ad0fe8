import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cidrProblem } from '../../../lambdas/config/cidr.ts';
import { addressRanges } from '../../../lambdas/names.ts';

describe('cidrProblem', () => {
  it.each([
    '10.0.0.0/8',
    '10.0.0.0/16',
    '192.168.7.128/25',
    '10.0.1.23/32',
    '2001:db8::/32',
    'fd00:12::/48',
    'FD00::1/128',
    '2001:db8:0:0:1::/80',
    '1:2:3:4:5:6:7:8/128',
    '64:ff9b::10.0.0.0/104',
  ])('accepts %s', (cidr) => {
    expect(cidrProblem(cidr)).toBeUndefined();
    expect(() => addressRanges([cidr])).not.toThrow();
  });

  it.each([
    ['', 'is not a CIDR'],
    ['10.0.0.0', 'is not a CIDR'],
    ['10.0.0.0/', 'is not a CIDR'],
    ['10.0.0/16', 'is not a CIDR'],
    ['010.0.0.0/16', 'is not a CIDR'],
    ['10.0.0.0/016', 'is not a CIDR'],
    ['10.0.0.0/33', 'is not a CIDR'],
    ['10.0.0.0/16/24', 'is not a CIDR'],
    ['fe80::%eth0/64', 'is not a CIDR'],
    ['fd00::/129', 'is not a CIDR'],
    ['host/16', 'is not a CIDR'],
    ['0.0.0.0/0', 'covers every address'],
    ['::/0', 'covers every address'],
    ['10.0.0.0/7', 'is wider than /8'],
    ['fd00::/31', 'is wider than /32'],
    ['10.0.1.0/16', 'names a host, not a network; clear the bits after the first 16'],
    ['10.0.0.1/31', 'names a host, not a network; clear the bits after the first 31'],
    ['fd00::1/64', 'names a host, not a network; clear the bits after the first 64'],
    ['fd00:0:0:0:8000::/64', 'names a host, not a network; clear the bits after the first 64'],
    ['::ffff:10.0.0.0/104', 'is IPv4-mapped'],
    ['::ffff:a00:0/104', 'is IPv4-mapped'],
    ['0:0:0:0:0:ffff:a00:0/104', 'is IPv4-mapped'],
  ])('refuses %j', (cidr, problem) => {
    expect(cidrProblem(cidr) ?? '').toContain(problem);
  });

  it('accepts only what a decision can use, and takes every text', () => {
    const addresses = fc.oneof(fc.string({ unit: 'binary' }), fc.ipV6(), fc.ipV4());
    fc.assert(
      fc.property(addresses, fc.nat({ max: 200 }), (text, prefix) => {
        const accepted = [text, `${text}/${prefix}`].filter((cidr) => cidrProblem(cidr) === undefined);
        expect(() => addressRanges(accepted)).not.toThrow();
      }),
      { seed: 2, numRuns: 300 },
    );
  });

  it('accepts a network exactly when no bit after its prefix is set', () => {
    const address = fc.bigInt({ min: 1n << 124n, max: (1n << 128n) - 1n });
    fc.assert(
      fc.property(address, fc.integer({ min: 32, max: 128 }), (bits, prefix) => {
        const hosts = 128n - BigInt(prefix);
        const network = (bits >> hosts) << hosts;
        expect(cidrProblem(`${ipv6(network)}/${prefix}`)).toBeUndefined();
        expect(cidrProblem(`${ipv6(bits)}/${prefix}`) === undefined).toBe(bits === network);
      }),
      { seed: 8, numRuns: 300 },
    );
  });
});

function ipv6(bits: bigint): string {
  return bits
    .toString(16)
    .padStart(32, '0')
    .replaceAll(/(.{4})(?!$)/g, '$1:');
}
