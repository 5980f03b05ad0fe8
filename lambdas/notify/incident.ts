import { clusterCommand, isWord } from '../command.ts';
import type { ExpiryFinding } from '../contracts/finding.ts';
import type { FleetIndex, StoredHealth } from '../contracts/fleet-index.ts';
import { findingGroups } from '../health/finding-groups.ts';
import { isJustRebuilt } from '../health/rebuilt.ts';
import { firingRows, GROUP, isGrouped } from '../health/series.ts';
import { nameInId } from '../identifiers.ts';
import { printable } from '../printable.ts';
import * as table from '../tables/alarms.ts';
import { CERTIFICATE_CLASSES } from '../tables/certificate-classes.ts';
import type { FindingCode } from '../tables/finding-codes.ts';
import { entryOf } from '../tables/keys.ts';
import { MINUTE_MS } from '../time.ts';
import { messageOf, nextOf } from '../words/findings.ts';
import { counted, date, firstOf, timeOf } from '../words.ts';
import type { AlarmChange } from './alarm-change.ts';
import { inert, inertWord } from './inert.ts';
import type { Message } from './message.ts';

export interface Scene {
  /** Undefined if it cannot be read. */
  readonly index: FleetIndex | undefined;
  readonly settings: table.AlarmSettings;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

type Cluster = StoredHealth['clusters'][number];

interface Incident extends AlarmChange, Scene {
  readonly alarm: table.AlarmId;
  /** Clusters of the fleet that make the alarm fire for this class now, the most urgent first. */
  readonly culprits: readonly Cluster[];
}

type Words = Pick<Message, 'title' | 'lines' | 'command'>;

/** An event that comes later than this may be older than that of the end. Milliseconds. */
const LATE_MS = 5 * MINUTE_MS;
const DOCTOR_NEEDS = 'Run doctor where your fleet file is, with credentials and Region of the hub.';
/** Findings about the end of a validity period. */
const EXPIRES = new Set<FindingCode>(['CertificateExpiring', 'CertificateExpired', 'KubeletRenewalOverdue']);

/** The message of a state change, with what the fleet says of it now. Pure. */
export function incidentOf(change: AlarmChange, scene: Scene): Message {
  const { opens: _, reason, command: __, ...about } = change;
  if (about.alarm === undefined) {
    const [state, sign] = change.opens ? (['opened', 'critical'] as const) : (['closed', 'resolved'] as const);
    const title = inert(`[${sign}] alarm ${printable(change.key)}, which this version of certmarshal does not have`);
    const lines = [inert(`CloudWatch: ${reason}`), 'Deploy all of certmarshal together, or delete this alarm.'];
    return { ...about, state, severity: 'critical', title, lines };
  }
  const { severity } = table.alarmSetting(about.alarm, scene.settings);
  const culprits = culpritsOf(about.alarm, about.what, scene);
  const incident = { ...change, ...scene, alarm: about.alarm, culprits };
  const opens = isOpen(incident);
  const words = opens ? opened(incident) : closed(incident);
  return {
    ...about,
    state: opens ? 'opened' : 'closed',
    severity: severity === 'off' ? 'warning' : severity,
    title: inert(opens ? `[${severity}] ${words.title}` : words.title),
    lines: words.lines.map(inert),
    command: words.command,
  };
}

function culpritsOf(alarm: table.AlarmId, what: string | undefined, { index, settings }: Scene): readonly Cluster[] {
  const watched = table.watchedSignal(alarm);
  const fires = (signal: Cluster['signals'][number]): boolean =>
    signal.id === watched && firingRows(signal, settings).some((row) => what === undefined || row.what === what);
  return (index?.health?.clusters ?? []).filter(({ signals }) => signals.some(fires));
}

/**
 * Whether it is open now. An end that the index denies, or that comes because it was lost, is no health; a beginning that
 * comes late may be over.
 */
function isOpen({ opens, at, alarm, cluster, what, culprits, index, now }: Incident): boolean {
  if (index?.health === undefined || !table.isOnSignal(alarm)) return opens;
  const { signal } = table.ALARMS[alarm].watches;
  const isGroup = isGrouped(index.series, { signal, what });
  const isFiring = cluster === GROUP ? isGroup : !isGroup && culprits.some(({ id }) => id === cluster);
  const isLate = now - Date.parse(at) > LATE_MS && Date.parse(index.health.at) > Date.parse(at);
  const last = index.series.find((one) => one.signal === signal && one.cluster === cluster && one.what === what);
  const wellSince = last && last.zeros > 0 ? Date.parse(index.health.at) - last.zeros * MINUTE_MS : 0;
  return isFiring || (opens ? !isLate && wellSince <= Date.parse(at) : isJustRebuilt(index.rebuiltAt, now) && !last);
}

function opened(incident: Incident): Words {
  const { alarm, cluster: id, at, reason, command, culprits } = incident;
  const own = culprits.find((one) => one.id === id);
  if (own !== undefined) return openedOf(own, incident);
  const named = id === undefined || id === GROUP ? culprits : [];
  const names = named.map(({ name }) => name);
  const cluster = inertCluster(named[0]?.id ?? id, named[0]);
  const first = table.isOnSignal(alarm) ? table.firstCommand(alarm, cluster) : command;
  return {
    title: `${labelOf(incident, names.length)}, since ${dateOf(at)}: ${table.ALARMS[alarm].meaning}${consequence(incident)}`,
    lines: [names.length === 0 ? `CloudWatch: ${reason}` : `Clusters: ${firstOf(names, 10)}.`, ...needsOf(first)],
    command: first,
  };
}

function openedOf(cluster: Cluster, incident: Incident): Words {
  const { alarm, what, index, now } = incident;
  const watched = table.watchedSignal(alarm);
  const signal = cluster.signals.find(({ id }) => id === watched);
  const groups = findingGroups(entryOf(index?.clusters, cluster.id)?.audit);
  const group = groups.find(({ id }) => id === watched);
  const finding = group?.shown.find((one) => what === undefined || (one.what ?? 'unknown') === what);
  const more = what === undefined ? 0 : (signal?.classes?.[what] ?? 1) - 1;
  // The signal tells of the worst class.
  const [about, text] = what === undefined ? [signal, signal?.story] : [finding, finding && messageOf(finding, now)];
  const story = text ?? table.ALARMS[alarm].meaning.slice(0, -1);
  const since = timeOf(about?.due) === undefined ? `, since ${dateOf(about?.since ?? signal?.since)}` : '';
  const command = commandFor(incident, cluster, finding);
  return {
    title: `${cluster.name}${since}: ${printable(story, 400)}${more > 0 ? `, and ${more} more` : ''}.${consequence(incident, cluster.provider, finding)}`,
    lines: [...(cluster.id === cluster.name ? [] : [`Id ${cluster.id}.`]), ...needsOf(command)],
    command,
  };
}

function needsOf(command = ''): readonly string[] {
  return command.startsWith('certmarshal doctor ') ? [DOCTOR_NEEDS] : [];
}

function consequence({ alarm, now }: Incident, provider?: Cluster['provider'], finding?: ExpiryFinding): string {
  const fails = finding?.what === undefined ? undefined : CERTIFICATE_CLASSES[finding.what].onceExpired;
  const due = timeOf(finding?.due);
  if (finding !== undefined && EXPIRES.has(finding.code) && fails !== undefined && due !== undefined)
    return ` ${due > now ? 'Then' : 'Now'} ${fails}.`;
  const { consequence: words }: table.AlarmEntry = table.ALARMS[alarm];
  const sentence = typeof words === 'object' ? words[provider ?? 'either'] : words;
  return sentence === undefined ? '' : ` ${sentence}`;
}

function commandFor({ alarm, index }: Incident, cluster: Cluster, finding: ExpiryFinding | undefined): string {
  const plain = inertCluster(cluster.id, cluster);
  const csr = entryOf(index?.clusters, cluster.id)?.verdicts?.find(({ hostile }) => hostile)?.csr ?? '';
  if (alarm === 'ImpersonationAttempt' && isWord(inertWord(csr))) return clusterCommand(`explain ${csr}`, plain);
  if (finding !== undefined) {
    const places = 'places' in finding.facts ? finding.facts.places.first : [];
    if ([plain.name, finding.object, ...places].every((name) => inertWord(name) !== '')) return nextOf(finding, plain);
  }
  return table.isOnSignal(alarm) ? table.firstCommand(alarm, plain) : 'certmarshal doctor --fleet fleet.yaml';
}

/** For commands: no name of which a reader could make a link. */
function inertCluster(id = '', { namespace, ...known }: Partial<Cluster> = {}) {
  const name = inertWord(known.name ?? nameInId(id));
  return { ...known, id: inertWord(id), name, ...(namespace !== undefined && { namespace: inertWord(namespace) }) };
}

function closed(incident: Incident): Words {
  const { alarm, cluster, what, at, reason, culprits, index } = incident;
  const worse = table.WORSE[alarm];
  const worseOff = worse === undefined ? [] : culpritsOf(worse, what, incident);
  const isWorse = worseOff.some(({ id }) => id === cluster);
  const isInGroup = culprits.some(({ id }) => id === cluster);
  const remain = cluster === GROUP ? culprits.length : 0;
  const many =
    cluster === GROUP && worseOff.length > 0 ? `; ${worse} fires for ${counted(worseOff.length, 'cluster')}` : '';
  const left = remain === 0 ? many : `; still open for ${counted(remain, 'cluster')}, each as its own incident`;
  const grouped = `not over, but one of ${counted(culprits.length, 'cluster')} in one incident`;
  const notWorse = isInGroup ? ['grouped', grouped] : ['resolved', 'over'];
  const [sign, now] = isWorse ? ['escalated', `${worse} instead`] : notWorse;
  return {
    title: `[${sign}] ${labelOf(incident)}: ${now} since ${dateOf(at)}${left}. It was: ${table.ALARMS[alarm].meaning}`,
    lines: index?.health === undefined ? [`CloudWatch: ${reason}`] : [],
  };
}

/** Cluster and class, or part of certmarshal. */
function labelOf({ alarm, cluster = '', what, index }: Incident, count = 0): string {
  if (!table.isOnSignal(alarm)) return what === undefined ? 'certmarshal' : `certmarshal (${what})`;
  const name = index?.health?.clusters.find(({ id }) => id === cluster)?.name ?? nameInId(cluster);
  const many = count === 0 ? 'many clusters' : counted(count, 'cluster');
  const title = what === undefined ? [] : [entryOf(CERTIFICATE_CLASSES, what)?.title ?? what];
  return printable([cluster === GROUP || count > 0 ? many : name, ...title].join(', '), 120);
}

function dateOf(at: string | undefined): string {
  const time = timeOf(at);
  return time === undefined ? 'an unknown time' : date(time);
}
