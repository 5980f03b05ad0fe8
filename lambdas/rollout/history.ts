import type { Problem } from '../contracts/problem.ts';
import type { PastRollout, UndoneClaim } from '../contracts/rollout-ledger.ts';
import type { RolloutLimits } from './policy.ts';

/** Earlier rollouts: of the fleet if certmarshal is deployed; at a keyboard only what the cluster itself shows. */
export interface RolloutHistory {
  /** Rollouts of all clusters in the last 100 days. */
  readonly rollouts: readonly PastRollout[];
  readonly limits: RolloutLimits;
  /** Claims that never began: they stop nothing, but too many are a problem. */
  readonly undone?: readonly UndoneClaim[];
  /** Why it is unreadable: then nothing begins. */
  readonly unread?: string;
  /** Entries that were ignored, for people. */
  readonly problems?: readonly Problem[];
}

/** A claim not seen on its cluster after this never began. Milliseconds. */
export const UNDONE_MS = 15 * 60_000;

export const NO_HISTORY: RolloutHistory = { rollouts: [], limits: { atOnce: 1, pauseMs: 0 } };
