import { assert, constantFrom, double, integer, nat, property } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { KubernetesError } from '../../../lambdas/kubernetes/errors.ts';
import { MAX_RETRIES, parseRetryAfter, retryDelayMs } from '../../../lambdas/kubernetes/retry.ts';

const NOW = Date.UTC(2026, 10, 21, 12, 0, 0);

describe('parseRetryAfter', () => {
  test.each([
    [undefined, undefined],
    ['0', 0],
    ['7', 7_000],
    ['Sat, 21 Nov 2026 12:00:10 GMT', 10_000],
    ['Sat, 21 Nov 2026 11:00:00 GMT', 0],
    ['Sat, 99 Nov 2026 11:00:00 GMT', undefined],
    ['', undefined],
    ['-1', undefined],
    ['1.5', undefined],
    ['1e3', undefined],
    ['soon', undefined],
    ['2026-11-21', undefined],
  ])('%j is %j', (header, expected) => {
    expect(parseRetryAfter(header, NOW)).toBe(expected);
  });
});

function fault(details: object): KubernetesError {
  return new KubernetesError({ kind: 'server', object: 'o', problem: 'p', remedy: 'r', ...details });
}

describe('retryDelayMs', () => {
  test('is bounded and never shorter than the server asks', () => {
    assert(
      property(
        nat({ max: 30_000 }),
        nat({ max: MAX_RETRIES - 1 }),
        double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (retryAfterMs, retries, random) => {
          const wait = retryDelayMs(fault({ status: 429, retryAfterMs }), { method: 'PUT', retries, random });
          expect(wait).toBeGreaterThanOrEqual(retryAfterMs);
          expect(wait).toBeLessThanOrEqual(retryAfterMs + 5_000);
        },
      ),
      { seed: 20_261_121 },
    );
  });

  test('a refusal is never repeated, by nobody', () => {
    assert(
      property(
        integer({ min: 200, max: 499 }).filter((status) => status !== 429),
        constantFrom('GET', 'PUT', 'POST', 'PATCH'),
        (status, method) => {
          const error = fault({ kind: 'invalid', status, retryAfterMs: 0 });
          expect(retryDelayMs(error, { method, retries: 0, random: 0 })).toBeUndefined();
        },
      ),
      { seed: 20_261_121 },
    );
  });

  test.each([
    ['too large', { kind: 'too-large', status: 200 }],
    ['aborted', { kind: 'aborted' }],
    ['certificate', { kind: 'certificate-expired', code: 'CERT_HAS_EXPIRED' }],
    ['name unknown', { kind: 'unreachable', code: 'ENOTFOUND' }],
    ['over 30 s', { kind: 'throttled', status: 429, retryAfterMs: 30_001 }],
  ])('a read that failed with %s is not repeated', (_name, details) => {
    expect(retryDelayMs(fault(details), { method: 'GET', retries: 0, random: 0 })).toBeUndefined();
  });

  test('ends after three retries', () => {
    expect(retryDelayMs(fault({ status: 500 }), { method: 'GET', retries: 2, random: 0 })).toBe(0);
    expect(retryDelayMs(fault({ status: 500 }), { method: 'GET', retries: 3, random: 0 })).toBeUndefined();
  });
});
