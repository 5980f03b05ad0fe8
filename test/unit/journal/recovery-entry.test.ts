import { describe, expect, it } from 'vitest';
import { MAX_LEFT_IN_RECOVERY, recoveryEntries } from '../../../lambdas/journal/recovery-entry.ts';
import type { RecoveryRow } from '../../../lambdas/recovery/sweep-recovery.ts';
import { CLUSTER } from './values.ts';

const WINDOW = { id: 'w1', by: 'ada', until: '2026-11-21T10:30:00.000Z' };
const AT = '2026-11-21T10:00:00.000Z';

function row(changed: Partial<RecoveryRow> = {}): RecoveryRow {
  return {
    csr: 'csr-1',
    uid: 'uid-1',
    node: 'cp-1',
    requester: 'system:bootstrap:abcdef',
    verdict: 'approve',
    reason: 'Recovered',
    message: 'cp-1 ← Machine eksa-system/cp-1',
    hostile: false,
    outcome: 'written',
    requestHash: '7'.repeat(64),
    ...changed,
  };
}
const left = (changed: Partial<RecoveryRow> = {}) =>
  row({ verdict: 'leave', reason: 'StillValid', outcome: 'none', ...changed });
const entriesOf = (...rows: readonly RecoveryRow[]) =>
  recoveryEntries({ rows, startedAt: AT, cluster: CLUSTER }, WINDOW, '1.2.3');

describe('recoveryEntries', () => {
  it('has who asked, what was decided, and by which window', () => {
    expect(entriesOf(row())).toEqual([
      {
        version: 1,
        kind: 'recovery',
        at: AT,
        cluster: CLUSTER,
        csr: 'csr-1',
        uid: 'uid-1',
        requester: 'system:bootstrap:abcdef',
        node: 'cp-1',
        verdict: 'approve',
        reason: 'Recovered',
        message: 'cp-1 ← Machine eksa-system/cp-1',
        hostile: false,
        outcome: 'written',
        window: 'w1',
        by: 'ada',
        until: WINDOW.until,
        requestHash: '7'.repeat(64),
        program: '1.2.3',
      },
    ]);
  });

  it('has what may have been written, and what failed; not what was not begun, or decided by somebody else', () => {
    const outcomes = ['written', 'unknown', 'failed', 'unfinished', 'overtaken'] as const;
    const entries = entriesOf(...outcomes.map((outcome) => row({ outcome })));
    expect(entries.map(({ outcome }) => outcome)).toEqual(['written', 'unknown', 'failed']);
  });

  it('has what was left, hostile requests first', () => {
    const many = Array.from({ length: MAX_LEFT_IN_RECOVERY + 5 }, (_, index) => left({ csr: `csr-${index}` }));
    const entries = entriesOf(...many, left({ csr: 'csr-hostile', hostile: true }), row());
    expect(entries.slice(0, 2).map(({ csr, verdict }) => [csr, verdict])).toEqual([
      ['csr-1', 'approve'],
      ['csr-hostile', 'leave'],
    ]);
    expect(entries).toHaveLength(MAX_LEFT_IN_RECOVERY + 1);
  });

  it('names no node where the request names none', () => {
    const { node: _, ...nameless } = left();
    const entries = recoveryEntries({ rows: [nameless], startedAt: AT, cluster: CLUSTER }, WINDOW, '1.2.3');
    expect(entries[0]).not.toHaveProperty('node', expect.anything());
  });

  it('leaves out what is none of its business', () => {
    expect(entriesOf(row({ verdict: 'ignore', outcome: 'none' }))).toEqual([]);
  });
});
