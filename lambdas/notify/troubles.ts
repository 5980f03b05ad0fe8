import { CERTIFICATE_CLASSES } from '../expiry/certificate-classes.ts';
import { ALARMS, type AlarmId, type AlarmSettings, alarmSetting, isByClass } from '../health/alarms.ts';
import { culpritsOf, watchedSignal } from '../health/culprits.ts';
import { findingGroups } from '../health/finding-groups.ts';
import type { ClusterHealth, FleetHealth } from '../health/fleet-health.ts';
import type { Signal } from '../health/signals.ts';
import { printable } from '../printable.ts';

/** Parts of one cluster that are told apart; of more only the first. */
const MOST_PARTS = 30;

/** One thing that makes an alarm ring: a cluster, and in it what is told apart. */
export interface Trouble {
  /** {@link troubleKey} */
  readonly key: string;
  readonly cluster: ClusterHealth;
  /** Of the whole cluster. */
  readonly signal: Signal;
  /** A class of certificate, or a node. */
  readonly part?: string;
}

/** Everything that makes an alarm ring, the worst cluster first. Pure. */
export function troublesOf(alarm: AlarmId, health: FleetHealth, settings: AlarmSettings): readonly Trouble[] {
  const watched = watchedSignal(alarm);
  const { threshold } = alarmSetting(alarm, settings);
  return culpritsOf(alarm, health, settings).flatMap((cluster) => {
    const signal = cluster.signals.find(({ id }) => id === watched);
    if (signal === undefined) return [];
    const parts = partsOf(signal, threshold);
    if (parts.length === 0) return [{ key: troubleKey(cluster.id), cluster, signal }];
    return parts.map((part) => ({ key: troubleKey(cluster.id, part), cluster, signal, part }));
  });
}

/** `berlin-prod`, `berlin-prod etcd-ca`. Ids of clusters have no spaces. {@link readTroubleKey} is its inverse. */
export function troubleKey(cluster: string, part?: string): string {
  return part === undefined ? cluster : `${cluster} ${part}`;
}

export function readTroubleKey(key: string): { readonly cluster: string; readonly part?: string } {
  const space = key.indexOf(' ');
  return space === -1 ? { cluster: key } : { cluster: key.slice(0, space), part: key.slice(space + 1) };
}

/** The signal of a cluster as it is for one part of it: its worst finding, the newest request of the node. Pure. */
export function signalOfPart({ cluster, signal, part }: Trouble): Signal {
  if (part === undefined || partsOf(signal, 1).length <= 1) return signal;
  const { id, value, command } = signal;
  const title = titleOf(part);
  const count = signal.classes === undefined ? undefined : Object.entries(signal.classes).find(([one]) => one === part);
  if (id === 'RequestsHostile') {
    const line = cluster.verdicts.find(({ hostile, node }) => hostile && ascii(node ?? 'somebody') === part);
    const story = line === undefined ? ALARMS.ImpersonationAttempt.meaning.replace(/\.$/, '') : line.message;
    return { id, value: 1, story: printable(`${title}: ${story}`, 300), command, ...(line && { since: line.at }) };
  }
  const worst = findingGroups(cluster.audit)
    .find((group) => group.id === id)
    ?.shown.find(({ what = 'unknown' }) => what === part);
  if (worst === undefined)
    return { id, value: count?.[1] ?? value, story: `${title}: ${count?.[1] ?? value}`, command };
  return {
    id,
    value: count?.[1] ?? value,
    story: printable(`${title}: ${worst.message}`, 300),
    since: worst.since,
    ...(worst.due === undefined ? {} : { due: worst.due }),
    command: worst.command,
  };
}

/** As people call it. */
export function titleOf(part: string): string {
  const title = Object.entries(CERTIFICATE_CLASSES).find(([id]) => id === part)?.[1].title;
  return title ?? (part === 'unknown' ? 'certificate' : part);
}

function partsOf(signal: Signal, threshold: number): readonly string[] {
  const { id, classes = {}, parts = [] } = signal;
  const all = isByClass(id, threshold)
    ? Object.entries(classes).flatMap(([part, count]) => (count > 0 ? [part] : []))
    : parts.map(ascii);
  return [...new Set(all)].slice(0, MOST_PARTS);
}

/** So that it can be remembered. */
function ascii(part: string): string {
  return part.replaceAll(/[^!-~]/g, '?').slice(0, 253) || '?';
}
