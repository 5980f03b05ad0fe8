import { actRollout, type RolloutWritten } from '../../../lambdas/rollout/act.ts';
import { NO_HISTORY } from '../../../lambdas/rollout/history.ts';
import { observeRollout } from '../../../lambdas/rollout/observe.ts';
import type { ObservedRollout } from '../../../lambdas/rollout/observed.ts';
import { planAbort, planRollout } from '../../../lambdas/rollout/plan.ts';
import type { RolloutPolicy, Waiver } from '../../../lambdas/rollout/policy.ts';
import { endsSettled } from '../../../lambdas/rollout/settled.ts';
import { stepRollout } from '../../../lambdas/rollout/step-rollout.ts';
import { EXIT } from '../../exit-codes.ts';
import { PROCESS, print, printJson } from '../../io.ts';
import { startProgress } from '../../terminal/progress.ts';
import type { OpenRolloutTarget } from './target.ts';
import { abortLines, goesOn, isBad, noSuchCluster, planLines, startLines, statusLines } from './view.ts';

export interface RolloutSubject {
  readonly target: OpenRolloutTarget;
  /** Absent when fleet.yaml has no entry for the cluster. */
  readonly policy: RolloutPolicy | undefined;
  readonly waivers: readonly Waiver[];
  /** A fleet.yaml is given. Without one, `policy` is the built-in one. */
  readonly ofFleet: boolean;
}

export interface RolloutOptions {
  readonly output: 'table' | 'json';
  /** The command that starts this program. */
  readonly program: string;
  /** The target options as text, for the next command. */
  readonly repeat: string;
  /** Shows every check, and what to do about those that fail. */
  readonly verbose?: boolean;
  /** Nothing is written without it. */
  readonly yes?: boolean;
}

export const ROLLOUT_PORTS = {
  ...PROCESS,
  observe: observeRollout,
  plan: planRollout,
  step: stepRollout,
  act: actRollout,
};
/** Dependencies of the commands; tests pass their own. */
export type RolloutPorts = typeof ROLLOUT_PORTS;

/** @returns the exit status */
export type RolloutCommand = (
  subject: RolloutSubject,
  options: RolloutOptions,
  signal: AbortSignal,
  ports: RolloutPorts,
) => Promise<number>;

/**
 * Shows the steps of the schedule and of `rollout start`. Returns `incomplete` if something could not be read, the
 * cluster does not exist, or the user interrupts.
 */
export const rolloutPlanCommand: RolloutCommand = async (subject, options, signal, ports) => {
  const planned = await planBoth(subject, ports, signal);
  showPlan(subject, planned, options, ports);
  return isComplete(planned.observed) && !signal.aborted ? EXIT.done : EXIT.incomplete;
};

/**
 * Shows the plan and, with `yes`, makes one write: it starts a rollout, or continues one with external etcd that a
 * person started. Returns `incomplete` if nothing was written.
 */
export const rolloutStartCommand: RolloutCommand = async (subject, options, signal, ports) => {
  const planned = await planBoth(subject, ports, signal);
  const { person } = planned;
  const { target } = subject;
  const { yes = false, output, program, repeat } = options;
  // Waivers count only for the person who gives them: a rollout of the schedule takes none from a person.
  const writes = person.kind === 'act' && (!goesOn(person) || person.mark?.trigger === 'person') && !signal.aborted;
  if (output === 'table' || !yes || !writes) showPlan(subject, planned, options, ports);
  if (!writes || !yes) {
    const { message } =
      noSuchCluster(planned.observed) ?? (goesOn(person) ? { message: 'a rollout is running' } : person);
    ports.stderr.write(
      `Nothing was written: ${writes ? `--yes does it. ${program} rollout start --yes${repeat}` : `${message}.`}\n`,
    );
    return EXIT.incomplete;
  }
  const { policy, waivers } = subject;
  const { server } = target;
  const asked = { policy, waivers, trigger: 'person', clock: ports.clock, signal } as const;
  const stepped = await untilNotOvertaken(() => ports.step(target, asked));
  const { observed, step, written, problems, at } = stepped;
  if (output === 'json')
    printJson(ports, { version: 1, kind: 'start', at, cluster: observed.cluster, step, written, problems });
  else print(ports, ['', startLines({ ...stepped, server }, options)]);
  return step.kind === 'act' && written?.kind === 'written' && problems.length === 0 ? EXIT.done : EXIT.incomplete;
};

/**
 * Shows the state of a rollout. Returns `done` also if none is in progress, and `incomplete` if a person must act, or
 * something could not be read.
 */
export const rolloutStatusCommand: RolloutCommand = async (subject, options, signal, ports) => {
  const observed = await observe(subject, ports, signal);
  const now = ports.clock();
  const step = ports.plan(observed, subject.policy, NO_HISTORY, now, 'schedule');
  if (options.output === 'json')
    printJson(ports, { ...documentOf('status', now, observed), step, unread: observed.unread });
  else print(ports, statusLines({ observed, step, now, program: options.program, server: subject.target.server }));
  return isComplete(observed) && !isBad(step) && !signal.aborted ? EXIT.done : EXIT.incomplete;
};

/** Stops a rollout, with one write and only with `yes`. Returns `incomplete` if nothing was written. */
export const rolloutAbortCommand: RolloutCommand = async (subject, options, signal, ports) => {
  const { target } = subject;
  const { clock } = ports;
  const { yes = false } = options;
  const aborted = await untilNotOvertaken(async () => {
    const observed = await observe(subject, ports, signal);
    const step = planAbort(observed, clock());
    if (step.kind !== 'act' || !yes || signal.aborted) return { observed, step, written: undefined };
    const { namespace } = observed.capiCluster ?? step.write.object;
    const cluster = `${namespace}/${observed.capiCluster?.name ?? observed.cluster.name}`;
    const { management } = target;
    const settled = endsSettled(step.write, observed);
    const context = { management, cluster, clock, signal, lease: observed.lease, settled };
    return { observed, step, written: await ports.act(step.write, context) };
  });
  const { observed, step, written } = aborted;
  if (options.output === 'json')
    printJson(ports, { ...documentOf('abort', clock(), observed), step, written, unread: observed.unread });
  else {
    print(ports, abortLines({ ...aborted, server: target.server }, options.program));
    if (step.kind === 'act' && written === undefined)
      ports.stderr.write(`Nothing was written${yes ? '' : ': --yes does it'}.\n`);
  }
  return written?.kind === 'written' ? EXIT.done : EXIT.incomplete;
};

export type PlannedRollout = Awaited<ReturnType<typeof planBoth>>;

/** One observation, and the steps of the schedule and of `rollout start`. The history of the fleet is unknown here. */
async function planBoth(subject: RolloutSubject, ports: RolloutPorts, signal: AbortSignal) {
  const { policy, waivers } = subject;
  const observed = await observe(subject, ports, signal);
  const now = ports.clock();
  const schedule = ports.plan(observed, policy, NO_HISTORY, now, 'schedule');
  const person = ports.plan(observed, policy, NO_HISTORY, now, 'person', waivers);
  return { observed, now, schedule, person };
}

async function observe({ target }: RolloutSubject, ports: RolloutPorts, signal: AbortSignal): Promise<ObservedRollout> {
  const progress = startProgress(ports.stderr, ports.clock);
  progress.say(`${target.name}: reading its control plane, and a handshake with each machine`);
  return ports.observe(target, signal).finally(() => progress.done());
}

function showPlan(
  { target: { server }, ofFleet }: RolloutSubject,
  planned: PlannedRollout,
  options: RolloutOptions,
  ports: RolloutPorts,
): void {
  const { observed, schedule, person, now } = planned;
  if (options.output === 'json')
    printJson(ports, { ...documentOf('plan', now, observed), schedule, person, unread: observed.unread });
  else print(ports, planLines({ ...planned, ...options, server, ofFleet }));
}

function documentOf(kind: string, at: number, { cluster }: ObservedRollout) {
  return { version: 1, kind, at: new Date(at).toISOString(), cluster };
}

function isComplete(observed: ObservedRollout): boolean {
  return observed.unread.length === 0 && noSuchCluster(observed) === undefined;
}

/** Attempts if controllers overtake the write. */
const MAX_TRIES = 5;

/** Controllers write to the object, too: if they overtake us, observe and plan again. */
async function untilNotOvertaken<T extends { readonly written?: RolloutWritten | undefined }>(
  once: () => Promise<T>,
): Promise<T> {
  let done = await once();
  for (let tries = 1; tries < MAX_TRIES && done.written?.kind === 'overtaken'; tries += 1) done = await once();
  return done;
}
