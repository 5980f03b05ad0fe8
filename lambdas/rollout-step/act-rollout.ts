import type { KubernetesClient } from '../kubernetes/client.ts';
import type { Problem } from '../problem.ts';
import type { RolloutWrite } from '../rollout/step.ts';

/**
 * What became of a write.
 *
 * - `written`: it is on the object.
 * - `overtaken`: somebody changed the object since it was read (409): the next look plans anew.
 * - `refused`: the server or one of its webhooks refused the dry run or the write; `problem` has its words. Nothing was written.
 * - `locked`: another rollout has the Lease; `problem` says which.
 * - `failed`: it was not sent; nothing was written.
 * - `unknown`: it was sent, and no answer says whether it was done: the next look tells.
 */
export interface RolloutWritten {
  readonly kind: 'written' | 'overtaken' | 'refused' | 'locked' | 'failed' | 'unknown';
  readonly problem?: Problem;
}

export interface ActOptions {
  readonly management: KubernetesClient;
  /** `<namespace>/<cluster>`, for the Lease. */
  readonly cluster: string;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  readonly signal: AbortSignal;
}

/** Carries out one write: where it begins a rollout the Lease first, then the dry run, then the write. Rejects only for a bug. */
export async function actRollout(_write: RolloutWrite, _options: ActOptions): Promise<RolloutWritten> {
  throw new Error('not built');
}
