import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SigningRequest } from '../../../lambdas/approval/request.ts';
import { collectOpenRequests, type OpenRequest } from '../../../lambdas/sweep/open-requests.ts';

const open = (name: string, username: string, createdAt: number, bytes = 500): OpenRequest => ({
  csr: {
    name,
    uid: `uid-${name}`,
    resourceVersion: '1',
    createdAt,
    deleting: false,
    signerName: 'kubernetes.io/kubelet-serving',
    username,
    groups: [],
    usages: [],
    expirationSeconds: undefined,
    request: new Uint8Array(bytes),
    conditions: [],
    issued: false,
  } satisfies SigningRequest,
  subject: { name, uid: `uid-${name}`, resourceVersion: '1', metadata: {}, conditions: [] },
});

describe('collectOpenRequests', () => {
  it('keeps the 51 newest of a requester, in whatever order they come, and every request of others', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(100_000), { minLength: 1, maxLength: 200 }), (times) => {
        const requests = collectOpenRequests();
        requests.add(open('calm', 'system:node:calm', 5));
        let superseded = 0;
        for (const time of times)
          if (requests.add(open(`f${time}`, 'system:node:flooder', time)) === 'superseded') superseded += 1;
        const newest = times.toSorted((a, b) => b - a).slice(0, 51);
        const kept = requests.all().map(({ csr }) => csr.createdAt);
        expect(new Set(kept)).toEqual(new Set([5, ...newest]));
        expect(kept).toHaveLength(newest.length + 1);
        expect(superseded).toBe(Math.max(0, times.length - 51));
      }),
      { seed: 1, numRuns: 200 },
    );
  });

  it('counts an object that is listed twice once', () => {
    const requests = collectOpenRequests();
    expect([1, 2].map(() => requests.add(open('a', 'system:node:a', 1)))).toEqual(['kept', 'kept']);
    expect(requests.all()).toHaveLength(1);
  });

  it('refuses what does not fit, and takes smaller ones again', () => {
    const requests = collectOpenRequests(1_000);
    expect(requests.add(open('a', 'system:node:a', 1, 600))).toBe('kept');
    expect(requests.add(open('b', 'system:node:b', 1, 600))).toBe('refused');
    expect(requests.add(open('c', 'system:node:c', 1, 400))).toBe('kept');
    expect(requests.all().map(({ csr }) => csr.name)).toEqual(['a', 'c']);
  });

  it('gives the room of superseded requests back', () => {
    const requests = collectOpenRequests(52 * 100);
    for (let time = 0; time < 1_000; time += 1)
      expect(requests.add(open(`f${time}`, 'system:node:f', time, 100))).not.toBe('refused');
    expect(requests.add(open('other', 'system:node:other', 1, 100))).toBe('kept');
  });
});
