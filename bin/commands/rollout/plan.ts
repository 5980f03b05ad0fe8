import { NO_HISTORY } from '../../../lambdas/rollout/history.ts';
import type { ObservedRollout } from '../../../lambdas/rollout/observed.ts';
import type { RolloutStep } from '../../../lambdas/rollout/step.ts';
import { EXIT } from '../../exit-codes.ts';
import { startProgress } from '../../terminal/progress.ts';
import { styleFor } from '../../terminal/style.ts';
import { terminalWidth } from '../../terminal/wrap.ts';
import { noSuchCluster } from './lines.ts';
import { renderRolloutPlan } from './plan-view.ts';
import type { RolloutOptions, RolloutPorts, RolloutSubject } from './ports.ts';

/** One look, and what comes of it for whom. */
export interface LookedAt {
  readonly observed: ObservedRollout;
  readonly schedule: RolloutStep;
  readonly person: RolloutStep;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Reads everything and plans for both who can want a rollout. Writes nothing. What the fleet remembers is not known at a keyboard. */
export async function lookAt(
  { target, policy, waivers }: RolloutSubject,
  { observe, plan, clock, stderr }: RolloutPorts,
  signal: AbortSignal,
): Promise<LookedAt> {
  const progress = startProgress(stderr, clock);
  progress.say(`${target.name}: reading its control plane, and a handshake with each machine`);
  const observed = await observe(target, signal).finally(() => progress.done());
  const now = clock();
  return {
    observed,
    now,
    schedule: plan(observed, policy, NO_HISTORY, now, 'schedule'),
    person: plan(observed, policy, NO_HISTORY, now, 'person', waivers),
  };
}

/**
 * Shows what the schedule and what `rollout start` would do. Writes nothing.
 *
 * @returns the exit status: `incomplete` when something could not be read, or there is no such cluster
 */
export async function rolloutPlanCommand(
  subject: RolloutSubject,
  options: RolloutOptions & { readonly verbose?: boolean },
  signal: AbortSignal,
  ports: RolloutPorts,
): Promise<number> {
  const looked = await lookAt(subject, ports, signal);
  printPlan(subject, looked, options, ports);
  const { observed } = looked;
  const isSeen = observed.unread.length === 0 && noSuchCluster(observed) === undefined;
  return isSeen && !signal.aborted ? EXIT.done : EXIT.incomplete;
}

export function printPlan(
  { target, everyMinutes }: RolloutSubject,
  looked: LookedAt,
  options: RolloutOptions & { readonly verbose?: boolean; readonly following?: boolean },
  { stdout, env }: Pick<RolloutPorts, 'stdout' | 'env'>,
): void {
  const { observed, schedule, person, now } = looked;
  if (options.output === 'json') {
    const document = {
      version: 1,
      kind: 'plan',
      at: new Date(now).toISOString(),
      cluster: observed.cluster,
      schedule,
      person,
      unread: observed.unread,
    };
    stdout.write(`${JSON.stringify(document)}\n`);
    return;
  }
  const view = {
    ...looked,
    ...options,
    server: target.server,
    ...(everyMinutes === undefined ? {} : { everyMinutes }),
  };
  stdout.write(`${renderRolloutPlan(view, styleFor(stdout, env), terminalWidth(stdout))}\n`);
}
