import type { RecoveryWindow } from '../contracts/recovery-window.ts';
import { printable } from '../printable.ts';
import type { RecoveryReport } from '../recovery/sweep-recovery.ts';
import { type CollectedDecisions, collectEntries } from './decisions.ts';
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
): CollectedDecisions<RecoveryEntry> {
  const collector = collectEntries<RecoveryEntry>(MAX_LEFT_IN_RECOVERY);
  for (const row of rows)
    collector.take(row, (verdict) => ({
      version: 1,
      kind: 'recovery',
      at: startedAt,
      cluster,
      ...row,
      verdict,
      message: printable(row.message, 600),
      window: id,
      by: printable(by, 300),
      until,
      program,
    }));
  return collector.collected();
}
