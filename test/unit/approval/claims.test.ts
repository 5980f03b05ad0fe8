import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { collectClaims, standingClaims } from '../../../lambdas/approval/claims.ts';
import type { SigningRequest } from '../../../lambdas/resources/signing-request.ts';
import { csrObject, dns, ips, NOW, signingRequest } from './fixtures.ts';

const NODE = 'system:node:node-1';
/** The address of another node, and its own, which it may claim for as long as it likes. */
const [X, OWN] = ['10.0.0.2', '10.0.0.1'];
const made = new Map<string, SigningRequest>();

/** A CSR of node-1, so many minutes old. */
function csr(minutes: number, names: readonly string[], ...conditions: string[]): SigningRequest {
  const key = names.join(' ');
  const sans = names.flatMap((name) => (name.startsWith('10.') ? ips(name) : dns(name)));
  const one = made.get(key) ?? signingRequest(csrObject({ request: { sans } }));
  made.set(key, one);
  return {
    ...one,
    name: `${key} ${minutes}`,
    uid: `${key} ${minutes}`,
    createdAt: NOW - minutes * 60_000,
    conditions: conditions.map((type) => ({ type, status: 'True', reason: '' })),
  };
}

function standing(
  requests: readonly SigningRequest[],
  ...room: Parameters<typeof collectClaims>[1][]
): readonly string[] {
  const claims = collectClaims(NOW, ...room);
  for (const request of requests) claims.add(request);
  const of = claims.of(NODE);
  return of === undefined ? [] : standingClaims(of, NOW).filter((name) => name !== OWN);
}

describe('a claim', () => {
  it.each<[string, readonly SigningRequest[], readonly string[]]>([
    ['of the newest CSR for 20 minutes', [csr(20, [X])], [X]],
    ['of the newest CSR for less', [csr(19, [X]), csr(4, [X])], []],
    ['of CSRs one after the other', [csr(21, [X]), csr(6, [X, OWN])], [X]],
    ['that was denied', [csr(25, [X], 'Denied'), csr(1, [X])], [X]],
    ['that the next CSR drops', [csr(59, [X]), csr(30, [X]), csr(5, [OWN])], []],
    ['that is dropped and comes back', [csr(30, [X]), csr(29, [OWN]), csr(10, [X]), csr(9, [OWN])], [X]],
    ['that comes back too soon to tell', [csr(30, [X]), csr(29, [OWN]), csr(11, [X]), csr(9, [OWN])], []],
    ['that comes back, dropped by an approved CSR', [csr(30, [X]), csr(29, [OWN], 'Approved'), csr(10, [X])], [X]],
    ['that was approved once', [csr(50, [X]), csr(45, [X], 'Approved'), csr(1, [X])], []],
    ['of another hour', [csr(61, [X]), csr(5, [X])], []],
    ['of just this hour', [csr(60, [X]), csr(5, [X])], [X]],
    ['by a name that spells an address', [csr(20, ['ec2-203-0-113-25.example'])], ['ec2-203-0-113-25.example']],
    ['by another name', [csr(20, ['node-2'])], []],
    ['of which an approved CSR is the newest', [csr(30, [X]), csr(20, [OWN], 'Approved')], []],
  ])('%s', (_, requests, expected) => {
    expect(standing(requests)).toEqual(expected);
    expect(standing(requests.toReversed())).toEqual(expected);
  });

  it('is the same in whatever order the list has it', () => {
    const request = fc
      .record({ minutes: fc.integer({ min: 0, max: 70 }), names: fc.subarray([X, OWN, '10.0.0.3'], { minLength: 1 }) })
      .chain(({ minutes, names }) => fc.constantFrom(csr(minutes, names), csr(minutes, names, 'Approved')));
    const requests = fc.uniqueArray(request, { maxLength: 8, selector: ({ uid }) => uid });
    fc.assert(
      fc.property(requests, requests, (some, keys) => {
        const order = new Map(keys.map(({ uid }, index) => [uid, index]));
        const mixed = some.toSorted((a, b) => (order.get(a.uid) ?? 9) - (order.get(b.uid) ?? 9));
        expect(standing(mixed).toSorted()).toEqual(standing(some).toSorted());
      }),
      { seed: 3, numRuns: 300 },
    );
  });

  it('needs room: what has none is not called hostile', () => {
    const size = csr(20, [X]).request?.length ?? 0;
    expect(standing([csr(20, [X])], { bytes: size, names: 1 })).toEqual([X]);
    expect(standing([csr(20, [X])], { bytes: size - 1, names: 1 })).toEqual([]);
    expect(standing([csr(20, [X])], { bytes: size, names: 0 })).toEqual([]);
    const flood = Array.from({ length: 256 }, (_, index) => ({ ...csr(50, [OWN]), name: `${index}`, uid: `${index}` }));
    expect(standing([...flood, csr(20, [X])])).toEqual([]);
    const names = Array.from({ length: 1024 }, (_, index) => `10.1.${index >> 8}.${index & 255}`);
    expect(standing([csr(25, names), csr(20, [X])])).toEqual([]);
    const crowd = Array.from({ length: 20_000 }, (_, index) => ({
      ...csr(50, []),
      request: undefined,
      username: `${index}`,
    }));
    expect(standing([...crowd, csr(20, [X])])).toEqual([]);
  });

  it('costs a bounded time, whatever a cluster lists', () => {
    const heavy = csr(
      20,
      Array.from({ length: 1_000 }, (_, index) => `10.1.${index >> 8}.${index & 255}`),
    );
    const claims = collectClaims(NOW);
    const before = process.cpuUsage().user;
    for (let index = 0; index < 50_000; index += 1)
      claims.add({ ...heavy, username: `system:node:n-${index % 5_000}`, name: `${index}`, uid: `${index}` });
    expect((process.cpuUsage().user - before) / 1_000).toBeLessThan(2_000);
  });
});
