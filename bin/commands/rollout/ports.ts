import { setTimeout as delay } from 'node:timers/promises';
import { actRollout } from '../../../lambdas/rollout/act.ts';
import { observeRollout } from '../../../lambdas/rollout/observe.ts';
import { planAbort, planResume, planRollout } from '../../../lambdas/rollout/plan.ts';
import type { RolloutPolicy, Waiver } from '../../../lambdas/rollout/policy.ts';
import { stepRollout } from '../../../lambdas/rollout/step-rollout.ts';
import type { ProgressStream } from '../../terminal/progress.ts';
import type { OpenRolloutTarget } from './target.ts';

/** What every command about a rollout is about. */
export interface RolloutSubject {
  readonly target: OpenRolloutTarget;
  /** Absent when fleet.yaml has no entry for the cluster. */
  readonly policy: RolloutPolicy | undefined;
  /** What the person answers for by name. */
  readonly waivers: readonly Waiver[];
  /** How often a deployed certmarshal looks; absent without a fleet.yaml, when nobody knows of one. */
  readonly everyMinutes?: number;
}

export interface RolloutOptions {
  readonly output: 'table' | 'json';
  /** How the user starts this program. */
  readonly program: string;
  /** The options that say which cluster, for the commands it recommends. */
  readonly repeat: string;
}

/** What the commands do it with; tests have their own. */
export interface RolloutPorts {
  readonly stdout: ProgressStream;
  readonly stderr: ProgressStream;
  readonly env: NodeJS.ProcessEnv;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** Rejects when the signal aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly observe: typeof observeRollout;
  readonly plan: typeof planRollout;
  readonly planAbort: typeof planAbort;
  readonly planResume: typeof planResume;
  readonly step: typeof stepRollout;
  readonly act: typeof actRollout;
}

export function rolloutPorts(): RolloutPorts {
  return {
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    clock: Date.now,
    sleep: (ms, signal) => delay(ms, undefined, { signal }),
    observe: observeRollout,
    plan: planRollout,
    planAbort,
    planResume,
    step: stepRollout,
    act: actRollout,
  };
}
