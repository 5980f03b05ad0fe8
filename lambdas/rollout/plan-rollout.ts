import type { RolloutTrigger } from './annotations.ts';
import type { RolloutHistory } from './history.ts';
import type { ObservedRollout } from './observed.ts';
import type { RolloutPolicy } from './policy.ts';
import type { RolloutAct, RolloutHold, RolloutStep } from './step.ts';

/**
 * The next step of the rollout of one cluster: nothing, a hold with all its reasons, a command for a person, or one exact write. Pure: no I/O, no clock, and a
 * value for every input.
 *
 * @param policy undefined when fleet.yaml has no entry for the cluster
 * @param now milliseconds since the epoch
 */
export function planRollout(
  _observed: ObservedRollout,
  _policy: RolloutPolicy | undefined,
  _history: RolloutHistory,
  _now: number,
  _trigger: RolloutTrigger = 'schedule',
): RolloutStep {
  throw new Error('not built');
}

/** What `certmarshal rollout abort` writes, or why there is nothing to abort. Pure. */
export function planAbort(_observed: ObservedRollout, _now: number): RolloutAct | RolloutHold {
  throw new Error('not built');
}

/** What `certmarshal rollout resume` writes, or why there is nothing to resume. Pure. */
export function planResume(_observed: ObservedRollout, _now: number): RolloutAct | RolloutHold {
  throw new Error('not built');
}
