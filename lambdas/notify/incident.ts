import { commandOf, nameInId } from '../audit/commands.ts';
import type { KeptFinding } from '../contracts/finding.ts';
import type { FleetIndex, StoredHealth } from '../contracts/fleet-index.ts';
import { findingGroups } from '../health/finding-groups.ts';
import { GROUP, MAX_CONTRIBUTORS, rowsOf } from '../health/series.ts';
import { printable } from '../printable.ts';
import {
  ALARMS,
  type AlarmEntry,
  type AlarmId,
  type AlarmSettings,
  alarmSetting,
  firstCommand,
  isOnSignal,
  WORSE,
  watchedSignal,
} from '../tables/alarms.ts';
import { CERTIFICATE_CLASSES } from '../tables/certificate-classes.ts';
import type { FindingCode } from '../tables/finding-codes.ts';
import { entryOf } from '../tables/keys.ts';
import { MINUTE_MS } from '../time.ts';
import { counted, date, firstOf, timeOf } from '../words.ts';
import type { AlarmChange } from './alarm-change.ts';
import { inert, inertWord } from './inert.ts';
import type { Message } from './message.ts';

export interface Scene {
  /** Undefined if it cannot be read. */
  readonly index: FleetIndex | undefined;
  readonly settings: AlarmSettings;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

type Cluster = StoredHealth['clusters'][number];
type Row = Pick<AlarmChange, 'cluster' | 'what'> & { readonly alarm: AlarmId };

/** An event that comes later than this may be older than the one of the end. Milliseconds. */
const LATE_MS = 5 * MINUTE_MS;
/** Of a label, which is in the subject of an e-mail. Characters. */
const LONGEST_LABEL = 120;
const MAX_STORY = 400;

/** The message of a state change, with what the fleet says of it now. Pure. */
export function incidentOf(change: AlarmChange, scene: Scene): Message {
  const { key, at, name, cluster, what, alarm } = change;
  const about = { key, at, name, cluster, what, alarm };
  if (alarm === undefined) return { ...about, ...unknown(change) };
  const { severity } = alarmSetting(alarm, scene.settings);
  const row = { alarm, cluster, what };
  const opens = isOpen(change, row, scene);
  return {
    ...about,
    severity: severity === 'off' ? 'warning' : severity,
    state: opens ? 'opened' : 'closed',
    ...(opens ? opened(change, row, scene) : closed(change, row, scene)),
  };
}

type Words = Pick<Message, 'title' | 'lines' | 'command'>;

function unknown({ name, opens, reason, key }: AlarmChange): Words & Pick<Message, 'severity' | 'state'> {
  return {
    severity: 'critical',
    state: opens ? 'opened' : 'closed',
    title: inert(
      `[${opens ? 'critical' : 'resolved'}] alarm ${printable(key === name ? name : key, 300)}, which this version of certmarshal does not have`,
    ),
    lines: [inert(`CloudWatch: ${reason}`), 'Deploy all of certmarshal together, or delete this alarm.'],
  };
}

/**
 * Whether the incident is open now. An end of which the index knows nothing is missing data, not health; a beginning that
 * comes late may be over.
 */
function isOpen({ opens, at }: AlarmChange, row: Row, scene: Scene): boolean {
  const health = scene.index?.health;
  if (health === undefined || !isOnSignal(row.alarm)) return opens;
  const firing = isFiring(row, scene);
  const isLate = scene.now - Date.parse(at) > LATE_MS && Date.parse(health.at) > Date.parse(at);
  return opens ? firing || !isLate : firing;
}

/** Whether report publishes the row at or above its threshold. */
function isFiring(row: Row, scene: Scene): boolean {
  const { length } = culprits(row, scene);
  const isGrouped = length > MAX_CONTRIBUTORS;
  if (row.cluster === GROUP) return isGrouped;
  return !isGrouped && culprits(row, scene).some(({ id }) => id === row.cluster);
}

/** The clusters that make the alarm fire, of this class: the most urgent first. */
function culprits({ alarm, what }: Row, { index, settings }: Scene): readonly Cluster[] {
  const watched = watchedSignal(alarm);
  const { threshold } = alarmSetting(alarm, settings);
  const reaches = (row: ReturnType<typeof rowsOf>[number]): boolean =>
    row.value >= threshold && (row.what === what || !isOnSignal(alarm));
  return (index?.health?.clusters ?? []).filter(({ signals }) =>
    signals.some((signal) => signal.id === watched && rowsOf(signal).some(reaches)),
  );
}

function opened(change: AlarmChange, row: Row, scene: Scene): Words {
  const { alarm, cluster: id } = row;
  const { severity } = alarmSetting(alarm, scene.settings);
  const all = culprits(row, scene);
  const cluster = all.find((one) => one.id === id);
  const signal = cluster?.signals.find((one) => one.id === watchedSignal(alarm));
  if (cluster !== undefined && signal !== undefined) return ofCluster(row, cluster, signal, scene);
  const names = id === undefined || id === GROUP ? all.map(({ name }) => name) : [];
  return {
    title: inert(`[${severity}] ${labelOf(row, scene, names.length)}, since ${dateOf(change.at)}: ${ALARMS[alarm].meaning}`),
    lines: [inert(names.length === 0 ? `CloudWatch: ${change.reason}` : `Clusters: ${firstOf(names, 10)}.`)],
    command: isOnSignal(alarm) ? firstCommand(alarm, commandCluster(id, undefined)) : change.command,
  };
}

// oxlint-disable-next-line max-params -- what the message is about
function ofCluster(row: Row, cluster: Cluster, signal: Cluster['signals'][number], scene: Scene): Words {
  const { alarm, what } = row;
  const { severity } = alarmSetting(alarm, scene.settings);
  const audit = entryOf(scene.index?.clusters, cluster.id)?.audit;
  const finding = findingGroups(audit)
    .find(({ id }) => id === signal.id)
    ?.shown.find((one) => what === undefined || one.what === what);
  const more = what === undefined ? 0 : (signal.classes?.[what] ?? 1) - 1;
  const story = finding === undefined || what === undefined ? signal.story : finding.message;
  const due = timeOf(finding?.due ?? signal.due);
  const head = [cluster.name, ...(due === undefined ? [`since ${dateOf(signal.since ?? scene.index?.health?.at)}`] : [])];
  const command = commandFor(alarm, cluster, finding);
  return {
    title: inert(
      `[${severity}] ${head.join(', ')}: ${printable(story, MAX_STORY)}${more > 0 ? `, and ${more} more` : ''}.${consequence(alarm, cluster, finding, scene.now)}`,
    ),
    lines: [
      ...(cluster.id === cluster.name ? [] : [inert(`Id ${cluster.id}.`)]),
      ...(command.startsWith('certmarshal doctor ') ? [DOCTOR_NEEDS] : []),
    ],
    command,
  };
}

const DOCTOR_NEEDS = 'Run doctor where your fleet file is, with credentials and Region of the hub.';

/** The end of a validity period is what they are about. */
const EXPIRES: ReadonlySet<FindingCode> = new Set(['CertificateExpiring', 'CertificateExpired', 'KubeletRenewalOverdue']);

/** What fails, now or then. */
// oxlint-disable-next-line max-params -- one call
function consequence(
  alarm: AlarmId,
  { provider = 'either' }: Cluster,
  finding: KeptFinding | undefined,
  now: number,
): string {
  const fails = finding?.what === undefined ? undefined : CERTIFICATE_CLASSES[finding.what].onceExpired;
  const due = timeOf(finding?.due);
  if (finding !== undefined && EXPIRES.has(finding.code) && fails !== undefined && due !== undefined)
    return ` ${due > now ? 'Then' : 'Now'} ${fails}.`;
  const { consequence: words }: AlarmEntry = ALARMS[alarm];
  const said = typeof words === 'object' ? words[provider] : words;
  return said === undefined ? '' : ` ${said}`;
}

function commandFor(alarm: AlarmId, cluster: Cluster, finding: KeptFinding | undefined): string {
  const words = commandCluster(cluster.id, cluster);
  if (finding !== undefined && words.name !== '' && inertWord(finding.object) !== '') return commandOf(finding, words);
  return isOnSignal(alarm) ? firstCommand(alarm, words) : 'certmarshal doctor --fleet fleet.yaml';
}

/** Without names of which a reader could make a link. */
function commandCluster(id = '', cluster: Cluster | undefined) {
  const { name = nameInId(id), namespace, ...known } = cluster ?? {};
  return {
    ...known,
    id: id === GROUP ? '' : inertWord(id),
    name: id === GROUP ? '' : inertWord(name),
    ...(namespace === undefined ? {} : { namespace: inertWord(namespace) }),
  };
}

function closed({ at, reason }: AlarmChange, row: Row, scene: Scene): Words {
  const { alarm, cluster: id } = row;
  const all = culprits(row, scene);
  const worse = WORSE[alarm];
  const was = `It was: ${ALARMS[alarm].meaning}`;
  const label = labelOf(row, scene);
  const over = (sign: string, now: string): Words => ({
    title: inert(`[${sign}] ${label}: ${now} since ${dateOf(at)}. ${was}`),
    lines: scene.index?.health === undefined ? [inert(`CloudWatch: ${reason}`)] : [],
  });
  if (worse !== undefined && isOnSignal(alarm) && culprits({ ...row, alarm: worse }, scene).some((one) => one.id === id))
    return over('escalated', `${worse} instead`);
  if (id === GROUP && all.length > 0)
    return over('resolved', `no longer more than ${MAX_CONTRIBUTORS}, and ${counted(all.length, 'incident')} of their own,`);
  if (id !== GROUP && all.some((one) => one.id === id))
    return over('grouped', `not over, but one of ${counted(all.length, 'cluster')} in one incident`);
  return over('resolved', 'over');
}

/** What it is about: cluster, and class or part. */
function labelOf({ alarm, cluster = '', what }: Row, { index }: Scene, count = 0): string {
  if (!isOnSignal(alarm)) return what === undefined ? 'certmarshal' : `certmarshal (${what})`;
  const name = index?.health?.clusters.find(({ id }) => id === cluster)?.name ?? nameInId(cluster);
  const who = cluster === GROUP ? (count === 0 ? 'many clusters' : counted(count, 'cluster')) : name;
  const title = what === undefined ? [] : [entryOf(CERTIFICATE_CLASSES, what)?.title ?? what];
  return printable([who, ...title].join(', '), LONGEST_LABEL);
}

function dateOf(at: string | undefined): string {
  const time = timeOf(at);
  return time === undefined ? 'an unknown time' : date(time);
}
