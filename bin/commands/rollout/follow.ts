import type { Problem } from '../../../lambdas/contracts/problem.ts';
import type { RolloutWritten } from '../../../lambdas/rollout/act.ts';
import type { ObservedRollout } from '../../../lambdas/rollout/observed.ts';
import type { MachineProgress, RolloutProgress } from '../../../lambdas/rollout/progress.ts';
import type { RolloutStep } from '../../../lambdas/rollout/step.ts';
import { EXIT } from '../../exit-codes.ts';
import { print, printJson } from '../../io.ts';
import type { Lines } from '../../terminal/draw.ts';
import { faint } from '../../terminal/paint.ts';
import { during } from '../../terminal/progress.ts';
import { documentOf, noSuchCluster, problemsLines, safe, unwellWords } from './lines.ts';
import type { RolloutOptions, RolloutPorts, RolloutSubject } from './ports.ts';
import { MACHINE_STATES, rolloutStatusLines } from './status-view.ts';
import { goesOn, isBad, WRITTEN_WORDS, writeWords } from './words.ts';

export interface RolloutLook {
  readonly observed: ObservedRollout;
  readonly step: RolloutStep;
  readonly written?: RolloutWritten;
  readonly problems: readonly Problem[];
}

export interface FollowOptions extends RolloutOptions {
  /** Milliseconds between observations; absent for a single one. */
  readonly everyMs?: number | undefined;
}

/** A cluster that manages itself is unreachable for a while when its machines are replaced. */
const PATIENCE_MS = 10 * 60_000;

/**
 * Observes a rollout while it is in progress. Prints one line per change, and the full status at the beginning and the
 * end; JSON is one document per observation.
 *
 * @returns the exit status: `done` if it is done or none is in progress, else `incomplete`
 */
export async function followRollout(
  subject: RolloutSubject,
  look: (signal: AbortSignal) => Promise<RolloutLook>,
  options: FollowOptions,
  signal: AbortSignal,
  ports: RolloutPorts,
): Promise<number> {
  const { clock } = ports;
  const { everyMs, program } = options;
  const { name, server } = subject.target;
  let before: RolloutLook | undefined;
  let seenAt = clock();
  for (;;) {
    const going = before === undefined ? 'reading' : storyOf(before.step);
    const now = await during(ports, `${name}: ${going}`, () => look(signal));
    if (signal.aborted) return stopped(subject, before ?? now, options, ports);
    const { observed, step, written, problems } = now;
    const readable = observed.unread.length === 0;
    if (readable) seenAt = clock();
    // An unreadable rollout is not over.
    const waits = !readable && before !== undefined && goesOn(before.step) && clock() - seenAt < PATIENCE_MS;
    const ends = everyMs === undefined || (!goesOn(step) && !waits);
    if (options.output === 'json')
      printJson(ports, {
        ...documentOf('status', clock(), observed),
        step,
        written,
        problems,
        unread: observed.unread,
      });
    else if (before === undefined || ends) {
      const view = { ...now, ...options, server, now: clock(), nextMs: ends ? undefined : everyMs };
      print(ports, [writtenLines(now), rolloutStatusLines(view)]);
    } else {
      const news = changeLines(before, now, program, clock());
      if (news.length > 0) print(ports, news);
    }
    if (ends) {
      const isWell = readable && noSuchCluster(observed) === undefined && problems.length === 0;
      return isWell && !isBad(step) ? EXIT.done : EXIT.incomplete;
    }
    if (!waits) before = now;
    try {
      await ports.sleep(everyMs, signal);
    } catch {
      return stopped(subject, now, options, ports);
    }
  }
}

function stopped(
  { target }: RolloutSubject,
  { step }: RolloutLook,
  { program, repeat }: RolloutOptions,
  { stderr }: RolloutPorts,
): number {
  stderr.write(
    goesOn(step)
      ? `Stopped watching ${safe(target.name)}; its rollout continues, nothing was undone. ${program} rollout status --watch${repeat}\n`
      : `Stopped watching ${safe(target.name)}.\n`,
  );
  return EXIT.incomplete;
}

function storyOf({ state, progress }: RolloutStep): string {
  if (progress === undefined) return state;
  const { wanted, replaced, verified } = progress;
  return `${state}, ${replaced} of ${wanted} replaced, ${verified} verified`;
}

const keyOf = ({ object, message }: Problem) => `${object}\n${message}`;

function changeLines(before: RolloutLook, now: RolloutLook, program: string, at: number): readonly Lines[] {
  const time = faint(new Date(at).toISOString().slice(11, 19));
  const known = new Set([...before.observed.unread, ...before.problems].map(keyOf));
  const news = [...now.observed.unread, ...now.problems].filter((problem) => !known.has(keyOf(problem)));
  const { state, message, progress } = now.step;
  const changed = [
    ...(before.step.state === state ? [] : [`${before.step.state} → ${safe(message)}`]),
    ...changes(before.step.progress, progress),
    ...changes(before.step.progress?.etcd, progress?.etcd),
    ...writtenLines(now),
  ];
  return [...changed.map((line) => `${time}  ${line}`), ...problemsLines(news, program)];
}

function writtenLines({ step, written }: RolloutLook): readonly string[] {
  if (written === undefined) return [];
  const write = step.kind === 'act' || step.kind === 'hold' ? step.write : undefined;
  if (write === undefined) return [WRITTEN_WORDS[written.kind]];
  const { object, fields } = writeWords(write);
  return [`${safe(object)} ${fields.map(safe).join(', ')}: ${WRITTEN_WORDS[written.kind]}`];
}

type Machines = Omit<RolloutProgress, 'etcd'>;

/** One line for each machine that changed. */
function changes(before: Machines | undefined, now: Machines | undefined): readonly string[] {
  if (now === undefined) return [];
  const past = new Map((before?.machines ?? []).map((machine) => [machine.name, machine]));
  const there = new Set(now.machines.map(({ name }) => name));
  let verified = [...past.values()].filter(({ name, state }) => state === 'verified' && there.has(name)).length;
  const count = ({ name, state }: MachineProgress): string => {
    if (state !== 'verified' || past.get(name)?.state === 'verified') return '';
    verified += 1;
    return `, ${verified} of ${now.wanted}`;
  };
  return [
    ...now.machines.flatMap((machine) => {
      const line = changeOf(past.get(machine.name), machine);
      return line === undefined ? [] : [`${line}${count(machine)}`];
    }),
    ...[...past.keys()].filter((name) => !there.has(name)).map((name) => `· ${safe(name)} gone`),
  ];
}

function changeOf(
  before: MachineProgress | undefined,
  { name, node, state, unhealthy }: MachineProgress,
): string | undefined {
  const where = node === undefined || node === name ? '' : ` on ${safe(node)}`;
  const who = `${MACHINE_STATES[state]} ${safe(name)}${where}`;
  if (before === undefined) return `${who} ${state}`;
  if (before.state !== state) return `${who} ${before.state} → ${state}`;
  // The conditions of a machine change constantly while it is created or deleted.
  if (state === 'new' || state === 'leaving' || unhealthy.length > 0 === before.unhealthy.length > 0) return undefined;
  return `${who} ${unhealthy.length === 0 ? 'healthy again' : `not healthy: ${unwellWords(unhealthy)}`}`;
}
