import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DEFAULT_POLICY } from '../../../lambdas/approval/policy.ts';
import { isRefusalLine, refusalLines } from '../../../lambdas/cluster/stages/approval.ts';
import { HOUR_MS, MINUTE_MS } from '../../../lambdas/time.ts';
import { csrObject, NOW, signingRequest } from '../approval/fixtures.ts';

const CREATED = Date.UTC(2026, 10, 21, 10);
const at = (minutes: number): number => CREATED + minutes * MINUTE_MS;

describe('the refusal of a CSR', () => {
  it.each<[string, boolean, { minAge?: number; skew?: number; now: number; heard?: number }]>([
    ['in the first sweep after its creation', true, { now: at(0.5), heard: at(-0.5) }],
    ['in the second sweep', false, { now: at(1.5), heard: at(0.5) }],
    ['in the first sweep that may judge it', true, { minAge: 2, now: at(2.5), heard: at(1.5) }],
    ['in the sweep after that', false, { minAge: 2, now: at(3.5), heard: at(2.5) }],
    ['after missed ticks', true, { minAge: 2, now: at(9), heard: at(1) }],
    ['of a cluster that was never heard', true, { now: at(30) }],
    ['in the sweep that completes an hour of its age', true, { now: at(60.5), heard: at(59.5) }],
    ['in the next one', false, { now: at(61.5), heard: at(60.5) }],
    ['an hour later', true, { now: at(120), heard: at(119) }],
    ['after some hours without a sweep', true, { now: at(300), heard: at(100) }],
    ['in a repeated tick', true, { now: at(0.6), heard: at(-0.5) }],
    ['created in the second in which the last sweep began', true, { now: at(1), heard: CREATED + 900 }],
    ['where the clock of the server is behind', true, { skew: -5, now: at(5.5), heard: at(4.5) }],
    ['in the next sweep there', false, { skew: -5, now: at(6.5), heard: at(5.5) }],
    ['where the clock of the server is ahead', true, { skew: 5, now: at(-4.5), heard: at(-5.5) }],
    ['in the next sweep where it is ahead', false, { skew: 5, now: at(-3.5), heard: at(-4.5) }],
    ['that this server calls old enough later', true, { minAge: 2, skew: 5, now: at(2.5), heard: at(1.5) }],
  ])('%s is a line: %s', (_, expected, { minAge = 0, skew = 0, now, heard }) => {
    const csr = { createdAt: CREATED, skewMs: skew * MINUTE_MS, minAgeMs: minAge * MINUTE_MS };
    expect(isRefusalLine(csr, now, heard)).toBe(expected);
  });

  it('is a line once at first and once an hour of its age, whatever ticks are missed', () => {
    const gaps = fc.array(fc.oneof({ weight: 9, arbitrary: fc.constant(1) }, fc.nat(200)), { maxLength: 300 });
    const minAge = fc.constantFrom(0, 2 * MINUTE_MS, 15 * MINUTE_MS, 90 * MINUTE_MS);
    fc.assert(
      fc.property(fc.nat(59_999), minAge, gaps, (phase, minAgeMs, minutes) => {
        // metadata.creationTimestamp is cut to seconds.
        const createdAt = Math.floor((CREATED + phase) / 1000) * 1000;
        const hourAt = (time: number): number => Math.floor((time - createdAt) / HOUR_MS);
        const wrong: number[] = [];
        let heard = at(-5);
        let judged = 0;
        for (const gap of [5, ...minutes]) {
          const now = heard + gap * MINUTE_MS;
          if (now >= CREATED + phase && now - createdAt >= minAgeMs && now > heard) {
            judged += 1;
            const expected = judged === 1 || hourAt(now) > hourAt(heard);
            const isLine = isRefusalLine({ createdAt, skewMs: 0, minAgeMs }, now, heard);
            // Of a CSR from the seconds around a sweep, this sweep and the next have a line.
            const mayRepeat = judged === 2 && heard < createdAt + 2_000;
            if (isLine !== expected && !(isLine && mayRepeat)) wrong.push(now);
          }
          heard = now;
        }
        expect(wrong).toEqual([]);
      }),
      { seed: 13, numRuns: 500 },
    );
  });
});

describe('which refusals of a sweep are lines', () => {
  const csr = signingRequest(csrObject({ ageSeconds: 130 }));
  const dublin = { name: 'dublin', provider: 'eks' } as const;
  const before = (seconds: number): number => NOW - seconds * 1_000;

  it.each([
    ['the youngest age of the policies that select the cluster', [DEFAULT_POLICY], {}, true],
    ['no age of a policy for others', [{ ...DEFAULT_POLICY, clusters: ['oslo'] }], {}, false],
    ['the clock of the API server', [], { clock: { skewMs: -100_000 } }, true],
  ])('depends on %s', (_, policies, workload, expected) => {
    expect(refusalLines({ cluster: dublin, workload }, policies, NOW, before(50))(csr)).toBe(expected);
  });

  it('are all, of CSRs whose creation cannot be read', () => {
    const isLine = refusalLines({ cluster: dublin, workload: {} }, [], NOW, before(1));
    expect([isLine({ ...csr, createdAt: undefined }), isLine(csr)]).toEqual([true, false]);
  });
});
