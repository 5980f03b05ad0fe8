import { actRollout, type RolloutWritten } from '../../../lambdas/rollout/act.ts';
import { observeRollout } from '../../../lambdas/rollout/observe.ts';
import { planAbort, planResume, planRollout } from '../../../lambdas/rollout/plan.ts';
import type { RolloutPolicy, Waiver } from '../../../lambdas/rollout/policy.ts';
import { stepRollout } from '../../../lambdas/rollout/step-rollout.ts';
import { type Io, PROCESS } from '../../io.ts';
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
  /** The checks that passed, too. */
  readonly verbose?: boolean;
  /** Writes; without it nothing is written. */
  readonly yes?: boolean;
  /** Goes on until the rollout is over. */
  readonly watch?: boolean;
}

/** One of the commands. @returns the exit status */
export type RolloutCommand = (
  subject: RolloutSubject,
  options: RolloutOptions,
  signal: AbortSignal,
  ports: RolloutPorts,
) => Promise<number>;

/** What the commands do it with; tests have their own. */
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

/** A write that controllers overtake is planned anew, so often in all. */
const MAX_TRIES = 5;

/** Controllers write to the object too: what they overtook is looked at and planned anew. */
export async function untilNotOvertaken<T extends { readonly written?: RolloutWritten }>(
  once: () => Promise<T>,
): Promise<T> {
  let done = await once();
  for (let tries = 1; tries < MAX_TRIES && done.written?.kind === 'overtaken'; tries += 1) done = await once();
  return done;
}
