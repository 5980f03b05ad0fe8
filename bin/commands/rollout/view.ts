import { pasteable } from '../../../lambdas/command.ts';
import type { Problem } from '../../../lambdas/contracts/problem.ts';
import type { HoldReason } from '../../../lambdas/contracts/rollout-summary.ts';
import { printable } from '../../../lambdas/printable.ts';
import { isJsonObject } from '../../../lambdas/resources/fields.ts';
import { isBegin, type RolloutWritten } from '../../../lambdas/rollout/act.ts';
import { onPort, serversOf } from '../../../lambdas/rollout/checks/verdict.ts';
import type { ObservedMachine, ObservedRollout } from '../../../lambdas/rollout/observed.ts';
import type { MachineProgress, RolloutProgress } from '../../../lambdas/rollout/progress.ts';
import { patchOf } from '../../../lambdas/rollout/rollout-patch.ts';
import type {
  RolloutAct,
  RolloutCheck,
  RolloutHold,
  RolloutStep,
  RolloutWrite,
} from '../../../lambdas/rollout/step.ts';
import type { RolloutStepped } from '../../../lambdas/rollout/step-rollout.ts';
import type { RolloutState } from '../../../lambdas/tables/rollout-states.ts';
import type { NamedServer } from '../../target.ts';
import { block, type Lines, table } from '../../terminal/draw.ts';
import { bad, faint, good, type Paint, strong, warn } from '../../terminal/paint.ts';
import { MARKS, problemLines, serverLine } from '../../terminal/phrases.ts';
import { dayOf, joined, sentence, span } from '../../terminal/words.ts';
import type { PlannedRollout, RolloutOptions } from './commands.ts';

type Verdict = Pick<RolloutStep, 'state' | 'message'>;

interface Shown {
  readonly observed: Pick<ObservedRollout, 'cluster' | 'capiCluster' | 'unread'>;
  readonly server: NamedServer;
}

type PlanView = PlannedRollout & Shown & Pick<RolloutOptions, 'program' | 'verbose'> & { readonly ofFleet: boolean };

/** The verdict, the checks that fail, what would be written, and the machines. */
export function planLines(view: PlanView): Lines {
  const { observed, schedule, person, program, now } = view;
  const missing = noSuchCluster(observed);
  if (missing !== undefined) return headline(view, missing);
  const act = [schedule, person].find((step) => step.kind === 'act');
  return [
    headline(view, verdictOf(view)),
    block(checkLines(view)),
    block(troubleLines(reasonsOf(schedule, observed), observed.unread, program)),
    block(
      act?.kind === 'act' &&
        `  ${act === schedule ? 'The schedule' : 'rollout start --yes'} would write ${writeWords(act.write)}`,
      timesOf(view),
    ),
    block(machineTable([...observed.machines, ...(observed.etcd?.machines ?? [])], now)),
  ];
}

/** Without a fleet.yaml the schedule does nothing, so the verdict is about what the user may do. */
function verdictOf({ schedule, person, ofFleet, program }: PlanView): Verdict {
  const due = schedule.checks.find(({ id }) => id === 'due');
  if (due !== undefined && !isDue(schedule) && !ofFleet && schedule.state === 'off')
    return { state: 'idle', message: `nothing is due: ${due.found}` };
  const { state, message } = ofFleet || schedule.state !== 'off' || due === undefined ? schedule : person;
  const inTheWay = person.checks.filter(({ passed, waived }) => !passed && waived !== true);
  const isSingle = inTheWay.length === 1 && inTheWay[0]?.id === 'single-replica';
  const way = person.state === 'expired' ? 'recovery' : isSingle && isDue(schedule) ? 'renew-in-place' : undefined;
  return { state, message: way === undefined ? message : `${message}. Way out: ${program} runbook ${way}` };
}

/** Also true if it is unknown: only a check that passes with time says that nothing is due. */
function isDue({ checks }: RolloutStep): boolean {
  return checks.every(({ id, passed, passing }) => id !== 'due' || passed || passing !== true);
}

function checkLines({ schedule, person, program, ofFleet, verbose = false }: PlanView): Lines {
  const checks = schedule.checks.length > 0 ? schedule.checks : person.checks;
  const isWaived = ({ id, object }: RolloutCheck): boolean =>
    person.checks.some((check) => check.id === id && check.object === object && check.waived === true);
  const isUnknown = ({ id, passed }: RolloutCheck): boolean =>
    passed && (OF_THE_HUB.has(id) || (!ofFleet && OF_THE_FLEET.has(id)));
  const rank = (check: RolloutCheck): number => (check.passing ? 1 : isWaived(check) || check.warning ? 2 : 0);
  const failing = checks.filter(({ passed, warning }) => !passed || warning).toSorted((a, b) => rank(a) - rank(b));
  // Until a rollout is due, no one has to answer for anything.
  const later = isDue(schedule) ? [] : failing.filter((check) => check.id !== 'due' && isWaived(check));
  const unknown = checks.filter(isUnknown);
  const passed = checks.filter((check) => !failing.includes(check) && !unknown.includes(check));
  const rowOf = (check: RolloutCheck): readonly string[][] => {
    const [word, paint] = isUnknown(check) ? ['·', faint] : wordOf(check, isWaived(check));
    const { id, object, found, remedy } = check;
    const row = [paint(word), id, isUnknown(check) ? 'not read here' : about(object, found)];
    return verbose && remedy !== undefined ? [row, ['', '', `→ ${pasteable(safe(remedy), program)}`]] : [row];
  };
  const visible = verbose ? [...failing, ...unknown, ...passed] : failing.filter((check) => !later.includes(check));
  const counts = joined([
    `${passed.length} checks passed`,
    unknown.length > 0 && `${unknown.length} not read here`,
    later.length > 0 && `${later.length} for you to accept when it is due`,
  ]);
  return [
    visible.length > 0 && table(visible.flatMap(rowOf)),
    checks.length > 0 && `  ${counts}${verbose ? '' : '; --verbose lists them, and what to do'}`,
  ];
}

/** Checks that pass here because their data is in the state of a hub, or in a fleet.yaml. */
const OF_THE_HUB: ReadonlySet<string> = new Set(['loop-guard', 'fleet-budget']);
const OF_THE_FLEET: ReadonlySet<string> = new Set(['opted-in-by-fleet', 'maintenance-window']);

/** `accept`: `rollout start --yes` starts anyway. */
function wordOf({ passed, passing, warning }: RolloutCheck, isWaived: boolean): readonly [string, Paint] {
  if (passed) return warning === true ? ['! look', warn] : ['✔', good];
  if (passing === true) return ['◌ waits', warn];
  return isWaived ? ['! accept', warn] : ['✖ fails', bad];
}

/** Those that no failed check and no problem says. */
function reasonsOf(step: RolloutStep, { unread }: Pick<ObservedRollout, 'unread'>): readonly HoldReason[] {
  if (step.kind !== 'hold' && step.kind !== 'ask') return [];
  return step.reasons.filter(
    ({ id }) =>
      !step.checks.some((check) => check.id === id && !check.passed) &&
      (unread.length === 0 || id !== 'everything-read'),
  );
}

function timesOf({ observed: { controlPlane }, schedule, person, now }: PlanView): Lines {
  const days = controlPlane?.rolloutBeforeDays;
  const { nextWindow, soonestEnd } = schedule;
  const begin = person.state === 'expired' ? undefined : schedule.span;
  const times = joined(
    [
      soonestEnd !== undefined && `first certificate expires ${moment(soonestEnd, now)}`,
      begin && `due ${begin.from > now ? 'from' : 'since'} ${moment(begin.from, now)}`,
      begin && `latest safe start ${begin.until > now ? '' : 'was '}${moment(begin.until, now)}`,
      nextWindow !== undefined &&
        `window opens ${new Date(nextWindow).toISOString().slice(0, 16).replace('T', ' ')} UTC`,
      days !== undefined && `Cluster API rolls it ${days} days before its API servers expire (rollout.before)`,
      schedule.kind === 'ask' && `a person runs ${safe(schedule.command)}`,
    ],
    '; ',
  );
  return times !== '' && `  ${sentence(times)}`;
}

function machineTable(machines: readonly ObservedMachine[], now: number): Lines {
  if (machines.length === 0) return [];
  const rows = machines.map((machine) => {
    const { name, node, deleting, unhealthy } = machine;
    return [safe(name), nodeWords(node), ...expiryCells(machine, now), deleting ? 'leaving' : unwell(unhealthy)];
  });
  return table([['MACHINE', 'NODE', 'EXPIRES', 'LEFT', 'CONDITION'].map(faint), ...rows]);
}

/** The earliest end of its certificates, unless one of them was not seen. */
function expiryCells(machine: ObservedMachine, now: number): readonly [expires: string, left: string] {
  const servers = serversOf(machine);
  const [blind] = servers.filter(({ served }) => served.kind !== 'certificate');
  const ends = servers.flatMap(({ served }) => (served.kind === 'certificate' ? [served.notAfter] : []));
  const end = Math.min(...ends);
  const left = end > now ? span(end - now) : `${span(now - end)} ago`;
  if (blind === undefined) return [dayOf(end), left];
  return ends.length === 0 ? ['not seen', ''] : [`${dayOf(end)}, not seen${onPort(blind.port)}`, left];
}

/** What `rollout start` wrote, and what happens next. */
export function startLines(
  { step, written, problems, ...shown }: Shown & Pick<RolloutStepped, 'step' | 'written' | 'problems'>,
  { program, repeat }: Pick<RolloutOptions, 'program' | 'repeat'>,
): Lines {
  if (step.kind !== 'act' || written?.kind !== 'written') {
    const changed = written?.kind === 'written' ? step.message : `nothing was written, it has changed: ${step.message}`;
    const message = step.kind !== 'act' || written === undefined ? changed : WRITTEN_WORDS[written.kind];
    const reasons = step.kind === 'hold' || step.kind === 'ask' ? step.reasons : [];
    return [headline(shown, { state: 'refused', message }), troubleLines(reasons, problems, program)];
  }
  const { write, mark, checks } = step;
  const accepted = checks.filter((check) => !check.passed && check.waived === true);
  const ofEtcd = write.kind === 'pause-control-plane' || write.kind === 'roll-etcd';
  const next = ofEtcd
    ? `Etcd comes first: ${program} rollout start --yes${repeat} makes each further write, when the one before is done`
    : 'Cluster API now replaces one machine after the other';
  return [
    headline(shown, {
      state: 'done',
      message: `rollout ${mark?.id ?? ''} ${isBegin(write) ? 'started' : 'continues'}`,
    }),
    `  Wrote ${writeWords(write)}`,
    accepted.length > 0 && `  You accepted ${accepted.map(({ id, found }) => `${id} (${safe(found)})`).join(', ')}`,
    troubleLines([], problems, program),
    `  ${next}.`,
    `  A hub, or ${program} run --every 1m --yes, holds it when something is wrong, and returns its Lease at the end.`,
    `  Progress: ${program} rollout status${repeat}`,
  ];
}

/** The state since when, the machines, and what is held and why. */
export function statusLines(view: Shown & { step: RolloutStep; now: number; program: string }): Lines {
  const { observed, step, now, program } = view;
  const { progress, mark } = step;
  const moved = progress === undefined ? '' : `; last change ${span(now - progress.movedAt)} ago`;
  const by = mark?.trigger === 'person' ? 'a person' : 'the schedule';
  return [
    headline(view, noSuchCluster(observed) ?? step),
    mark && `  ${safe(`${mark.id}, started ${mark.start} by ${by}${moved}`)}`,
    progress && block(progressTable('control plane', progress, now)),
    progress?.etcd && block(progressTable('etcd', progress.etcd, now)),
    block(
      troubleLines(reasonsOf({ ...step, checks: [] }, observed), observed.unread, program),
      step.kind === 'ask' && `  A person runs ${safe(step.command)}`,
    ),
  ];
}

function progressTable(title: string, progress: Omit<RolloutProgress, 'etcd'>, now: number): Lines {
  const { wanted, replaced, verified } = progress;
  const machines = progress.machines.toSorted(
    (a, b) => b.unhealthy.length - a.unhealthy.length || a.createdAt - b.createdAt,
  );
  const rows = machines.map(({ name, node, state, createdAt, served, unhealthy }) => {
    const age = span(now - createdAt);
    // A machine that is being created or deleted need not be healthy.
    const condition = state === 'new' || state === 'leaving' ? '' : unwell(unhealthy);
    return [safe(name), nodeWords(node), state, age, certificateWords(served, state), condition];
  });
  return [
    `  ${title}: ${replaced} of ${wanted} replaced, ${verified} verified`,
    table([['MACHINE', 'NODE', 'STATE', 'AGE', 'CERTIFICATE', 'CONDITION'].map(faint), ...rows]),
  ];
}

function certificateWords(served: MachineProgress['served'], state: MachineProgress['state']): string {
  if (served.kind === 'certificate') return `${dayOf(served.notBefore)} → ${dayOf(served.notAfter)}`;
  if (state === 'new') return 'none yet';
  return served.kind === 'none' ? 'not tried' : `not seen: ${safe(served.problem)}`;
}

function nodeWords(node: string | undefined): string {
  return node === undefined ? 'no node yet' : safe(node);
}

/** The first condition, and how many more there are. */
function unwell([first, ...others]: readonly string[]): string {
  if (first === undefined) return '';
  return bad(`${safe(first.split(': ', 1)[0] ?? first)}${others.length > 0 ? `, and ${others.length} more` : ''}`);
}

interface Aborted extends Shown {
  readonly observed: ObservedRollout;
  readonly step: RolloutAct | RolloutHold;
  readonly written: RolloutWritten | undefined;
}

/** What `rollout abort` wrote, would write, or why it wrote nothing. */
export function abortLines(aborted: Aborted, program: string): Lines {
  const { observed, step, written } = aborted;
  const missing = noSuchCluster(observed);
  if (missing !== undefined) return headline(aborted, missing);
  const isWritten = written?.kind === 'written';
  const problems = [...(written?.problem === undefined ? [] : [written.problem]), ...observed.unread];
  return [
    headline(aborted, abortVerdict(aborted)),
    step.kind === 'act' &&
      (written === undefined || isWritten) && [
        `  ${isWritten ? 'Wrote' : 'Would write'} ${writeWords(step.write)}`,
        `  Cluster API removes what is one too many. A hub or ${program} run then returns the Lease; else it is free in a day.`,
      ],
    troubleLines(reasonsOf(step, observed), problems, program),
  ];
}

function abortVerdict({ step, written }: Aborted): Verdict {
  if (step.kind === 'hold') return { state: 'refused', message: `${step.message}; nothing was written` };
  if (written === undefined) return step;
  if (written.kind !== 'written') return { state: 'refused', message: WRITTEN_WORDS[written.kind] };
  return { state: 'done', message: step.message };
}

function headline({ observed: { cluster }, server }: Shown, { state, message }: Verdict): Lines {
  const [symbol, paint] = MARKS[isBad({ state }) ? 'critical' : (MARK_OF[state] ?? 'warning')];
  return [`${paint(symbol)} ${strong(safe(cluster.name))}: ${paint(safe(message))}`, serverLine(server)];
}

/** The headline for a cluster that does not exist. Undefined if it exists or could not be read. */
export function noSuchCluster({ cluster, capiCluster, unread }: Shown['observed']): Verdict | undefined {
  if (capiCluster !== undefined || unread.length > 0) return undefined;
  const message = `there is no Cluster ${cluster.name} of Cluster API there; kubectl get clusters.cluster.x-k8s.io -A lists all`;
  return { state: 'refused', message };
}

/** Reasons and problems with remedies; a remedy that several share in a row is shown once. */
function troubleLines(reasons: readonly HoldReason[], problems: readonly Problem[], program: string): readonly Lines[] {
  const ofReasons = reasons.map((one) => ({ ...one, remedy: `${one.remedy} · certmarshal runbook ${one.id}` }));
  return [...ofReasons, ...problems].map(({ object, message, remedy }, index, all) =>
    problemLines(
      about(object, message),
      all[index + 1]?.remedy === remedy ? undefined : pasteable(safe(remedy), program),
    ),
  );
}

function about(object: string | undefined, found: string): string {
  return object === undefined ? safe(found) : `${safe(object)}: ${safe(found)}`;
}

/** `2026-12-22 (in 30 d)`. Milliseconds since the epoch. */
function moment(at: number, now: number): string {
  return `${dayOf(at)} (${at >= now ? `in ${span(at - now)}` : `${span(now - at)} ago`})`;
}

/** Bounds and escapes a text, although the readers already do. The lines of a condition's message become one. */
function safe(text: string): string {
  return printable(text, 600).replaceAll(
    /(?<colon>:?)(?:\\u\{a\})+(?:\* )?/g,
    (_, colon: string) => `${colon || ';'} `,
  );
}

/** The object of a write, and each field of its patch. */
function writeWords(write: RolloutWrite): string {
  const { namespace, name } = write.object;
  const kind = write.kind === 'roll-etcd' ? 'EtcdadmCluster' : 'KubeadmControlPlane';
  return printable(`${kind} ${namespace}/${name}: ${fieldsOf(patchOf(write)).join(', ')}`, 2_000);
}

function fieldsOf(value: unknown, path = ''): readonly string[] {
  if (value === null) return [`${path} removed`];
  if (!isJsonObject(value)) return [`${path} = ${typeof value === 'string' ? value : JSON.stringify(value)}`];
  return Object.entries(value).flatMap(([key, inner]) => {
    if (path === 'metadata' && key !== 'annotations') return [];
    return fieldsOf(inner, path === 'metadata.annotations' ? `annotation ${key}` : `${path}${path && '.'}${key}`);
  });
}

/** The result of a write, without a full stop. */
const WRITTEN_WORDS: Readonly<Record<RolloutWritten['kind'], string>> = {
  written: 'written',
  overtaken: 'not written: another client changed the object meanwhile',
  refused: 'not written: the API server refused it, in its dry run or after',
  locked: 'not written: another rollout of this management cluster is running',
  failed: 'nothing was written: it was not sent',
  unknown: 'sent, but no answer says whether it was done: rollout status shows it',
};

const MARK_OF: Readonly<Partial<Record<RolloutState, keyof typeof MARKS>>> = {
  off: 'info',
  waiting: 'info',
  rolling: 'info',
  verifying: 'info',
  idle: 'well',
  done: 'well',
};

/** Whether a rollout of certmarshal is in progress. */
export function goesOn({ state }: Pick<RolloutStep, 'state'>): boolean {
  return state === 'rolling' || state === 'verifying';
}

export function isBad({ state }: Pick<RolloutStep, 'state'>): boolean {
  return ['refused', 'held', 'aborted', 'foreign', 'expired'].includes(state);
}
