import { describe, expect, it } from 'vitest';
import { DEFAULT_POLICY, everywhere } from '../../../lambdas/approval/policy.ts';
import { policyHash } from '../../../lambdas/journal/sweep-journal.ts';

describe('the hash of policies', () => {
  it('does not depend on the order of their fields, and on everything else', () => {
    const hash = policyHash([DEFAULT_POLICY]);
    expect(hash).toMatch(/^[0-9a-f]{64}$/);
    expect(policyHash([Object.fromEntries(Object.entries(DEFAULT_POLICY).toReversed()) as typeof DEFAULT_POLICY])).toBe(
      hash,
    );
    expect(policyHash([{ ...DEFAULT_POLICY, mode: everywhere('observe') }])).not.toBe(hash);
    expect(policyHash([{ ...DEFAULT_POLICY, keys: { ...DEFAULT_POLICY.keys, rsaMinBits: 3072 } }])).not.toBe(hash);
    expect(policyHash([DEFAULT_POLICY, DEFAULT_POLICY])).not.toBe(hash);
  });
});
