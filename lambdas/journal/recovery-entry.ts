import type { RecoveryWindow } from '../contracts/recovery-window.ts';
import { printable } from '../printable.ts';
import type { RecoveryReport } from '../recovery/sweep-recovery.ts';
import type { RecoveryEntry } from './journal.ts';

/**
 * Most entries of requests not approved, for each sweep: a cluster decides how many such requests there are, not how
 * much is written about them.
 */
export const MAX_LEFT_IN_RECOVERY = 100;

/** The entries of one sweep of a recovery window. Pure. */
export function recoveryEntries(
  { rows, startedAt, cluster }: Pick<RecoveryReport, 'rows' | 'startedAt' | 'cluster'>,
  { id, by, until }: Pick<RecoveryWindow, 'id' | 'by' | 'until'>,
  program: string,
): readonly RecoveryEntry[] {
  const entries = rows.flatMap((row): readonly RecoveryEntry[] => {
    const { verdict, outcome } = row;
    if (verdict === 'ignore' || outcome === 'overtaken' || outcome === 'unfinished') return [];
    const message = printable(row.message, 600);
    const window = { window: id, by: printable(by, 300), until };
    return [{ version: 1, kind: 'recovery', at: startedAt, cluster, ...row, verdict, message, ...window, program }];
  });
  const left = entries.filter(({ verdict }) => verdict === 'leave');
  return [
    ...entries.filter(({ verdict }) => verdict !== 'leave'),
    ...left.toSorted((a, b) => Number(b.hostile) - Number(a.hostile)).slice(0, MAX_LEFT_IN_RECOVERY),
  ];
}
