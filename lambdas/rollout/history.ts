import type { Problem } from '../contracts/problem.ts';
import type { PastRollout, UndoneClaim } from '../contracts/rollout-ledger.ts';
import type { RolloutLimits } from './policy.ts';

/** What happened before: of the fleet where certmarshal is deployed; at a keyboard only what the cluster itself shows. */
export interface RolloutHistory {
  /** Of all clusters, that were not forgotten (100 days). */
  readonly rollouts: readonly PastRollout[];
  readonly limits: RolloutLimits;
  /** What was claimed and never began: it stops no one, but there can be too much of it. */
  readonly undone?: readonly UndoneClaim[];
  /** Why it could not be read: then nothing begins. */
  readonly unread?: string;
  /** What of it is not believed, for people. */
  readonly problems?: readonly Problem[];
}

/** What is not seen on its cluster so long after it was claimed never began. Milliseconds. */
export const UNDONE_MS = 15 * 60_000;

export const NO_HISTORY: RolloutHistory = { rollouts: [], limits: { atOnce: 1, pauseMs: 0 } };
