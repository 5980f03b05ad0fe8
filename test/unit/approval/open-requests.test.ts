import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { collectOpenRequests } from '../../../lambdas/approval/open-requests.ts';
import { isNewer } from '../../../lambdas/approval/request.ts';
import type { ApprovalSubject } from '../../../lambdas/resources/approval-subject.ts';
import type { SigningRequest } from '../../../lambdas/resources/signing-request.ts';

const csr = (name: string, username: string, createdAt: number, bytes = 500): SigningRequest => ({
  name,
  uid: `uid-${name}`,
  resourceVersion: '1',
  createdAt,
  deleting: false,
  signerName: 'kubernetes.io/kubelet-serving',
  username,
  groups: [],
  credentials: [],
  usages: [],
  expirationSeconds: undefined,
  request: new Uint8Array(bytes),
  conditions: [],
  issued: false,
});

const subject: ApprovalSubject = { name: 'n', uid: 'u', resourceVersion: '1', metadata: {}, conditions: [] };

describe('collectOpenRequests', () => {
  it('keeps the newest of a requester, counts the others, and does not touch other requesters', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(100_000), { minLength: 1, maxLength: 200, size: 'max' }), (times) => {
        const open = collectOpenRequests();
        expect(open.add(csr('calm', 'system:node:calm', 5), subject)).toBe('kept');
        const results = times.map((time) => open.add(csr(`f${time}`, 'system:node:flooder', time), subject));
        expect(results.filter((result) => result === 'superseded')).toHaveLength(times.length - 1);
        const [calm, flooder, ...rest] = open.all();
        expect(rest).toEqual([]);
        expect(calm?.askedAt).toEqual([5]);
        expect(flooder?.csr.createdAt).toBe(Math.max(...times));
        expect(new Set(flooder?.askedAt)).toEqual(new Set(times.toSorted((a, b) => b - a).slice(0, 51)));
      }),
      { seed: 1, numRuns: 200 },
    );
  });

  it('decides by name between requests of one second, in whatever order they come', () => {
    for (const names of ['ab', 'ba']) {
      const open = collectOpenRequests();
      for (const name of names) open.add(csr(name, 'system:node:n', 7), subject);
      expect(open.all().map((entry) => entry.csr.name)).toEqual(['b']);
    }
    const of = (name: string) => ({ name, createdAt: undefined });
    expect([isNewer(of('b'), of('a')), isNewer(of('a'), of('a'))]).toEqual([true, false]);
  });

  it('counts an object that is listed twice once', () => {
    const open = collectOpenRequests();
    expect([1, 2].map(() => open.add(csr('a', 'system:node:a', 1, 60_000), subject))).toEqual(['kept', 'kept']);
    expect(open.all()).toMatchObject([{ askedAt: [1] }]);
  });

  it('counts a creation time that cannot be read as one of this moment', () => {
    const open = collectOpenRequests();
    open.add({ ...csr('a', 'system:node:a', 1), createdAt: undefined }, subject);
    expect(open.all()).toMatchObject([{ askedAt: [Number.POSITIVE_INFINITY] }]);
  });

  it('keeps a request whose creation time can be read before one whose cannot, in whatever order they come', () => {
    const requests = [{ ...csr('b', 'system:node:n', 1), createdAt: undefined }, csr('a', 'system:node:n', 1)];
    for (const given of [requests, requests.toReversed()]) {
      const open = collectOpenRequests();
      for (const request of given) open.add(request, subject);
      expect(open.all().map((entry) => entry.csr.name)).toEqual(['a']);
    }
  });

  it('never lets large requests take the room of ordinary ones', () => {
    const open = collectOpenRequests({ ordinary: 10_000, large: 100_000 });
    for (let index = 0; index < 10; index += 1) open.add(csr(`l${index}`, `system:node:l${index}`, 1, 60_000), subject);
    expect(open.all()).toHaveLength(1);
    expect(open.add(csr('o', 'system:node:o', 1, 600), subject)).toBe('kept');
  });

  it('counts all that it keeps, not only the request itself', () => {
    const open = collectOpenRequests({ ordinary: 100_000, large: 300_000 });
    const groups = Array.from({ length: 200 }, () => 'x'.repeat(1_000));
    const add = (index: number) => open.add({ ...csr(`${index}`, `system:node:${index}`, 1, 0), groups }, subject);
    expect([add(1), add(2)]).toEqual(['kept', 'refused']);
    const metadata = { groups: groups.join() };
    expect(open.add(csr('a', 'system:node:a', 1), { ...subject, metadata })).toBe('refused');
    expect(open.add({ ...csr('a', 'system:node:a', 1), credentials: undefined }, undefined)).toBe('kept');
  });

  it('fills its room to the last byte: what takes up to 8 KiB is ordinary', () => {
    const kept = (ordinary: number, large: number, bytes = 500) => {
      const open = collectOpenRequests({ ordinary, large });
      return ['a', 'b'].map((name) => open.add(csr(name, `system:node:${name}`, 1, bytes), subject));
    };
    const one = Array.from({ length: 10_000 }, (_, bytes) => bytes).find((bytes) => kept(bytes, 0)[0] === 'kept') ?? 0;
    expect(kept(2 * one, 0)).toEqual(['kept', 'kept']);
    expect(kept(2 * one - 1, 0)).toEqual(['kept', 'refused']);
    expect(kept(2 * 8_192, 0, 500 + 8_192 - one)).toEqual(['kept', 'kept']);
    expect(kept(0, 8_193, 500 + 8_193 - one)).toEqual(['kept', 'refused']);
    const least = { ...csr('a', 'system:node:a', 1), request: undefined };
    const add = (ordinary: number) => collectOpenRequests({ ordinary, large: 0 }).add(least, undefined);
    expect([add(2_047), add(2_048)]).toEqual(['refused', 'kept']);
  });

  it('gives the room of superseded requests back', () => {
    const open = collectOpenRequests({ ordinary: 6_000, large: 0 });
    for (let time = 0; time < 1_000; time += 1)
      expect(open.add(csr(`f${time}`, 'system:node:f', time), subject)).not.toBe('refused');
    expect(open.add(csr('other', 'system:node:other', 1), subject)).toBe('kept');
    expect(open.add(csr('third', 'system:node:third', 1), subject)).toBe('refused');
  });
});
