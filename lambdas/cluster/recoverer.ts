import type { Problem } from '../contracts/problem.ts';
import type { RecoveryWindow } from '../contracts/recovery-window.ts';
import type { Target } from '../contracts/target.ts';
import type { CollectedDecisions } from '../journal/decisions.ts';
import type { RecoveryEntry } from '../journal/journal.ts';
import { recoveryEntries } from '../journal/recovery-entry.ts';
import { type RecoveryRow, sweepRecovery } from '../recovery/sweep-recovery.ts';
import type { OpenTarget } from './connect/open-target.ts';

/** A sweep of a window that is open. */
export interface DueRecovery {
  readonly target: Target;
  readonly open: OpenTarget;
  readonly window: RecoveryWindow;
  readonly signal: AbortSignal;
}

/** What became of it. */
export interface RecoveredCluster {
  /** Of kinds that begin with `recovery-`. */
  readonly problems: readonly Problem[];
  /** For the journal. */
  readonly decisions: CollectedDecisions<RecoveryEntry>;
  /** A bug of certmarshal that came when something may have been approved already; the entries tell that. */
  readonly bug?: { readonly error: unknown };
}

/** Sweeps one cluster once within a window. Whatever is wrong outside of certmarshal is told. */
export type RecoverCluster = (due: DueRecovery) => Promise<RecoveredCluster>;

export interface ClusterRecovererOptions {
  /** Version of certmarshal. */
  readonly program: string;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** @default that there is */
  readonly sweep?: typeof sweepRecovery;
}

export function createClusterRecoverer({
  program,
  clock,
  sweep = sweepRecovery,
}: ClusterRecovererOptions): RecoverCluster {
  return async ({ target: { id }, open, window, signal }) => {
    const startedAt = new Date(clock()).toISOString();
    const rows: RecoveryRow[] = [];
    const recorded = () => recoveryEntries({ rows, startedAt, cluster: id }, window, program);
    try {
      const options = { clock, signal, onRow: (row: RecoveryRow) => void rows.push(row) };
      const { problems } = await sweep({ ...open, clusterId: id }, window, options);
      // What a recovery cannot read is no fault of the approvals.
      const told = problems.map((problem) => ({ ...problem, kind: `recovery-${problem.kind}` }));
      return { problems: told, decisions: recorded() };
    } catch (error) {
      return { problems: [], decisions: recorded(), bug: { error } };
    }
  };
}
