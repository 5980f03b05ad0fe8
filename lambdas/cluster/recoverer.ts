import type { Problem } from '../contracts/problem.ts';
import type { RecoveryWindow } from '../contracts/recovery-window.ts';
import type { Target } from '../contracts/target.ts';
import type { RecoveryEntry } from '../journal/journal.ts';
import { recoveryEntries } from '../journal/recovery-entry.ts';
import { type RecoveryRow, sweepRecovery } from '../recovery/sweep-recovery.ts';
import type { OpenTarget } from './connect/open-target.ts';

/** A sweep of an open recovery window. */
export interface DueRecovery {
  readonly target: Target;
  readonly open: OpenTarget;
  readonly window: RecoveryWindow;
  readonly signal: AbortSignal;
}

/** Its result. */
export interface RecoveredCluster {
  /** Of kinds that begin with `recovery-`. */
  readonly problems: readonly Problem[];
  /** For the journal. */
  readonly decisions: readonly RecoveryEntry[];
  /** A bug of certmarshal after something may have been approved; the entries have it. */
  readonly bug?: { readonly error: unknown };
}

/** Sweeps one cluster once within a window. Problems outside of certmarshal are results, not errors. */
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
      // Failures to read in a recovery do not fail the approvals.
      const told = problems.map((problem) => ({ ...problem, kind: `recovery-${problem.kind}` }));
      return { problems: told, decisions: recorded() };
    } catch (error) {
      return { problems: [], decisions: recorded(), bug: { error } };
    }
  };
}
