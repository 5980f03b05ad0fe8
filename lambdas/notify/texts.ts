import { type CommandCluster, word } from '../command.ts';
import type { AlarmEvent } from '../contracts/event.ts';
import { isEksChange } from '../health/due.ts';
import { findingGroups } from '../health/finding-groups.ts';
import type { ClusterHealth } from '../health/fleet-health.ts';
import { nameInId, type Provider } from '../identifiers.ts';
import { printable, printableStory } from '../printable.ts';
import { printableName } from '../printable-name.ts';
import {
  ALARMS,
  type AlarmEntry,
  type AlarmId,
  type AlarmSeverity,
  alarmRunbook,
  firstCommand,
  isOnSignal,
  runbookPlace,
} from '../tables/alarms.ts';
import { CERTIFICATE_CLASSES } from '../tables/certificate-classes.ts';
import { CLASS_SIGNALS, type Signal } from '../tables/signals.ts';
import { counted, date, firstOf, isoOf, span, timeOf } from '../words.ts';
import type { AlarmMessage } from './alarm-message.ts';
import type { NamedAlarm } from './alarm-name.ts';
import type { HumanMessage } from './publication.ts';

/** Most clusters with a line of their own. */
const MAX_LINES = 10;
/** Characters. SNS accepts fewer than 100 for a subject. `dated`: a name with a date behind it. */
export const LONGEST = { subject: 99, name: 120, dated: 30, story: 300, command: 400, text: 8_000 } as const;

/** A cluster that makes an alarm fire, and why. */
export interface Culprit {
  readonly cluster: ClusterHealth;
  readonly signal: Signal;
}

/** A cluster with an open incident. */
export interface Recovered {
  readonly key: string;
  /** Undefined where no cluster could be named. */
  readonly label: string | undefined;
  readonly openedAt: string;
  readonly story: string;
  /** Why it is closed, if not because the cluster is healthy: `it is no longer in the fleet`. */
  readonly because?: string;
}

export interface Scene {
  readonly severity: AlarmSeverity;
  readonly alarm: AlarmId;
  /** Clusters of the fleet, and how many make the alarm fire; undefined if unknown. */
  readonly fleet: { readonly clusters: number; readonly ringing: number } | undefined;
  /** To the report page. */
  readonly link: string | undefined;
  readonly bucket?: string | undefined;
  /** First command, from the description of the alarm. */
  readonly first?: string | undefined;
  readonly runbooks?: string | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** The text for clusters that make an alarm fire. Pure. */
export function openedText(culprits: readonly Culprit[], scene: Scene): HumanMessage {
  const { severity, alarm, fleet, now } = scene;
  const labels = labelsOf(culprits.map(({ cluster }) => cluster));
  const labelOf = ({ cluster }: Culprit): string => labels.get(cluster.id) ?? cluster.id;
  const at = isoOf(now);
  const share = fleet === undefined ? [] : [`${fleet.ringing} of ${counted(fleet.clusters, 'cluster')}.`];
  const [first] = culprits;
  if (first !== undefined && culprits.length === 1) {
    const { cluster, signal } = first;
    const facts = [...when(first, now), ...share, ...(labelOf(first) === cluster.id ? [] : [`Id ${cluster.id}.`])];
    return composed(
      openedLine(severity, labelOf(first), story(signal.story), { ...signal, at }),
      [facts.join(' '), ...consequenceOf(alarm, cluster.provider, { what: worstClass(first), story: signal.story })],
      commandsOf(first, scene),
      scene,
    );
  }
  const lines = culprits.slice(0, MAX_LINES).map((culprit) => {
    const { signal } = culprit;
    const due = dueWords(culprit, now);
    return `- ${labelOf(culprit)}: ${story(signal.story)}${due === undefined ? '' : `, ${due}`}`;
  });
  const more = culprits.length - lines.length;
  if (more > 0) lines.push(`- and ${counted(more, 'more cluster')}`);
  const names = firstOf(culprits.map(labelOf));
  return composed(
    openedLine(severity, counted(culprits.length, 'cluster'), `${names}. ${ALARMS[alarm].meaning}`, {
      since: earliest(culprits),
      at,
    }),
    [[...share, ALARMS[alarm].meaning, ...consequenceOf(alarm)].join(' '), ...lines],
    { first: first === undefined ? overview(scene) : commandOf(scene, first.cluster) },
    scene,
  );
}

/** The text where no cluster can be named: that of CloudWatch. Pure. */
export function unnamedText(named: NamedAlarm, message: AlarmMessage, why: string, scene: Scene): HumanMessage {
  const { severity, now } = scene;
  const meaning = ALARMS[named.alarm].meaning.replace(/\.$/, '');
  return composed(
    openedLine(severity, unnamedLabel(named), meaning, { at: isoOf(now) }),
    [why, `Alarm ${message.name}. ${cloudWatchSays(message)}`].filter((line) => line !== ''),
    { first: commandOf(scene) },
    scene,
  );
}

/** The text for an alarm with an unknown name. Pure. */
export function unknownText(message: AlarmMessage, link: string | undefined): HumanMessage {
  const lines = [
    `[critical] alarm ${message.name} fires, and certmarshal does not know it`,
    cloudWatchSays(message),
    'Deploy all of certmarshal together, or remove this alarm from its topic.',
    ...(link === undefined ? [] : [`Report: ${link}`]),
  ];
  return { subject: subjectOf(lines[0] ?? ''), text: lines.join('\n') };
}

/**
 * The text for closed incidents. Pure.
 *
 * @param worse the more severe alarm that took over: then it is not a recovery
 */
export function recoveredText(recovered: readonly Recovered[], scene: Scene, worse?: AlarmId): HumanMessage {
  const { now, fleet } = scene;
  const at = isoOf(now);
  const lasted = ({ openedAt }: Recovered): string => span(now - (timeOf(openedAt) ?? now));
  const left = fleet === undefined ? [] : [`${fleet.ringing} of ${counted(fleet.clusters, 'cluster')} left.`];
  const [first] = recovered;
  if (first !== undefined && recovered.length === 1) {
    const facts = [`It lasted ${lasted(first)}; opened ${dateOf(first.openedAt)}.`, ...left];
    return composed(
      closedLine(first.label, story(first.story), { at, escalatedTo: worse, reason: first.because }),
      [facts.join(' ')],
      undefined,
      scene,
    );
  }
  const lines = recovered
    .slice(0, MAX_LINES)
    .map(
      (one) =>
        `- ${labelled(one.label, `it was: ${story(one.story)}`)}${reasonWords(one.because)}, opened ${lasted(one)} ago`,
    );
  const more = recovered.length - lines.length;
  if (more > 0) lines.push(`- and ${counted(more, 'more cluster')}`);
  const names = firstOf(recovered.map(({ label = 'one that was not named' }) => label));
  const label = `${counted(recovered.length, 'cluster')} (${names})`;
  const line = closedLine(label, ALARMS[scene.alarm].meaning, { at, escalatedTo: worse });
  return composed(line, [...left, ...lines], undefined, scene);
}

/** The event of one culprit. Pure. */
export function openedEvent(culprit: Culprit, scene: Scene): AlarmEvent {
  const { cluster, signal } = culprit;
  const { alarm, severity, now } = scene;
  const { first, next } = commandsOf(culprit, scene);
  return {
    version: 1,
    alarm,
    severity,
    state: 'opened',
    cluster: cluster.id,
    name: printable(cluster.name, LONGEST.name),
    ...(cluster.provider !== undefined && { provider: cluster.provider }),
    story: story(signal.story),
    since: isTime(signal.since) ? signal.since : undefined,
    due: isTime(signal.due) ? signal.due : undefined,
    at: new Date(now).toISOString(),
    command: printable(first, LONGEST.command),
    ...(next !== undefined && { next: printable(next, LONGEST.command) }),
    runbook: alarmRunbook(alarm),
  };
}

/**
 * The event of an incident without a cluster, or of a closed one. Pure.
 *
 * @param known the cluster, if the fleet still has it
 */
export function plainEvent(
  state: AlarmEvent['state'],
  about: Pick<AlarmEvent, 'cluster' | 'part' | 'story' | 'since' | 'reason' | 'escalatedTo'>,
  scene: Scene,
  known?: CommandCluster,
): AlarmEvent {
  const { alarm, severity, now } = scene;
  const { cluster: id } = about;
  const cluster = id === undefined ? undefined : { name: nameInId(id), ...known, id };
  return {
    version: 1,
    alarm,
    severity,
    state,
    ...about,
    ...(cluster !== undefined && { name: printable(cluster.name, LONGEST.name) }),
    ...(known?.provider !== undefined && { provider: known.provider }),
    story: story(about.story),
    at: new Date(now).toISOString(),
    command: printable(commandOf(scene, cluster), LONGEST.command),
    runbook: alarmRunbook(alarm),
  };
}

/**
 * The first line of a message, which is all of an SMS: cluster, what is wrong, and the date of its beginning, if the text
 * does not have that of an expiry.
 *
 * @param label undefined where the text itself names the object
 */
// oxlint-disable-next-line max-params -- the parts of the line, in their order
export function openedLine(
  severity: AlarmSeverity,
  label: string | undefined,
  text: string,
  { since, due, at }: Pick<AlarmEvent, 'since' | 'due' | 'at'>,
): string {
  const isDated = timeOf(due) !== undefined && text.includes(dateOf(due));
  const began = isDated ? undefined : `since ${dateOf(isTime(since) ? since : at)}`;
  // Behind a long name and a date, a subject would have no room for the text.
  if (began !== undefined && label !== undefined && label.length > LONGEST.dated)
    return `[${severity}] ${labelled(label, text)} (${began})`;
  const head = [label, began].filter((one) => one !== undefined).join(', ');
  return `[${severity}] ${labelled(head === '' ? undefined : head, text)}`;
}

/** The same where it is over. What was wrong comes last, as something of the past. */
export function closedLine(
  label: string | undefined,
  text: string,
  { at, escalatedTo, reason }: Pick<AlarmEvent, 'at' | 'escalatedTo' | 'reason'>,
): string {
  const sign = escalatedTo === undefined ? 'resolved' : 'escalated';
  const now = escalatedTo === undefined ? undefined : `now ${escalatedTo}`;
  const head = [label, now, dateOf(at)].filter((one) => one !== undefined).join(', ');
  return `[${sign}] ${head}${reasonWords(reason)}. It was: ${text}`;
}

function reasonWords(reason: string | undefined): string {
  return reason === undefined ? '' : ` (${reason})`;
}

/**
 * What no longer works, and what the first command needs. As a list, for lines.
 *
 * @param certificate its class, and what is said of it
 */
export function consequenceOf(
  alarm: AlarmId,
  provider?: Provider,
  certificate?: { readonly what: string | undefined; readonly story: string },
): readonly string[] {
  const { consequence, ...entry }: AlarmEntry = ALARMS[alarm];
  const words = typeof consequence === 'object' ? consequence[provider ?? 'either'] : consequence;
  const isOnClass = 'signal' in entry.watches && CLASS_SIGNALS.has(entry.watches.signal);
  return [
    ...(words === undefined ? [] : [words]),
    ...(isOnClass && certificate !== undefined ? expiryWords(certificate) : []),
    ...('first' in entry && entry.first === 'doctor' ? [DOCTOR_NEEDS] : []),
  ];
}

/** Only where it is the expiry that the story is about. */
function expiryWords({ what, story: said }: NonNullable<Parameters<typeof consequenceOf>[2]>): readonly string[] {
  const fails = Object.entries(CERTIFICATE_CLASSES).find(([id]) => id === what)?.[1].onceExpired;
  if (fails === undefined) return [];
  if (/\bexpires in \d/.test(said)) return [`Once it has expired, ${fails}.`];
  return /\bexpired \d.* ago\b/.test(said) ? [`Now ${fails}.`] : [];
}

function worstClass({ cluster, signal }: Culprit): string | undefined {
  return findingGroups(cluster.audit).find(({ id }) => id === signal.id)?.shown[0]?.what;
}

const DOCTOR_NEEDS = 'Run doctor where your fleet file is, with credentials and Region of the hub.';

function earliest(culprits: readonly Culprit[]): string | undefined {
  const times = culprits.map(({ signal }) => signal.since).filter(isTime);
  return times.toSorted((a, b) => Date.parse(a) - Date.parse(b))[0];
}

/** Names of clusters within one message; ids where two have the same name. */
export function labelsOf(clusters: readonly Pick<ClusterHealth, 'id' | 'name'>[]): ReadonlyMap<string, string> {
  const named = Map.groupBy(clusters, ({ name }) => name);
  return new Map(
    clusters.map(({ id, name }) => [id, printableName(named.get(name)?.length === 1 ? name : id, LONGEST.name)]),
  );
}

/** ASCII, one line, under 100 characters. */
export function subjectOf(line: string): string {
  const plain = line.replaceAll(/[^ -~]/g, '?').replace(/^ +/, '');
  if (plain.length <= LONGEST.subject) return plain;
  return `${plain.slice(0, LONGEST.subject - 3)}...`;
}

/** Lines are cut before the link, never in it. */
export function bounded(lines: readonly string[], most: number = LONGEST.text): string {
  const text = lines.join('\n');
  return text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`;
}

/** Shown instead of a cluster name; undefined where the text itself names the object. */
export function unnamedLabel({ alarm, part }: NamedAlarm): string | undefined {
  if (!('hub' in ALARMS[alarm].watches)) return undefined;
  return part === undefined ? 'certmarshal' : `certmarshal (${part})`;
}

export function labelled(label: string | undefined, text: string): string {
  return label === undefined ? text : `${label}: ${text}`;
}

/** The reason that CloudWatch gives, if nothing better is known. */
function cloudWatchSays({ reason }: AlarmMessage): string {
  return reason === undefined ? 'CloudWatch gives no reason.' : `CloudWatch: ${printable(reason, 700)}`;
}

/** The first thing to do: the command of the description of the alarm, which names the cluster here. */
function commandOf({ alarm, first, bucket }: Scene, cluster?: CommandCluster & { readonly id: string }): string {
  if (!isOnSignal(alarm)) return first ?? 'certmarshal doctor --fleet fleet.yaml';
  // A cluster without a target is named by its id.
  return cluster === undefined
    ? overview({ bucket })
    : firstCommand(alarm, { ...cluster, name: nameInId(cluster.name) });
}

interface Commands {
  readonly first: string;
  /** Shows more of it. */
  readonly next?: string;
}

function commandsOf({ cluster, signal }: Culprit, scene: Scene): Commands {
  const first = commandOf(scene, cluster);
  return signal.command === first ? { first } : { first, next: signal.command };
}

function overview({ bucket }: Pick<Scene, 'bucket'>): string {
  return `aws s3 presign s3://${word(bucket, 'BUCKET')}/report.html`;
}

function composed(
  first: string,
  lines: readonly string[],
  commands: Commands | undefined,
  { alarm, link, runbooks }: Scene,
): HumanMessage {
  const lead =
    commands === undefined
      ? []
      : [
          `First: ${printable(commands.first, LONGEST.command)}`,
          ...(commands.next === undefined ? [] : [`Then: ${printable(commands.next, LONGEST.command)}`]),
          `Runbook: ${runbookPlace(alarm, runbooks)}`,
        ];
  const body = bounded([first, ...lines.filter((line) => line !== '')]);
  return {
    subject: subjectOf(first),
    text: [body, ...lead, ...(link === undefined ? [] : [`Report: ${link}`])].join('\n'),
  };
}

function when(culprit: Culprit, now: number): readonly string[] {
  const due = dueWords(culprit, now);
  const sinceAt = timeOf(culprit.signal.since);
  return [
    ...(due === undefined ? [] : [`${due.charAt(0).toUpperCase()}${due.slice(1)}.`]),
    ...(sinceAt === undefined ? [] : [`For ${span(Math.max(0, now - sinceAt))}.`]),
  ];
}

/** `expires 2026-12-03 08:11 UTC`. */
function dueWords({ cluster, signal: { due } }: Culprit, now: number): string | undefined {
  const at = timeOf(due);
  if (at === undefined) return undefined;
  if (isEksChange(due, cluster.audit)) return `due ${date(at)}`;
  return `${at > now ? 'expires' : 'expired'} ${date(at)}`;
}

export function dateOf(at: string | undefined): string {
  const time = timeOf(at);
  return time === undefined ? 'at an unknown time' : date(time);
}

function isTime(at: string | undefined): at is string {
  return timeOf(at) !== undefined;
}

function story(text: string): string {
  return printableStory(text, LONGEST.story);
}
