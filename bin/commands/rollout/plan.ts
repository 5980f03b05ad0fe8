import { NO_HISTORY } from '../../../lambdas/rollout/history.ts';
import type { ObservedRollout } from '../../../lambdas/rollout/observed.ts';
import type { RolloutStep } from '../../../lambdas/rollout/step.ts';
import { EXIT } from '../../exit-codes.ts';
import { print, printJson } from '../../io.ts';
import { during } from '../../terminal/progress.ts';
import { documentOf, noSuchCluster } from './lines.ts';
import { rolloutPlanLines } from './plan-view.ts';
import type { RolloutCommand, RolloutOptions, RolloutPorts, RolloutSubject } from './ports.ts';

/** One observation, and the steps for schedule and user. */
export interface LookedAt {
  readonly observed: ObservedRollout;
  readonly schedule: RolloutStep;
  readonly person: RolloutStep;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Reads everything and plans for schedule and user. Writes nothing. The fleet's history is unknown here. */
export async function lookAt(
  { target, policy, waivers }: RolloutSubject,
  ports: RolloutPorts,
  signal: AbortSignal,
): Promise<LookedAt> {
  const { observe, plan, clock } = ports;
  const reading = `${target.name}: reading its control plane, and a handshake with each machine`;
  const observed = await during(ports, reading, () => observe(target, signal));
  const now = clock();
  return {
    observed,
    now,
    schedule: plan(observed, policy, NO_HISTORY, now, 'schedule'),
    person: plan(observed, policy, NO_HISTORY, now, 'person', waivers),
  };
}

/**
 * Shows the steps of the schedule and of `rollout start`. Returns `incomplete` if something could not be read, the
 * cluster does not exist, or the user interrupts.
 */
export const rolloutPlanCommand: RolloutCommand = async (subject, options, signal, ports) => {
  const looked = await lookAt(subject, ports, signal);
  showPlan(subject, looked, options, ports);
  const { observed } = looked;
  const isSeen = observed.unread.length === 0 && noSuchCluster(observed) === undefined;
  return isSeen && !signal.aborted ? EXIT.done : EXIT.incomplete;
};

export function showPlan(
  { target: { server }, everyMinutes }: RolloutSubject,
  looked: LookedAt,
  options: RolloutOptions & { readonly following?: boolean },
  ports: RolloutPorts,
): void {
  const { observed, schedule, person, now } = looked;
  if (options.output === 'json')
    printJson(ports, { ...documentOf('plan', now, observed), schedule, person, unread: observed.unread });
  else print(ports, rolloutPlanLines({ ...looked, ...options, server, everyMinutes }));
}
