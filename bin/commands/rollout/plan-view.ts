import { pasteable } from '../../../lambdas/command.ts';
import { ROLLOUT_ANNOTATION } from '../../../lambdas/resources/annotations.ts';
import { onPort, serversOf } from '../../../lambdas/rollout/checks/verdict.ts';
import type { ObservedMachine, ObservedRollout } from '../../../lambdas/rollout/observed.ts';
import type { RolloutCheck, RolloutStep } from '../../../lambdas/rollout/step.ts';
import type { RolloutState } from '../../../lambdas/tables/rollout-states.ts';
import { counted } from '../../../lambdas/words.ts';
import type { NamedServer } from '../../target.ts';
import { bar } from '../../terminal/bar.ts';
import { block, hang, type Lines, table } from '../../terminal/draw.ts';
import { bad, faint, good, warn } from '../../terminal/paint.ts';
import { nextLine, serverLine } from '../../terminal/phrases.ts';
import { dayOf, joined, sentence } from '../../terminal/words.ts';
import {
  about,
  headline,
  moment,
  noSuchCluster,
  otherReasons,
  problemsLines,
  reasonLines,
  runbook,
  safe,
  writeLines,
} from './lines.ts';
import { afterField, goesOn } from './words.ts';

export interface RolloutPlanView {
  readonly observed: ObservedRollout;
  /** The next step of a deployed certmarshal. */
  readonly schedule: RolloutStep;
  /** The step of `rollout start`. */
  readonly person: RolloutStep;
  readonly server?: NamedServer;
  /** Interval of a deployed certmarshal; absent without a fleet.yaml. */
  readonly everyMinutes?: number;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly program: string;
  readonly repeat: string;
  /** Also shows the checks that passed. */
  readonly verbose?: boolean;
  /** The rollout begins right after, so no command is shown. */
  readonly following?: boolean;
}

/** The plan of a rollout for people: a summary, the obstacles, what would be written, when, and the next command. */
export function rolloutPlanLines(view: RolloutPlanView): Lines {
  const { observed, server, program } = view;
  const missing = noSuchCluster(observed);
  const head = [headline(observed.cluster.name, missing ?? storyOf(view)), serverLine(server)];
  if (missing !== undefined) return head;
  return [
    head,
    block(checkLines(view)),
    block(reasonsOf(view)),
    block(problemsLines(observed.unread, program)),
    block(intentions(view)),
    block(life(view)),
    block(nextLines(view)),
  ];
}

/**
 * Without a fleet.yaml the schedule is unknown, and `off` says nothing: the summary is then whether a rollout is due,
 * and what the user may do.
 */
function storyOf({ schedule, person, everyMinutes }: RolloutPlanView): Pick<RolloutStep, 'state' | 'message'> {
  const due = schedule.checks.find(({ id }) => id === 'due');
  if (everyMinutes !== undefined || schedule.state !== 'off' || due === undefined) return schedule;
  return isDue(schedule) ? person : { state: 'idle', message: `nothing is due: ${due.found}` };
}

/** Also true if it is unknown: only a check that passes with time says that nothing is due. */
function isDue({ checks }: RolloutStep): boolean {
  return checks.every(({ id, passed, passing }) => id !== 'due' || passed || passing !== true);
}

function checkLines(view: RolloutPlanView): Lines {
  const { schedule, person, program, everyMinutes, verbose = false } = view;
  const checks = schedule.checks.length > 0 ? schedule.checks : person.checks;
  const isWaived = (check: RolloutCheck): boolean => sameCheck(check, person.checks)?.waived === true;
  // Until a rollout is due, checks that the user could waive do not matter.
  const later =
    verbose || isDue(schedule) ? [] : checks.filter((check) => !check.passed && check.id !== 'due' && isWaived(check));
  const failing = checks.filter((check) => (!check.passed || check.warning) && !later.includes(check));
  const passed = checks.filter((check) => check.passed && !check.warning);
  const unknown = (id: string): string | undefined =>
    NOT_KNOWN_HERE[id] ?? (everyMinutes === undefined ? WITHOUT_FLEET[id] : undefined);
  const unknowns = passed.filter(({ id }) => unknown(id) !== undefined).map(({ id }) => id);
  const more = failing.length + later.length > 0 ? ' more passed' : ' passed';
  return [
    failing
      .toSorted((a, b) => weight(a, isWaived(a)) - weight(b, isWaived(b)))
      .map((check) => [
        hang(`  ${mark(check, isWaived(check))} `, checkWords(check, isWaived(check))),
        check.remedy !== undefined && hang('    → ', pasteable(safe(check.remedy), program)),
      ]),
    later.length > 0 &&
      hang(`  ${faint('·')} `, `for you to answer when it is due: ${later.map(({ id }) => id).join(', ')}`),
    passed.length > 0 &&
      !verbose && [
        unknowns.length > 0 &&
          hang(`  ${faint('·')} `, `not known here, ${unknowns.length} in all: ${unknowns.join(', ')}`),
        `  ${good('✔')} ${passed.length - unknowns.length}${more}; --verbose lists them`,
      ],
    verbose &&
      table(
        passed.map(({ id, found }) => {
          const why = unknown(id);
          return [why === undefined ? good('✔') : faint('·'), id, why ?? safe(found)];
        }),
        60,
      ),
  ];
}

/** Checks that pass here only because their data is in the state of a deployed certmarshal. */
const NOT_KNOWN_HERE: Readonly<Record<string, string>> = {
  'loop-guard': 'not read: what the schedule did before is in the state bucket of a deployed certmarshal',
  'fleet-budget': 'not read: what else rolls is in the state bucket of a deployed certmarshal',
};
const WITHOUT_FLEET: Readonly<Record<string, string>> = {
  'opted-in-by-fleet': 'not checked: no --fleet is given',
  'maintenance-window': 'not checked: no --fleet is given',
};

function sameCheck(check: RolloutCheck, checks: readonly RolloutCheck[]): RolloutCheck | undefined {
  return checks.find(({ id, object }) => id === check.id && object === check.object);
}

function mark({ passing, warning }: RolloutCheck, isWaived: boolean): string {
  if (passing === true) return warn('◌');
  return isWaived || warning ? warn('!') : bad('✖');
}

/** Checks that cannot be waived come first, then those that pass with time. */
function weight({ passing, warning }: RolloutCheck, isWaived: boolean): number {
  return isWaived || warning ? 2 : Number(passing === true);
}

function checkWords({ id, object, found, passing }: RolloutCheck, isWaived: boolean): string {
  const aside = joined(
    [
      object !== undefined && id,
      passing === true && 'passes without you',
      isWaived && 'at rollout start you answer for it',
    ],
    '; ',
  );
  return `${about(object ?? id, found)}${aside === '' ? '' : `  ${faint(`(${aside})`)}`}`.trimEnd();
}

function reasonsOf({ observed, schedule, program }: RolloutPlanView): Lines {
  if (schedule.kind !== 'hold' && schedule.kind !== 'ask') return [];
  // Failed checks already say it.
  const known: ReadonlySet<string> = new Set(schedule.checks.filter(({ passed }) => !passed).map(({ id }) => id));
  const others = otherReasons(schedule.reasons, observed.unread).filter(({ id }) => !known.has(id));
  return reasonLines(others, program);
}

/** What the schedule does, what the user could do, and what would be written. */
function intentions(view: RolloutPlanView): Lines {
  const { schedule, person, observed, program, everyMinutes } = view;
  const before = observed.controlPlane?.rolloutBeforeDays;
  const without = everyMinutes === undefined ? ' (no --fleet is given: the built-in times)' : '';
  return [
    table(
      [
        ['schedule', `${scheduleWords(schedule)}${without}`],
        ['by hand', personWords(person, observed, program)],
      ],
      60,
    ),
    block(would(view)),
    before !== undefined &&
      hang('  ', faint(`Cluster API rolls it too, ${before} days before its API servers expire (rollout.before).`)),
    !goesOn(schedule) && hang('  ', faint('Workers are not rolled: kubelets renew their own certificates.')),
  ];
}

function scheduleWords(step: RolloutStep): string {
  if (step.kind === 'act') return 'writes it at the next look';
  if (step.kind === 'ask') return `asks a person: ${safe(step.command)}`;
  if (
    step.state === 'off' &&
    step.checks.some(({ id, passed }) => !passed && (id === 'opted-in-by-fleet' || id === 'opted-in-by-owner'))
  )
    return 'leaves it alone: not opted in';
  return SCHEDULE[step.state] ?? 'does nothing until a person has checked';
}

const SCHEDULE: Readonly<Partial<Record<RolloutState, string>>> = {
  off: 'has nothing to do',
  idle: 'has nothing to do',
  waiting: 'waits; what blocks it passes without you',
  rolling: 'watches the running rollout',
  verifying: 'watches the running rollout',
  done: 'is done',
  aborted: 'leaves it alone for a week: it was aborted',
};

function personWords(step: RolloutStep, observed: ObservedRollout, program: string): string {
  const waived = step.checks.filter((check) => !check.passed && check.waived === true);
  const failing = step.checks.filter((check) => !check.passed && check.waived !== true);
  if (step.kind === 'act') {
    const answers = waived.map(({ id }) => id).join(', ');
    return `rollout start --yes starts it now${answers === '' ? '' : `; you answer for: ${answers}`}`;
  }
  if (step.kind === 'ask') return `run ${safe(step.command)}`;
  if (goesOn(step)) return 'nothing to start: it is running';
  if (step.state === 'expired') return `refused: certificates have expired; see ${runbook('recovery', program)}`;
  const refused = failing.filter(({ passing }) => passing !== true);
  if (refused.length > 0) return `refused: ${refused.map(({ id }) => id).join(', ')}`;
  if (failing.length > 0) return `not yet, and that passes without you: ${failing.map(({ id }) => id).join(', ')}`;
  return observed.unread.length > 0
    ? 'refused: not everything could be read'
    : `nothing to start: ${safe(step.message)}`;
}

/** The exact write of the schedule, else of the user. */
function would({ schedule, person, observed: { controlPlane, etcd } }: RolloutPlanView): Lines {
  const act = [schedule, person].find((step) => step.kind === 'act');
  if (act?.kind === 'act') return writeLines('It would write, in one patch of', act.write);
  if (goesOn(schedule) || ['done', 'idle', 'aborted', 'held'].includes(schedule.state)) return [];
  if (person.state === 'expired') return [];
  if (controlPlane === undefined || controlPlane.etcd === 'external' || etcd !== undefined) return [];
  const object = `KubeadmControlPlane ${controlPlane.namespace}/${controlPlane.name}`;
  return [
    hang('  ', safe(`It would write, in one patch of ${object}:`)),
    `    ${afterField(controlPlane)} = now`,
    `    annotation ${ROLLOUT_ANNOTATION} = its id, start and reason`,
  ];
}

/** The lifetime of the certificate that expires first, with the span in which the schedule may begin. */
function life({ observed: { machines, etcd, apiServer }, schedule: { span }, now }: RolloutPlanView): Lines {
  const ofMachines = [...machines, ...(etcd?.machines ?? [])].flatMap(certificatesOf);
  const shown = ofMachines
    .concat(apiServer === undefined ? [] : { ...apiServer, name: 'the API server', from: apiServer.notBefore })
    .toSorted((a, b) => a.notAfter - b.notAfter);
  const [first] = shown;
  if (first === undefined) return [];
  const { from, notAfter } = first;
  const which =
    shown.length === 1 ? 'is the only one seen' : `expires first of ${counted(shown.length, 'certificate')} seen`;
  const legend = `█ used  ░ left${span === undefined ? '' : '  ▒ time to start'}`;
  return [
    (width) => {
      const columns = Math.max(20, Math.min(60, (width ?? 100) - 30));
      const at = (time: number) =>
        Math.max(0, Math.min(columns, Math.round(((time - from) / (notAfter - from)) * columns)));
      const cells = Array.from(bar((now - from) / (notAfter - from), columns));
      if (span !== undefined)
        for (let column = at(span.from); column < at(span.until); column += 1)
          if (cells[column] === '░') cells[column] = '▒';
      return `  ${dayOf(from)} ${cells.join('')} ${dayOf(notAfter)}`;
    },
    hang('  ', faint(`${legend}  · that of ${safe(first.name)} ${which}`)),
  ];
}

function certificatesOf(machine: ObservedMachine) {
  const { name, createdAt } = machine;
  return serversOf(machine).flatMap(({ port, served }) => {
    if (served.kind !== 'certificate' || served.notAfter <= served.notBefore) return [];
    // kubeadm backdates a leaf to the start of its CA, so its life starts when the machine is created.
    const from = createdAt > served.notBefore && createdAt < served.notAfter ? createdAt : served.notBefore;
    return [{ name: `${name}${onPort(port)}`, from, notAfter: served.notAfter }];
  });
}

function nextLines(view: RolloutPlanView): Lines {
  const { schedule, person, everyMinutes, now } = view;
  const { nextWindow, soonestEnd } = schedule;
  const span = person.state === 'expired' ? undefined : schedule.span;
  const times = joined(
    [
      soonestEnd !== undefined && `first certificate expires ${moment(soonestEnd, now)}`,
      span && `due ${span.from > now ? 'from' : 'since'} ${moment(span.from, now)}`,
      span && `latest safe start ${span.until > now ? '' : 'was '}${moment(span.until, now)}`,
      nextWindow !== undefined &&
        `window opens ${new Date(nextWindow).toISOString().slice(0, 16).replace('T', ' ')} UTC`,
      everyMinutes !== undefined && !goesOn(schedule) && `next look within ${everyMinutes} min`,
    ],
    '; ',
  );
  const command = nextCommand(view);
  return [times !== '' && hang('  ', `${sentence(times)}.`), command !== undefined && nextLine(...command)];
}

const FIXED = ', after you have fixed what is above';

function nextCommand({
  observed,
  schedule,
  person,
  program,
  repeat,
  following,
}: RolloutPlanView): readonly [command: string, note?: string] | undefined {
  if (following === true) return undefined;
  if (schedule.kind === 'ask') return [safe(schedule.command)];
  const run = (command: string): string => `${program} rollout ${command}${repeat}`;
  if (goesOn(schedule)) return [run('status --watch')];
  if (schedule.state === 'held') return [run('resume'), FIXED];
  // Do not suggest a rollout that is not due.
  if (!isDue(schedule)) return ['nothing to do', `; ${program} audit shows every certificate`];
  if (person.kind === 'act') return [run('start --yes --watch')];
  if (person.kind === 'hold') {
    if (person.state === 'expired') return [runbook('recovery', program)];
    const inTheWay = person.checks.filter(({ passed, waived }) => !passed && waived !== true);
    if (inTheWay.length === 1 && inTheWay[0]?.id === 'single-replica' && observed.unread.length === 0)
      return [`${program} runbook renew-in-place`];
    return [run('plan'), `${FIXED}; without a rollout: ${program} runbook renew-in-place`];
  }
  return observed.unread.length > 0 ? [run('plan'), FIXED] : [run('plan')];
}
