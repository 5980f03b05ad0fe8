import type { Target } from './target.ts';

/** What dispatch and hint send, and a sweep receives: sweep this cluster now. */
export interface SweepOrder {
  readonly target: Target;
  /** The minute that dispatch sent it for, or the time of a hint, in milliseconds since the epoch. */
  readonly tick: number;
  /** How long the sweep may take, in milliseconds. A cluster that did not answer the last time gets less. */
  readonly deadlineMs: number;
  /** Decide, but write nothing, and why: what is known of the cluster contradicts itself. */
  readonly holdWrites?: string;
  /** Look for the workload clusters of this management cluster too. */
  readonly lookForClusters?: true;
}
