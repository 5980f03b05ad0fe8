import { commandOf } from '../audit/commands.ts';
import type { KeptFinding } from '../contracts/finding.ts';
import { culpritsOf, watchedSignal } from '../health/culprits.ts';
import { type FindingGroup, findingGroups } from '../health/finding-groups.ts';
import type { ClusterHealth, FleetHealth } from '../health/fleet-health.ts';
import { escaped, printable } from '../printable.ts';
import { printableName } from '../printable-name.ts';
import { ALARMS, type AlarmId, type AlarmSettings, alarmSetting, isByClass } from '../tables/alarms.ts';
import { CERTIFICATE_CLASSES, type CertificateClass } from '../tables/certificate-classes.ts';
import { SIGNALS, type Signal } from '../tables/signals.ts';
import { verdictSentence } from '../words/verdict-words.ts';
import { compare } from '../words.ts';

/** Most parts of one cluster with an incident of their own. */
const MAX_PARTS = 30;
/**
 * Most findings without a certificate class with an incident of their own: a cluster can have any number of requesters.
 */
const MAX_OBJECTS = 5;
/** Part of everything without an incident of its own. */
const MORE = '+more';

/** One reason why an alarm fires: a cluster, and the part of it. */
export interface Trouble {
  /** {@link troubleKey} */
  readonly key: string;
  readonly cluster: ClusterHealth;
  /** Of the whole cluster. */
  readonly signal: Signal;
  /** A class of certificate, a node, or the object of a finding. */
  readonly part?: string;
}

/**
 * Everything that makes an alarm fire, the worst cluster first. Pure.
 *
 * @param open keys of open incidents: these stay separate incidents
 */
export function troublesOf(
  alarm: AlarmId,
  health: FleetHealth,
  settings: AlarmSettings,
  open: readonly string[] = [],
): readonly Trouble[] {
  const told = Map.groupBy(open.map(readTroubleKey), ({ cluster }) => cluster);
  const watched = watchedSignal(alarm);
  const { threshold } = alarmSetting(alarm, settings);
  return culpritsOf(alarm, health, settings).flatMap((cluster) => {
    const signal = cluster.signals.find(({ id }) => id === watched);
    if (signal === undefined) return [];
    const parts = partsOf(
      cluster,
      signal,
      threshold,
      told.get(cluster.id)?.flatMap(({ part }) => part ?? []),
    );
    if (parts.length === 0) return [{ key: troubleKey(cluster.id), cluster, signal }];
    return parts.map((part) => ({ key: troubleKey(cluster.id, part), cluster, signal, part }));
  });
}

/** `berlin-prod`, `berlin-prod etcd-ca`. Ids of clusters have no spaces. {@link readTroubleKey} is its inverse. */
function troubleKey(cluster: string, part?: string): string {
  return part === undefined ? cluster : `${cluster} ${part}`;
}

export function readTroubleKey(key: string): { readonly cluster: string; readonly part?: string } {
  const space = key.indexOf(' ');
  return space === -1 ? { cluster: key } : { cluster: key.slice(0, space), part: key.slice(space + 1) };
}

/** Whether some troubles of the cluster share a key, so that one without a key may still exist. */
export function hasMore(keys: ReadonlySet<string>, cluster: string): boolean {
  return keys.has(troubleKey(cluster, MORE));
}

/** The signal of a cluster reduced to one part: its worst finding, or the newest request of the node. Pure. */
export function signalOfPart({ cluster, signal, part }: Trouble): Signal {
  if (part === undefined || partsOf(cluster, signal, 1).length <= 1) return signal;
  const { id, value, command } = signal;
  const title = titleOf(part);
  const count = signal.classes === undefined ? undefined : Object.entries(signal.classes).find(([one]) => one === part);
  if (id === 'RequestsHostile') {
    const line = cluster.verdicts.find(({ hostile, node }) => hostile && ascii(node ?? 'unknown') === part);
    const story =
      line === undefined ? ALARMS.ImpersonationAttempt.meaning.replace(/\.$/, '') : verdictSentence(line.facts);
    return { id, value: 1, story: printable(`${title}: ${story}`, 300), command, ...(line && { since: line.at }) };
  }
  if (part === MORE) return { id, value, story: `and more of the kind: ${value} in all`, command };
  const worst = groupOf(cluster, id)?.shown.find((finding) => partOf(finding, signal) === part);
  if (worst === undefined)
    return { id, value: count?.[1] ?? value, story: `${title}: ${count?.[1] ?? value}`, command };
  return {
    id,
    value: count?.[1] ?? value,
    story: printable(
      classPart(worst, signal) === undefined && count === undefined ? worst.message : `${title}: ${worst.message}`,
      300,
    ),
    since: worst.since,
    due: worst.due,
    command: commandOf(worst, cluster),
  };
}

/** The name that people use. */
export function titleOf(part: string): string {
  const title = Object.entries(CERTIFICATE_CLASSES).find(([id]) => id === part)?.[1].title;
  return title ?? (part === 'unknown' ? 'certificate' : part);
}

// oxlint-disable-next-line max-params -- internal
function partsOf(
  cluster: ClusterHealth,
  signal: Signal,
  threshold: number,
  told: readonly string[] = [],
): readonly string[] {
  const { id, classes = {}, parts = [] } = signal;
  if (isByClass(id, threshold))
    return first(Object.entries(classes).flatMap(([part, count]) => (count > 0 ? [part] : [])));
  const group = groupOf(cluster, id);
  if (group === undefined) {
    const few = fewOf(first(parts.map(ascii)), told);
    return [...few.parts, ...(few.isMore ? [MORE] : [])];
  }
  // With a threshold of its own the cluster counts as a whole.
  return threshold === 1 ? findingParts(group, signal, told) : [];
}

/**
 * Each certificate class is a part. Other objects, such as nodes, are parts up to a limit that a cluster cannot exceed
 * by changing names: those with open incidents first, then the oldest.
 */
function findingParts({ tally, shown }: FindingGroup, signal: Signal, told: readonly string[]): readonly string[] {
  const isOther = (finding: Pick<KeptFinding, 'what'>): boolean => classPart(finding, signal) === undefined;
  const classes = first([...tally, ...shown].flatMap((finding) => classPart(finding, signal) ?? []));
  const others = shown.filter(isOther).toSorted((a, b) => compare(a.since, b.since));
  const { parts, isMore } = fewOf(first(others.map((finding) => partOf(finding, signal))), told);
  const counted = tally.reduce((sum, entry) => (isOther(entry) ? sum + entry.count : sum), 0);
  return [...classes, ...parts, ...(isMore || counted > others.length ? [MORE] : [])];
}

function fewOf(
  objects: readonly string[],
  told: readonly string[],
): { readonly parts: readonly string[]; readonly isMore: boolean } {
  const taken = told.filter((part) => part !== MORE && !Object.hasOwn(CERTIFICATE_CLASSES, part));
  const kept = objects.filter((part) => taken.includes(part));
  const free = Math.max(0, MAX_OBJECTS - taken.length);
  const parts = [...kept, ...objects.filter((part) => !taken.includes(part)).slice(0, free)];
  return { parts, isMore: parts.length < objects.length };
}

function groupOf({ audit }: ClusterHealth, id: Signal['id']): FindingGroup | undefined {
  return findingGroups(audit).find((group) => group.id === id);
}

function partOf(finding: KeptFinding, signal: Signal): string {
  // Blanks become underscores, so an underscore must be something else.
  const object = (): string => ascii(escaped(finding.object, /_/g).replaceAll(' ', '_'));
  return classPart(finding, signal) ?? (signal.classes === undefined ? object() : 'unknown');
}

/** Undefined if each finding is reported separately. */
function classPart({ what }: Pick<KeptFinding, 'what'>, { id }: Signal): CertificateClass | undefined {
  return 'byObject' in SIGNALS[id] ? undefined : what;
}

function first(parts: readonly string[]): readonly string[] {
  return [...new Set(parts)].slice(0, MAX_PARTS);
}

/** A form that can be stored. */
function ascii(part: string): string {
  return printableName(escaped(part, /[^!-~]/gu), 253) || '?';
}
