import { pauseOf } from '../../../lambdas/rollout/etcd-order.ts';
import { NO_HISTORY } from '../../../lambdas/rollout/history.ts';
import { EXIT } from '../../exit-codes.ts';
import { followRollout, type RolloutLook } from './follow.ts';
import type { RolloutCommand, RolloutPorts, RolloutSubject } from './ports.ts';
import { goesOn } from './words.ts';

const WATCH_EVERY_MS = 5_000;
const DRIVE_EVERY_MS = 15_000;

/**
 * Shows the status of a rollout, once or until it is over. Writes nothing: `done` is derived from what is observed.
 * Returns `done` also if no rollout is in progress, and `incomplete` if it is held or aborted, or something could not
 * be read.
 */
export const rolloutStatusCommand: RolloutCommand = (subject, options, signal, ports) =>
  followRollout(
    subject,
    (until) => read(subject, ports, until),
    { ...options, everyMs: options.watch === true ? WATCH_EVERY_MS : undefined },
    signal,
    ports,
  );

/**
 * Continues a rollout in progress as a deployed certmarshal does, until it is over: the next write, the Lease, a hold.
 * Never begins one. Returns the same as `rolloutStatusCommand`. Without `yes`, shows once what it would continue, and
 * returns `incomplete`.
 */
export const rolloutDriveCommand: RolloutCommand = async (subject, options, signal, ports) => {
  const { yes = false } = options;
  const unwritten: RolloutLook[] = [];
  const look = async (until: AbortSignal): Promise<RolloutLook> => {
    const seen = await read(subject, ports, until);
    // Without a rollout in progress, a step could begin one. After one, the step releases its Lease.
    const { state, mark } = seen.step;
    const ours = goesOn(seen.step) || state === 'done' || state === 'aborted';
    if (!ours || mark === undefined || until.aborted) return seen;
    if (!yes) {
      unwritten.push(seen);
      return seen;
    }
    const { target, policy, waivers } = subject;
    // Waivers count only for the user who gives them: before etcd begins, everything is checked again.
    const { paused } = seen.observed.controlPlane ?? {};
    const waits = seen.step.state === 'rolling' && paused === pauseOf(mark);
    const trigger = waits && mark.trigger === 'person' ? 'person' : 'schedule';
    return ports.step(target, { policy, waivers, trigger, clock: ports.clock, signal: until });
  };
  const everyMs = yes ? DRIVE_EVERY_MS : undefined;
  const status = await followRollout(subject, look, { ...options, everyMs }, signal, ports);
  if (unwritten.length === 0) return status;
  ports.stderr.write('Nothing was written: --yes continues it.\n');
  return EXIT.incomplete;
};

async function read(
  { target, policy }: RolloutSubject,
  { observe, plan, clock }: RolloutPorts,
  signal: AbortSignal,
): Promise<RolloutLook> {
  const observed = await observe(target, signal);
  return { observed, step: plan(observed, policy, NO_HISTORY, clock(), 'schedule'), problems: [] };
}
