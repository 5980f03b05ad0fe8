import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { endpointAddressesOf } from '../../../lambdas/fleet/endpoint-addresses.ts';

const NOW = Date.parse('2026-11-27T12:00:00Z');
const days = (ago: number) => new Date(NOW - ago * 86_400_000).toISOString();

describe('endpointAddressesOf', () => {
  it('adds what the newest sweep saw, and forgets what was not seen for 30 days', () => {
    const known = { '10.0.0.5': days(2), '10.0.0.6': days(29.9), '10.0.0.7': days(30.1) };
    const endpoint = { at: days(0), addresses: ['10.0.0.5', 'fd00::1'] };
    expect(endpointAddressesOf({ endpointAddresses: known }, { endpoint }, NOW)).toEqual({
      '10.0.0.5': days(0),
      'fd00::1': days(0),
      '10.0.0.6': days(29.9),
    });
    expect(endpointAddressesOf({}, undefined, NOW)).toBeUndefined();
  });

  it('keeps the newest 64, and says the same of an index that was read before', () => {
    const entries = fc.dictionary(
      fc.integer({ min: 1, max: 99 }).map((n) => `10.0.0.${n}`),
      fc.integer({ min: 0, max: 40 }).map(days),
      { maxKeys: 90 },
    );
    fc.assert(
      fc.property(entries, entries, fc.integer({ min: 0, max: 40 }), (before, seen, ago) => {
        const indexed = { endpoint: { at: days(ago), addresses: Object.keys(seen) } };
        const once = endpointAddressesOf({ endpointAddresses: before }, indexed, NOW);
        expect(endpointAddressesOf({ endpointAddresses: once }, indexed, NOW)).toEqual(once);
        const times = Object.values(once ?? {});
        expect(times.length).toBeLessThanOrEqual(64);
        expect(times.every((time) => time >= days(30))).toBe(true);
      }),
      { seed: 42 },
    );
  });
});
