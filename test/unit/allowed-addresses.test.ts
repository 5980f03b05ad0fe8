import { lookup } from 'node:dns';
import { isIP } from 'node:net';
import * as fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import {
  type AddressRule,
  allowedLookup,
  ForbiddenAddressError,
  isAllowedAddress,
  machineAddresses,
} from '../../lambdas/allowed-addresses.ts';

vi.mock('node:dns', () => ({ lookup: vi.fn<() => void>() }));

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
    expect(isAllowedAddress(address, 'cluster')).toBe(false);
    const spelt = FORMS.map(([, form]) => form(address));
    expect(spelt.filter((each) => isAllowedAddress(each, 'cluster'))).toEqual([]);
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
    expect(isAllowedAddress(address, 'cluster')).toBe(false);
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
  expect(isAllowedAddress(address, 'cluster')).toBe(true);
});

test('an IPv4 address is judged the same in every form', () => {
  fc.assert(
    fc.property(fc.ipV4(), fc.constantFrom(...FORMS), (address, [, form]) => {
      expect(isAllowedAddress(form(address), 'cluster')).toBe(isAllowedAddress(address, 'cluster'));
    }),
    { seed: 5, numRuns: 2000 },
  );
});

test.each([
  '2001:db8::5efe:127.0.0.1',
  '2001:db8::5efe:169.254.169.254',
  '2001:db8:1:2:200:5efe:a9fe:a9fe',
  '2001:db8:1:2:0:5efe::',
  'fd00::5efe:c000:c0',
])('ISATAP leads to the address in it: %s', (address) => {
  expect(isAllowedAddress(address, 'cluster')).toBe(false);
  expect(isAllowedAddress(address, 'local')).toBe(false);
});

test('ISATAP of a machine is as good as its address', () => {
  expect(isAllowedAddress('2001:db8::5efe:10.0.0.1', 'cluster')).toBe(true);
});

test('loopback is allowed by the rule for what a person gives, in the plain forms only', () => {
  const allowed = ['127.0.0.1', '::1', '::ffff:127.0.0.1', '10.0.0.1'];
  expect(allowed.filter((address) => !isAllowedAddress(address, 'local'))).toEqual([]);
  const refused = ['::127.0.0.1', '64:ff9b::127.0.0.1', '2002:7f00:1::', '169.254.169.254', '::', 'not an address'];
  expect(refused.filter((address) => isAllowedAddress(address, 'local'))).toEqual([]);
});

test.each([
  ['https://127.0.0.1:6443', 'local', 'local'],
  ['https://[::1]:6443', 'local', 'local'],
  ['https://localhost:6443', 'local', 'local'],
  ['https://10.0.0.1:6443', 'local', 'cluster'],
  ['https://[64:ff9b::127.0.0.1]', 'local', 'cluster'],
  ['nothing', 'local', 'cluster'],
  ['https://127.0.0.1:6443', 'cluster', 'cluster'],
  ['https://localhost:6443', 'cluster', 'cluster'],
  ['https://localhost:6443', undefined, 'cluster'],
] as const)('machines of %s, reached by the rule %s, are judged by the rule %s', (server, addresses, rule) => {
  expect(machineAddresses({ server, addresses })).toBe(rule);
});

describe('a name', () => {
  const of = (addresses: readonly string[]) => addresses.map((address) => ({ address, family: isIP(address) }));
  const found = (rule: AddressRule, options: { all?: boolean } = {}) =>
    new Promise<unknown>((resolve) => {
      allowedLookup(rule)('api.example', options, (error, address) => resolve(error ?? address));
    });
  const resolvesTo = (...addresses: readonly string[]) =>
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the form with `all`, the only one that is called
    vi
      .mocked(lookup)
      .mockImplementation(((_: string, __: object, callback: (...args: unknown[]) => void) =>
        callback(null, of(addresses))) as unknown as typeof lookup);

  test('leads to all of its addresses', async () => {
    resolvesTo('10.0.0.1', 'fd12::1');
    expect(await found('cluster', { all: true })).toEqual(of(['10.0.0.1', 'fd12::1']));
    expect(await found('cluster')).toBe('10.0.0.1');
  });

  test('of ten addresses, one of them metadata, leads nowhere and says which', async () => {
    const nine = Array.from({ length: 9 }, (_, n) => `10.0.0.${n + 1}`);
    for (const rule of ['cluster', 'local'] as const) {
      resolvesTo(...nine, '169.254.169.254');
      const error = await found(rule, { all: true });
      expect(error).toBeInstanceOf(ForbiddenAddressError);
      expect(error).toMatchObject({ host: 'api.example', address: '169.254.169.254' });
    }
  });

  test('is looked up once for all sockets that wait for it, and again afterwards', async () => {
    const answers: ((error: Error | null, addresses: unknown) => void)[] = [];
    const asked: string[] = [];
    vi.mocked(lookup).mockImplementation(((name: string, _: object, callback: (typeof answers)[number]) => {
      asked.push(name);
      answers.push(callback);
    }) as unknown as typeof lookup);
    const socket = async (name: string, rule: AddressRule, family: 0 | 4 = 0) =>
      new Promise<unknown>((resolve) => {
        allowedLookup(rule)(name, { all: true, family }, (error, address) => resolve(error ?? address));
      });
    const sockets = Array.from({ length: 20 }, (_, n) => socket('evil.example', n % 2 === 0 ? 'cluster' : 'local'));
    const others = [socket('good.example', 'cluster'), socket('evil.example', 'cluster', 4)];
    expect(asked).toEqual(['evil.example', 'good.example', 'evil.example']);
    answers[0]?.(null, of(['127.0.0.1']));
    answers[1]?.(null, of(['10.0.0.1']));
    answers[2]?.(new Error('no servers'), []);
    const results = await Promise.all(sockets);
    expect(results.filter((one) => one instanceof ForbiddenAddressError)).toHaveLength(10);
    expect(results.filter((one) => Array.isArray(one))).toHaveLength(10);
    expect(await Promise.all(others)).toEqual([of(['10.0.0.1']), expect.objectContaining({ message: 'no servers' })]);
    resolvesTo('10.0.0.7');
    expect(await socket('evil.example', 'cluster')).toEqual(of(['10.0.0.7']));
  });

  test('without an address leads nowhere', async () => {
    resolvesTo();
    expect(await found('cluster')).toBeInstanceOf(ForbiddenAddressError);
  });
});
