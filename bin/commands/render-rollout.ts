import type { ObservedMachine, ObservedRollout } from '../../lambdas/rollout/observed.ts';
import type { RolloutCheck, RolloutState, RolloutStep } from '../../lambdas/rollout/step.ts';
import { pasteable } from '../program.ts';
import { type NamedServer, serverWords } from '../target.ts';
import { bar } from '../terminal/bar.ts';
import { counted } from '../terminal/plural.ts';
import type { Style } from '../terminal/style.ts';
import { table } from '../terminal/table.ts';
import { hang } from '../terminal/wrap.ts';
import { dayOf, headline, moment, otherReasons, problemLines, reasonLines, safe } from './render-rollout-lines.ts';
import { afterField, goesOn, writeWords } from './rollout-words.ts';

export interface RolloutPlanView {
  readonly observed: ObservedRollout;
  /** What the schedule of a deployed certmarshal does next. */
  readonly schedule: RolloutStep;
  /** What `rollout start` would do. */
  readonly person: RolloutStep;
  readonly server?: NamedServer;
  /** How often a deployed certmarshal looks; absent without a fleet.yaml. */
  readonly everyMinutes?: number;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly program: string;
  readonly repeat: string;
  /** Every check that passed, too. */
  readonly verbose?: boolean;
}

/**
 * The plan of a rollout as people read it: the whole story, what is in the way, what would be written, when, and the next command.
 *
 * @param width columns of the terminal; undefined wraps nothing
 */
export function renderRolloutPlan(view: RolloutPlanView, style: Style, width: number | undefined): string {
  const { observed, schedule, server, program } = view;
  return [
    ...headline(observed.cluster.name, schedule, style, width),
    ...(server === undefined ? [] : hang('  ', style.faint(serverWords(server)), width)),
    ...block(checkLines(view, style, width)),
    ...block(reasonsOf(view, style, width)),
    ...block(problemLines(observed.unread, program, style, width)),
    ...block(intentions(view, style, width)),
    ...block(life(view, style, width)),
    ...block(next(view, style, width)),
  ].join('\n');
}

function block(lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : ['', ...lines];
}

function checkLines(view: RolloutPlanView, style: Style, width: number | undefined): string[] {
  const { schedule, person, program, verbose = false } = view;
  const checks = schedule.checks.length > 0 ? schedule.checks : person.checks;
  const failing = checks.filter(({ passed }) => !passed);
  const passed = checks.filter((check) => check.passed);
  const count = `${passed.length}${failing.length > 0 ? ' more passed' : ' passed'}`;
  return [
    ...failing
      .toSorted((a, b) => weight(a, person.checks) - weight(b, person.checks))
      .flatMap((check) => [
        ...hang(
          `  ${mark(check, person.checks, style)} `,
          `${safe(check.object ?? check.id)}: ${safe(check.found)}  ${style.faint(aside(check, person.checks))}`.trimEnd(),
          width,
        ),
        ...(check.remedy === undefined ? [] : hang('    → ', pasteable(safe(check.remedy), program), width)),
      ]),
    ...(passed.length === 0 || verbose ? [] : [`  ${style.good('✔')} ${count}; --verbose lists them`]),
    ...(verbose
      ? table(
          passed.map(({ id, found }) => [style.good('✔'), id, safe(found)]),
          { width, stackBelow: 60 },
        )
      : []),
  ];
}

function sameCheck(check: RolloutCheck, checks: readonly RolloutCheck[]): RolloutCheck | undefined {
  return checks.find(({ id, object }) => id === check.id && object === check.object);
}

function mark(check: RolloutCheck, person: readonly RolloutCheck[], style: Style): string {
  if (check.passing === true) return style.warn('◌');
  return sameCheck(check, person)?.waived === true ? style.warn('!') : style.bad('✖');
}

/** What nobody can waive comes first. */
function weight(check: RolloutCheck, person: readonly RolloutCheck[]): number {
  if (sameCheck(check, person)?.waived === true) return 2;
  return check.passing === true ? 1 : 0;
}

function aside(check: RolloutCheck, person: readonly RolloutCheck[]): string {
  const parts = [
    check.object === undefined ? undefined : check.id,
    check.passing === true ? 'passes by itself' : undefined,
    sameCheck(check, person)?.waived === true ? 'at rollout start you answer for it' : undefined,
  ].filter((part) => part !== undefined);
  return parts.length === 0 ? '' : `(${parts.join('; ')})`;
}

function reasonsOf(
  { observed, schedule, program }: RolloutPlanView,
  style: Style,
  width: number | undefined,
): string[] {
  // The checks say it already, where there are any.
  if (schedule.kind !== 'hold' && schedule.kind !== 'ask') return [];
  const known: ReadonlySet<string> = new Set(schedule.checks.filter(({ passed }) => !passed).map(({ id }) => id));
  return reasonLines(
    otherReasons(schedule.reasons, observed.unread).filter(({ id }) => !known.has(id)),
    program,
    style,
    width,
  );
}

/** What the schedule does, what a person could do, and what would be written. */
function intentions(view: RolloutPlanView, style: Style, width: number | undefined): string[] {
  const { schedule, person, observed, everyMinutes } = view;
  const fields = would(view);
  return [
    ...table(
      [
        [
          'schedule',
          everyMinutes === undefined
            ? `${scheduleWords(schedule)} (by the built-in times, as no --fleet is given)`
            : scheduleWords(schedule),
        ],
        ['by hand', personWords(person, observed)],
      ],
      { width, stackBelow: 60 },
    ),
    ...(fields === undefined ? [] : ['', ...hang('  ', `It would write one thing: ${fields}.`, width)]),
    ...(goesOn(schedule)
      ? []
      : hang('  ', style.faint('Workers are not rolled: kubelets renew their own certificates.'), width)),
  ];
}

function scheduleWords(step: RolloutStep): string {
  if (step.kind === 'act') return 'writes it with the next look';
  if (step.kind === 'ask') return `asks a person: ${safe(step.command)}`;
  return SCHEDULE[step.state] ?? 'does nothing until a person has looked';
}

const SCHEDULE: Readonly<Partial<Record<RolloutState, string>>> = {
  off: 'has nothing to do',
  idle: 'has nothing to do',
  waiting: 'waits; what is in the way passes by itself',
  rolling: 'watches the rollout that goes on',
  verifying: 'watches the rollout that goes on',
  done: 'is done',
};

function personWords(step: RolloutStep, observed: ObservedRollout): string {
  const waived = step.checks.filter((check) => !check.passed && check.waived === true);
  const failing = step.checks.filter((check) => !check.passed && check.waived !== true);
  if (step.kind === 'act') {
    const answers = waived.map(({ id }) => id).join(', ');
    return `rollout start --yes begins it now${answers === '' ? '' : `; you answer for: ${answers}`}`;
  }
  if (step.kind === 'ask') return `run ${safe(step.command)}`;
  if (goesOn(step)) return 'nothing to start: it goes on';
  if (step.state === 'expired') return 'refused: certificates have ended; see docs/runbooks/rollouts/not-expired.md';
  if (failing.length > 0) return `refused: ${failing.map(({ id }) => id).join(', ')}`;
  return observed.unread.length > 0
    ? 'refused: not everything could be read'
    : `nothing to start: ${safe(step.message)}`;
}

/** The exact write, by whoever may make it first. */
function would({ schedule, person, observed: { controlPlane, etcd } }: RolloutPlanView): string | undefined {
  const act = [schedule, person].find((step) => step.kind === 'act');
  if (act?.kind === 'act') {
    const { object, fields } = writeWords(act.write);
    return `${safe(object)} ${fields.map(safe).join(', ')}`;
  }
  if (goesOn(schedule) || ['done', 'held', 'expired'].includes(schedule.state)) return undefined;
  if (controlPlane === undefined || controlPlane.etcd === 'external' || etcd !== undefined) return undefined;
  return safe(`KubeadmControlPlane ${controlPlane.namespace}/${controlPlane.name} ${afterField(controlPlane)} = now`);
}

/** The life of the certificate that ends first, and in it the span in which the schedule may begin. */
function life(
  { observed: { machines }, schedule, now }: RolloutPlanView,
  style: Style,
  width: number | undefined,
): string[] {
  const shown = machines.flatMap(certificateOf).toSorted((a, b) => a.notAfter - b.notAfter);
  const [first] = shown;
  if (first === undefined) return [];
  const { from, notAfter } = first;
  const columns = Math.max(20, Math.min(60, (width ?? 100) - 30));
  const at = (time: number) =>
    Math.max(0, Math.min(columns, Math.round(((time - from) / (notAfter - from)) * columns)));
  const cells = Array.from(bar((now - from) / (notAfter - from), columns));
  const { span } = schedule;
  if (span !== undefined)
    for (let column = at(span.from); column < at(span.until); column += 1)
      if (cells[column] === '░') cells[column] = '▒';
  return [
    `  ${dayOf(from)} ${cells.join('')} ${dayOf(notAfter)}`,
    ...hang(
      '  ',
      style.faint(
        `█ lived  ░ left${span === undefined ? '' : '  ▒ the schedule may begin'} · ${counted(shown.length, 'certificate')} of the control plane seen; this one, of ${safe(first.name)}, ends first: ${moment(notAfter, now)}`,
      ),
      width,
    ),
  ];
}

function certificateOf({ name, createdAt, served }: ObservedMachine) {
  if (served.kind !== 'certificate' || served.notAfter <= served.notBefore) return [];
  // kubeadm dates a leaf back to the beginning of its authority: it lives since the machine does.
  const from = createdAt > served.notBefore && createdAt < served.notAfter ? createdAt : served.notBefore;
  return [{ name, from, notAfter: served.notAfter }];
}

function next(view: RolloutPlanView, style: Style, width: number | undefined): string[] {
  const { schedule, person, everyMinutes, now, program, repeat } = view;
  const { nextWindow } = schedule;
  const span = schedule.state === 'expired' ? undefined : schedule.span;
  const times = [
    everyMinutes === undefined || goesOn(schedule) ? undefined : `next look within ${everyMinutes} min`,
    nextWindow === undefined
      ? undefined
      : `window opens ${new Date(nextWindow).toISOString().slice(0, 16).replace('T', ' ')} UTC`,
    span === undefined ? undefined : `the schedule may begin from ${dayOf(span.from)}`,
    span === undefined ? undefined : `latest safe start ${span.until > now ? '' : 'was '}${moment(span.until, now)}`,
  ].filter((part) => part !== undefined);
  const text = times.join('; ');
  return [
    ...(text === '' ? [] : hang('  ', `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`, width)),
    `  ${style.strong('Next')}  ${schedule.kind === 'ask' ? safe(schedule.command) : `${program} rollout ${nextCommand(schedule, person)}${repeat}`}`,
  ];
}

function nextCommand(schedule: RolloutStep, person: RolloutStep): string {
  if (goesOn(schedule)) return 'status --watch';
  if (schedule.state === 'held') return 'resume';
  // Nobody is asked to begin what is not due.
  const isDue = schedule.checks.every(({ id, passed }) => id !== 'due' || passed);
  return person.kind === 'act' && isDue ? 'start --yes --watch' : 'plan --verbose';
}
