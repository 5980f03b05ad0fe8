import { actRollout, type RolloutWritten } from '../../../lambdas/rollout/act.ts';
import { observeRollout } from '../../../lambdas/rollout/observe.ts';
import { planAbort, planResume, planRollout } from '../../../lambdas/rollout/plan.ts';
import type { RolloutPolicy, Waiver } from '../../../lambdas/rollout/policy.ts';
import { stepRollout } from '../../../lambdas/rollout/step-rollout.ts';
import { type Io, PROCESS } from '../../io.ts';
import type { OpenRolloutTarget } from './target.ts';

export interface RolloutSubject {
  readonly target: OpenRolloutTarget;
  /** Absent when fleet.yaml has no entry for the cluster. */
  readonly policy: RolloutPolicy | undefined;
  readonly waivers: readonly Waiver[];
  /** Interval of a deployed certmarshal. Minutes; absent without a fleet.yaml. */
  readonly everyMinutes?: number;
}

export interface RolloutOptions {
  readonly output: 'table' | 'json';
  /** The command that starts this program. */
  readonly program: string;
  /** The target options as text, for the next command. */
  readonly repeat: string;
  /** Also shows the checks that passed. */
  readonly verbose?: boolean;
  /** Nothing is written without it. */
  readonly yes?: boolean;
  /** Continues until the rollout is over. */
  readonly watch?: boolean;
}

/** @returns the exit status */
export type RolloutCommand = (
  subject: RolloutSubject,
  options: RolloutOptions,
  signal: AbortSignal,
  ports: RolloutPorts,
) => Promise<number>;

/** Dependencies of the commands; tests pass their own. */
export interface RolloutPorts extends Io {
  readonly observe: typeof observeRollout;
  readonly plan: typeof planRollout;
  readonly planAbort: typeof planAbort;
  readonly planResume: typeof planResume;
  readonly step: typeof stepRollout;
  readonly act: typeof actRollout;
}

export const ROLLOUT_PORTS: RolloutPorts = {
  ...PROCESS,
  observe: observeRollout,
  plan: planRollout,
  planAbort,
  planResume,
  step: stepRollout,
  act: actRollout,
};

/** Attempts if controllers overtake the write. */
const MAX_TRIES = 5;

/** Controllers write to the object, too: if they overtake us, observe and plan again. */
export async function untilNotOvertaken<T extends { readonly written?: RolloutWritten }>(
  once: () => Promise<T>,
): Promise<T> {
  let done = await once();
  for (let tries = 1; tries < MAX_TRIES && done.written?.kind === 'overtaken'; tries += 1) done = await once();
  return done;
}
