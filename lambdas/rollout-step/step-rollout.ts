import type { Problem } from '../problem.ts';
import type { RolloutTrigger } from '../rollout/annotations.ts';
import type { RolloutHistory } from '../rollout/history.ts';
import type { ObservedRollout } from '../rollout/observed.ts';
import type { RolloutPolicy } from '../rollout/policy.ts';
import type { RolloutStep } from '../rollout/step.ts';
import type { RolloutWritten } from './act-rollout.ts';
import type { RolloutTarget } from './observe-rollout.ts';

/** What the fleet remembers of rollouts, so that it never begins too many. Where certmarshal is not deployed there is none. */
export interface RolloutLedger {
  /** @throws AwsError */
  read(signal: AbortSignal): Promise<RolloutHistory>;
  /**
   * Writes down that a rollout begins, before it does. False when somebody else wrote meanwhile: then nothing begins, and the next look plans anew.
   *
   * @throws AwsError
   */
  claim(
    rollout: { readonly id: string; readonly cluster: string; readonly trigger: RolloutTrigger; readonly at: number },
    signal: AbortSignal,
  ): Promise<boolean>;
  /** Writes down that it ended. Safe to repeat. @throws AwsError */
  end(
    rollout: { readonly id: string; readonly cluster: string; readonly at: number },
    signal: AbortSignal,
  ): Promise<void>;
}

export interface StepOptions {
  readonly policy: RolloutPolicy | undefined;
  readonly trigger: RolloutTrigger;
  readonly ledger?: RolloutLedger;
  /** Plan, and write nothing; why. */
  readonly holdWrites?: string;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  readonly signal: AbortSignal;
}

/** What one look at the rollout of a cluster came to. */
export interface RolloutStepped {
  readonly observed: ObservedRollout;
  readonly step: RolloutStep;
  /** Absent when there was nothing to write, or writes are held. */
  readonly written?: RolloutWritten;
  /** What is wrong, for people: a refused write, a ledger that cannot be read, a write that was held back. */
  readonly problems: readonly Problem[];
  /** RFC 3339. */
  readonly at: string;
}

/**
 * One look at the rollout of one cluster: observe, plan, write one thing at most, report. Safe to repeat, to interrupt and to run twice at once. Rejects only for a bug.
 */
export async function stepRollout(_target: RolloutTarget, _options: StepOptions): Promise<RolloutStepped> {
  throw new Error('not built');
}
