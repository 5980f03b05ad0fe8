import { connect, type LookupFunction, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { allowedLookup, ForbiddenAddressError } from '../../../lambdas/allowed-addresses.ts';
import { handshake } from '../../../lambdas/tls/handshake.ts';

/** What the name server answers, look-up by look-up; the last one of all that follow. */
let answers: readonly (readonly string[])[] = [];
let lookups = 0;

vi.mock('node:dns', () => ({
  lookup: (_hostname: string, _options: object, callback: (error: null, found: readonly object[]) => void) => {
    const found = answers[Math.min(lookups, answers.length - 1)] ?? [];
    lookups += 1;
    callback(
      null,
      found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  },
}));

// Nothing is dialled: which address Node.js would connect to is what the look-up gave it.
const dialled: unknown[] = [];
vi.mock('node:net', async (original) => ({
  ...(await original<typeof import('node:net')>()),
  connect: vi.fn<typeof connect>(),
}));

beforeEach(() => {
  answers = [];
  lookups = 0;
  dialled.length = 0;
  vi.mocked(connect).mockImplementation(((options: { host: string; lookup?: LookupFunction }) => {
    // As `net.connect` does it: one look-up, and then what that found.
    const socket = Object.assign(new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() }), {
      connecting: true,
    });
    if (options.lookup === undefined) dialled.push(options.host);
    options.lookup?.(options.host, { all: true }, (error, found) => {
      if (error === null) dialled.push(...(Array.isArray(found) ? found.map(({ address }) => address) : [found]));
      setImmediate(() => socket.destroy(error ?? Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })));
    });
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what a handshake uses of it before it is connected
    return socket as unknown as Socket;
  }) as unknown as typeof connect);
});

const METADATA = '169.254.169.254';

describe('a name is judged by the look-up that is connected to', () => {
  test('of ten addresses of which one is metadata, none is connected to, and it says which', async () => {
    const machines = Array.from({ length: 9 }, (_, index) => `10.0.0.${index + 1}`);
    answers = [[...machines.slice(0, 4), METADATA, ...machines.slice(4)]];
    expect(await shake()).toMatchObject({
      ok: false,
      failure: { kind: 'forbidden', message: expect.stringContaining(`node.example.com leads to ${METADATA}`) },
    });
    expect([dialled, lookups]).toEqual([[], 1]);
  });

  test('a name that changes after it was judged is not looked up again', async () => {
    answers = [['10.0.0.1'], [METADATA]];
    await shake();
    expect([dialled, lookups]).toEqual([['10.0.0.1'], 1]);
  });

  test.each([METADATA, '127.0.0.1', '::1', '::ffff:169.254.169.254', 'fd00:ec2::254', '64:ff9b::a9fe:a9fe'])(
    'a name of nothing but %s is connected to nowhere',
    async (address) => {
      answers = [[address]];
      expect(await shake()).toMatchObject({ ok: false, failure: { kind: 'forbidden' } });
      expect(dialled).toEqual([]);
    },
  );

  const shake = () =>
    handshake(
      { host: 'node.example.com', port: 10_250 },
      { signal: new AbortController().signal, addresses: 'cluster' },
    );
});

describe('the look-up', () => {
  test('gives the first address to a caller that wants one', () => {
    answers = [['10.0.0.7', '10.0.0.8']];
    const given: unknown[] = [];
    allowedLookup('cluster')('x', {}, (error, address, family) => given.push(error, address, family));
    expect(given).toEqual([null, '10.0.0.7', 4]);
  });

  test('fails where one is not allowed', () => {
    answers = [['10.0.0.7', '127.0.0.1']];
    const given: unknown[] = [];
    allowedLookup('cluster')('x', { all: true }, (error) => given.push(error));
    expect(given).toEqual([expect.any(ForbiddenAddressError)]);
  });
});
