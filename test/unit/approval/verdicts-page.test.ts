import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { FLOOD_LIMIT } from '../../../lambdas/approval/decide-approval.ts';
import { DEFAULT_POLICY } from '../../../lambdas/approval/policy.ts';
import { REASONS, RECOVERY_REASONS, type Reason, type VerdictKind } from '../../../lambdas/tables/reasons.ts';
import { FAILURES } from './failures.ts';
import { reasonsTable } from './verdict-tables.ts';

const page = readFileSync(join(import.meta.dirname, '../../../docs/verdicts.md'), 'utf8');

describe('docs/verdicts.md', () => {
  it('lists every reason as the code has it', () => {
    expect(page).toContain(`\n\n${reasonsTable()}\n`);
  });

  it('names the limits that are in force', () => {
    const { age, keys, maxExpirationSeconds } = DEFAULT_POLICY;
    expect(page).toContain(`${keys.ecdsaCurves.join(', ')}, RSA ≥ ${keys.rsaMinBits}, `);
    expect(page).toContain(`of at most ${maxExpirationSeconds} s`);
    expect(page).toContain(`more than ${FLOOD_LIMIT} pending requests`);
    expect(page).toContain(`${age.eks.minSeconds / 60} to ${age.eks.maxSeconds / 60} minutes`);
  });
});

describe('REASONS', () => {
  it('has no reason that nothing gives', () => {
    const before: Reason[] = [
      'Proven',
      'NotKubeletServing',
      'RequesterMisnamed',
      'RequesterNotNode',
      'Deleting',
      'AlreadyApproved',
      'AlreadyDenied',
      'AlreadyFailed',
      'AlreadyIssued',
      'TooYoung',
      'Orphaned',
      'Superseded',
      'NoPolicySelected',
      'JudgeFailed',
      'ClockSkew',
      'RequesterQuarantined',
      'SignerDoesNotIssue',
    ];
    const given = [...before, ...FAILURES.map(({ reason }) => reason), ...Object.keys(RECOVERY_REASONS)];
    expect(new Set(given)).toEqual(new Set(Object.keys(REASONS)));
  });

  it('says what it means in a sentence, and what to do about everything that is left', () => {
    const entries = Object.entries<{ verdict: VerdictKind; meaning: string; next: string }>(REASONS);
    expect(entries.filter(([, { meaning }]) => !/^\w.*\.$/.test(meaning))).toEqual([]);
    expect(entries.filter(([, { verdict, next }]) => verdict === 'leave' && next === '')).toEqual([]);
  });
});
