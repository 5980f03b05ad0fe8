import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CLOCK_TOLERANCE_MS, madeSince } from '../../../lambdas/rollout/verification.ts';
import { DAY, HOUR, MINUTE, NOW } from './fixtures.ts';

const SINCE = NOW - 2 * HOUR;
const AUTHORITY = NOW - 800 * DAY;
const leafOf = (madeAt: number, validityDays = 365) => ({
  notBefore: AUTHORITY,
  notAfter: madeAt + validityDays * DAY,
});

describe('a certificate was made since a rollout began', () => {
  it.each([
    ['that kubeadm dated back to its authority', leafOf(SINCE + 20 * MINUTE), undefined, true],
    ['of a machine whose clock is a little behind', leafOf(SINCE - 10 * MINUTE), undefined, true],
    ['of an issuer whose clock is ahead', { notBefore: NOW + 10 * MINUTE, notAfter: NOW + DAY }, undefined, true],
    ['that was made before', leafOf(SINCE - 11 * MINUTE), undefined, false],
    ['that it was begun for', leafOf(NOW - 325 * DAY), undefined, false],
    ['that an issuer dated truly', { notBefore: SINCE - 10 * MINUTE, notAfter: SINCE + 90 * DAY }, undefined, true],
    ['that starts in the future', { notBefore: NOW + HOUR, notAfter: NOW + 365 * DAY }, undefined, false],
    ['that ended', { notBefore: SINCE + MINUTE, notAfter: NOW }, undefined, false],
    ['of the validity that the control plane asks for', leafOf(SINCE + MINUTE, 90), 90, true],
    ['of another validity', leafOf(SINCE + MINUTE, 365), 90, false],
    ['that is older, of a longer validity', leafOf(NOW - 300 * DAY, 730), undefined, false],
    ['without times', { notBefore: Number.NaN, notAfter: Number.NaN }, undefined, false],
  ])('%s', (_, certificate, validityDays, expected) => {
    const made = { since: SINCE, now: NOW, validityDays };
    expect(madeSince(certificate, made)).toBe(expected);
  });

  it('is never said of one that kubeadm made before', () => {
    const validity = fc.integer({ min: 1, max: 1095 });
    const age = fc.integer({ min: CLOCK_TOLERANCE_MS + 1, max: 1095 * DAY });
    fc.assert(
      fc.property(validity, age, fc.integer({ min: 0, max: 7 * DAY }), (validityDays, before, elapsed) => {
        const since = NOW - elapsed;
        const certificate = { notBefore: AUTHORITY - 400 * DAY, notAfter: since - before + validityDays * DAY };
        expect(madeSince(certificate, { since, now: NOW, validityDays })).toBe(false);
      }),
      { seed: 20_261_122, numRuns: 500 },
    );
  });
});
