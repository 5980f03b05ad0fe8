import type { RecoveryWindow } from '../contracts/recovery-window.ts';
import { printable } from '../printable.ts';
import type { RecoveryReport, RecoveryRow } from '../recovery/sweep-recovery.ts';
import type { CollectedDecisions } from './decisions.ts';
import type { RecoveryEntry } from './journal.ts';

/** Requests that are left, of one sweep: a cluster decides how many there are, not how much is written of them. */
export const MAX_LEFT_IN_RECOVERY = 100;

/** The entries of one sweep of a recovery window: all that were approved or should have been, and the first that were left, hostile ones first. Pure. */
export function recoveryEntries(
  { rows, startedAt, cluster }: Pick<RecoveryReport, 'rows' | 'startedAt' | 'cluster'>,
  window: Pick<RecoveryWindow, 'id' | 'by' | 'until'>,
  program: string,
): CollectedDecisions<RecoveryEntry> {
  const decided = rows.filter(
    ({ verdict, outcome }) => verdict === 'approve' && outcome !== 'unfinished' && outcome !== 'overtaken',
  );
  const left = rows
    .filter(({ verdict }) => verdict === 'leave')
    .toSorted((a, b) => Number(b.hostile) - Number(a.hostile));
  const kept = left.slice(0, MAX_LEFT_IN_RECOVERY);
  const entryOf = (row: RecoveryRow, verdict: RecoveryEntry['verdict']): RecoveryEntry => ({
    version: 1,
    kind: 'recovery',
    at: startedAt,
    cluster,
    csr: row.csr,
    uid: row.uid,
    requester: row.requester,
    node: row.node === undefined ? undefined : printable(row.node, 253),
    verdict,
    reason: row.reason,
    message: printable(row.message, 600),
    hostile: row.hostile,
    outcome: row.outcome,
    window: printable(window.id, 26),
    by: printable(window.by, 300),
    until: printable(window.until, 40),
    requestHash: row.requestHash,
    program,
  });
  return {
    entries: [...decided.map((row) => entryOf(row, 'approve')), ...kept.map((row) => entryOf(row, 'leave'))],
    leftOut: left.length - kept.length,
  };
}
