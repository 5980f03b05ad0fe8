import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countRequests } from '../../../lambdas/audit/request-counts.ts';
import type { RequestsObservation } from '../../../lambdas/contracts/observation.ts';
import type { CountedRequest } from '../../../lambdas/resources/signing-request.ts';

const NOW = Date.parse('2026-11-21T12:00:00Z');
const HOUR = 3_600_000;
const observedAt = '2026-11-21T12:00:00.000Z';

function counted(requests: Iterable<Partial<CountedRequest>>): readonly RequestsObservation[] {
  const counts = countRequests(NOW);
  for (const request of requests)
    counts.add({
      name: 'csr',
      signer: 's',
      requester: 'r',
      ofNodes: false,
      state: 'pending',
      createdAt: NOW,
      message: undefined,
      ...request,
    });
  return counts.observations(observedAt);
}

const sum = (observations: readonly RequestsObservation[], what: 'count' | 'lastHour') =>
  observations.reduce((total, observation) => total + observation[what], 0);

describe('requests are counted', () => {
  it('and none is lost, however they are folded', () => {
    const request = fc.record({
      name: fc.string({ maxLength: 8 }),
      signer: fc.constantFrom('a', 'b', 'c'),
      requester: fc.integer({ min: 0, max: 400 }).map((n) => `r-${n}`),
      state: fc.constantFrom(...(['pending', 'approved', 'issued', 'failed', 'denied'] as const)),
      createdAt: fc.oneof(fc.constant(NOW - HOUR), fc.integer({ min: NOW - 5 * HOUR, max: NOW })),
      message: fc.option(fc.string(), { nil: undefined }),
    });
    fc.assert(
      fc.property(fc.array(request, { minLength: 1, maxLength: 1_000, size: 'max' }), (requests) => {
        const observations = counted(requests);
        expect(sum(observations, 'count')).toBe(requests.length);
        expect(sum(observations, 'lastHour')).toBe(requests.filter(({ createdAt }) => createdAt >= NOW - HOUR).length);
        const groups = observations.map(({ signer, requester, state }) => `${signer} ${requester} ${state}`);
        expect(new Set(groups).size).toBe(groups.length);
        expect(observations.filter(({ requester }) => requester !== '*').length).toBeLessThanOrEqual(200);
        const times = requests.map(({ createdAt }) => createdAt);
        const seen = observations.flatMap(({ oldestAt, newestAt }) => [Date.parse(oldestAt), Date.parse(newestAt)]);
        expect([Math.min(...seen), Math.max(...seen)]).toEqual([Math.min(...times), Math.max(...times)]);
      }),
      { seed: 5, numRuns: 60 },
    );
  });

  it('the largest and the oldest groups apart', () => {
    const many = Array.from({ length: 1_000 }, (_, n) => ({ requester: `r-${n}`, createdAt: NOW - n }));
    const storm = Array.from({ length: 50 }, () => ({ requester: 'storm', state: 'denied' as const }));
    const oldest = { requester: 'forgotten', createdAt: NOW - 20 * HOUR };
    const issued = Array.from({ length: 300 }, (_, n) => ({
      requester: `i-${n}`,
      state: 'issued' as const,
      createdAt: 0,
    }));
    const observations = counted([...issued, ...many, oldest, ...storm]);
    const [first] = observations;
    expect(first).toMatchObject({ requester: 'storm', count: 50 });
    expect(observations).toContainEqual(expect.objectContaining({ requester: 'forgotten', count: 1 }));
    expect(
      observations
        .filter(({ requester }) => requester === '*')
        .map(({ state }) => state)
        .toSorted(),
    ).toEqual(['issued', 'pending']);
  });

  it('in bounded memory, whoever makes up requesters and signers', () => {
    const observations = counted(
      (function* () {
        for (let n = 0; n < 40_000; n += 1) yield { requester: `r-${n}`, signer: `s-${n % 300}` };
        for (let n = 0; n < 10; n += 1) yield { requester: 'late', signer: 's-1' };
      })(),
    );
    expect(sum(observations, 'count')).toBe(40_010);
    expect(observations).not.toContainEqual(expect.objectContaining({ requester: 'late' }));
    expect(new Set(observations.map(({ signer }) => signer)).size).toBeLessThanOrEqual(101);
    expect(observations.length).toBeLessThanOrEqual(301);
  });

  it('with texts that are cut', () => {
    const long = 'a'.repeat(1_000);
    const [only] = counted([{ name: long, requester: long, signer: long, message: long }]);
    expect(JSON.stringify(only).length).toBeLessThan(2_000);
  });
});
