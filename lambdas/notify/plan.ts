import { ALARMS, type AlarmId, type AlarmSettings, type AlarmSeverity, alarmSetting } from '../health/alarms.ts';
import { culpritsOf, watchedSignal } from '../health/culprits.ts';
import type { ClusterHealth, FleetHealth } from '../health/fleet-health.ts';
import type { SignalId } from '../health/signals.ts';
import { printable } from '../printable.ts';
import type { AlarmMessage } from './alarm-message.ts';
import type { NamedAlarm } from './alarm-name.ts';
import type { Notification } from './message.ts';
import {
  type Culprit,
  labelsOf,
  openedEvent,
  openedText,
  plainEvent,
  type Recovered,
  recoveredText,
  type Scene,
  unknownText,
  unnamedLabel,
  unnamedText,
} from './texts.ts';
import { NOBODY, type OpenAlarm, type Told, type ToldChange } from './told.ts';

export interface PlanInput {
  readonly named: NamedAlarm;
  readonly message: AlarmMessage;
  readonly told: Told;
  /** Undefined where the registry or the index cannot be read. */
  readonly health: FleetHealth | undefined;
  readonly settings: AlarmSettings;
  /** To the report page. */
  readonly link?: string;
  /** Where the state of the fleet is: a person has to name it. */
  readonly bucket?: string | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export interface Plan {
  /** At most one. */
  readonly messages: readonly Notification[];
  /** What is to be remembered once they are sent. */
  readonly change: ToldChange;
}

const NOTHING: Plan = { messages: [], change: {} };

/**
 * What people are to be told when CloudWatch says that an alarm changed its state. Pure. Once what it tells is remembered, the same message again tells nothing.
 *
 * An alarm of CloudWatch has one message for each cluster that makes it ring, and does not always say which. So what is told is not the message but what the
 * fleet shows: `ALARM` tells of the clusters that ring and that nobody was told of, `OK` of those that people were told of and that ring no more. Nothing is
 * called recovered while the alarm rings: a number that is well for one minute is no recovery, and no second message would follow it.
 */
export function planNotifications(input: PlanInput): Plan {
  const { named, message, settings, health, now, link, bucket } = input;
  const { severity } = alarmSetting(named.alarm, settings);
  if (severity === 'off' || message.state === 'INSUFFICIENT_DATA') return NOTHING;
  const culprits = culpritsIn(input);
  const scene = {
    severity,
    alarm: named.alarm,
    fleet:
      health && !isOfHub(named.alarm)
        ? { clusters: health.clusters.filter(({ state }) => state !== 'gone').length, ringing: culprits.length }
        : undefined,
    link,
    bucket,
    first: message.first,
    now,
  };
  if (isOfHub(named.alarm)) return planOfHub(input, scene);
  return message.state === 'ALARM' ? planOpening(input, culprits, scene) : planRecovery(input, culprits, scene);
}

/** An alarm whose name says nothing to certmarshal is told all the same. Pure. */
export function planUnknown({ message, told, link, now }: Pick<PlanInput, 'message' | 'told' | 'link' | 'now'>): Plan {
  const { name, state, changedAt } = message;
  const last = lastChange(told, name);
  if (state !== 'ALARM' || (changedAt !== undefined && last !== undefined && changedAt <= last)) return NOTHING;
  return {
    messages: [{ severity: 'critical', state: 'opened', human: unknownText(message, link), events: [] }],
    change: { changed: { name, at: changedAt ?? new Date(now).toISOString() } },
  };
}

/** Whether an alarm is about certmarshal, so that no cluster shows whether it rings. */
export function isOfHub(alarm: AlarmId): boolean {
  return watchedSignal(alarm) === undefined;
}

/** What is remembered and rings no more; for a digest, which looks at all alarms. Pure. */
export function overInFleet(
  told: Told,
  health: FleetHealth,
  settings: AlarmSettings,
): readonly (Recovered & { readonly alarm: AlarmId; readonly severity: AlarmSeverity })[] {
  return ALARM_IDS.flatMap((alarm) => {
    const { severity } = alarmSetting(alarm, settings);
    const open = told.open[alarm] ?? {};
    if (isOfHub(alarm)) return [];
    const ringing = new Set(culpritsOf(alarm, health, settings).map(({ id }) => id));
    return recoveredOf(alarm, open, ringing, health).map((entry) => ({
      ...entry,
      alarm,
      severity: severity === 'off' ? ALARMS[alarm].severity : severity,
    }));
  });
}

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of a constant
const ALARM_IDS = Object.keys(ALARMS) as (keyof typeof ALARMS)[];

function culpritsIn({ named, health, settings }: PlanInput): readonly Culprit[] {
  if (health === undefined) return [];
  const watched = watchedSignal(named.alarm);
  return culpritsOf(named.alarm, health, settings).flatMap((cluster) => {
    const signal = cluster.signals.find(({ id }) => id === watched);
    return signal === undefined ? [] : [{ cluster, signal }];
  });
}

function planOpening(input: PlanInput, culprits: readonly Culprit[], scene: Scene): Plan {
  const { named, told } = input;
  const { alarm } = named;
  const open = told.open[alarm] ?? {};
  const news = culprits.filter(({ cluster }) => !Object.hasOwn(open, cluster.id));
  if (culprits.length === 0) return planUnnamed(input, scene);
  if (news.length === 0) return NOTHING;
  // Now that clusters can be named, nobody waits for the end of an alarm that named none.
  const unnamed = Object.hasOwn(open, NOBODY) ? open[NOBODY] : undefined;
  const closing = unnamed === undefined ? [] : [plainEvent('closed', closedOf(unnamed), scene)];
  return {
    messages: [
      {
        severity: scene.severity,
        state: 'opened',
        human: openedText(news, scene),
        events: [...news.map((culprit) => openedEvent(culprit, scene)), ...closing],
      },
    ],
    change: {
      opened: news.map((culprit) => ({ alarm, key: culprit.cluster.id, ...openOf(culprit.signal.story, scene) })),
      ...(unnamed === undefined ? {} : { closed: [{ alarm, key: NOBODY }] }),
    },
  };
}

/** It rings, and the fleet shows no cluster that makes it. */
function planUnnamed(input: PlanInput, scene: Scene): Plan {
  const { named, message, told, health, now } = input;
  const open = Object.values(told.open[named.alarm] ?? {});
  const { changedAt } = message;
  const isOld =
    changedAt === undefined
      ? open.length > 0
      : changedAt <= (lastChange(told, message.name) ?? '') || open.some(({ openedAt }) => changedAt <= openedAt);
  if (isOld) return NOTHING;
  const why =
    health === undefined
      ? 'Which clusters cannot be told: the state of the fleet cannot be read.'
      : 'No cluster shows it any more: it may be over, or too new to be seen.';
  const changed = { name: message.name, at: changedAt ?? new Date(now).toISOString() };
  return unnamedPlan(input, NOBODY, why, changed, scene);
}

function planRecovery({ named, told, health }: PlanInput, culprits: readonly Culprit[], scene: Scene): Plan {
  // What cannot be read is not well.
  if (health === undefined) return NOTHING;
  const { alarm } = named;
  const ringing = new Set(culprits.map(({ cluster }) => cluster.id));
  const recovered = recoveredOf(alarm, told.open[alarm] ?? {}, ringing, health);
  if (recovered.length === 0) return NOTHING;
  return {
    messages: [
      {
        severity: scene.severity,
        state: 'closed',
        human: recoveredText(recovered, scene),
        events: recovered.map((entry) =>
          plainEvent('closed', { ...closedOf(entry), ...(entry.key === NOBODY ? {} : { cluster: entry.key }) }, scene),
        ),
      },
    ],
    change: { closed: recovered.map(({ key }) => ({ alarm, key })) },
  };
}

function recoveredOf(
  alarm: AlarmId,
  open: Readonly<Record<string, OpenAlarm>>,
  ringing: ReadonlySet<string>,
  health: FleetHealth,
): readonly Recovered[] {
  const known = new Map(health.clusters.map((cluster) => [cluster.id, cluster]));
  const isOver = (key: string): boolean => {
    if (key === NOBODY) return ringing.size === 0;
    const cluster = known.get(key);
    return !ringing.has(key) && (cluster === undefined || isKnown(cluster, alarm));
  };
  const over = Object.entries(open).filter(([key]) => isOver(key));
  const labels = labelsOf(over.map(([key]) => ({ id: key, name: known.get(key)?.name ?? key })));
  return over.map(([key, { openedAt, story }]) => {
    const cluster = known.get(key);
    const because =
      key === NOBODY || cluster?.state === 'well'
        ? undefined
        : cluster === undefined || cluster.state === 'gone'
          ? 'it is no longer in the fleet'
          : cluster.maintenance && `in maintenance until ${cluster.maintenance.until}`;
    const label = key === NOBODY ? unnamedLabel({ alarm }) : (labels.get(key) ?? key);
    return { key, label, openedAt, story, ...(because === undefined ? {} : { because }) };
  });
}

/** Signals that an audit has no part in. */
const OF_SWEEPS: ReadonlySet<SignalId | undefined> = new Set<SignalId>([
  'UnreadableFor',
  'NeverReadFor',
  'SweepAge',
  'RequestsHostile',
  'SloFastBurn',
  'SloSlowBurn',
]);

/** Where the index was lost a cluster has no findings until it is swept and audited again; that is no recovery. */
function isKnown({ state, sweptAt, audit }: ClusterHealth, alarm: AlarmId): boolean {
  if (state === 'gone') return true;
  return sweptAt !== undefined && (audit !== undefined || OF_SWEEPS.has(watchedSignal(alarm)));
}

/** Something of certmarshal, which no cluster says anything about: CloudWatch's word counts, in the order of its own times. */
function planOfHub(input: PlanInput, scene: Scene): Plan {
  const { named, message, told, now } = input;
  const key = named.part ?? NOBODY;
  const byKey = told.open[named.alarm] ?? {};
  const open = Object.hasOwn(byKey, key) ? byKey[key] : undefined;
  const { changedAt } = message;
  const last = lastChange(told, message.name);
  if (changedAt !== undefined && last !== undefined && changedAt <= last) return NOTHING;
  const changed = { name: message.name, at: changedAt ?? new Date(now).toISOString() };
  if (message.state === 'ALARM')
    return changedAt === undefined && open !== undefined ? NOTHING : unnamedPlan(input, key, '', changed, scene);
  if (open === undefined) return NOTHING;
  const label = unnamedLabel(named);
  return {
    messages: [
      {
        severity: scene.severity,
        state: 'closed',
        human: recoveredText([{ key, label, ...open }], scene),
        events: [plainEvent('closed', { ...closedOf(open), ...partOf(named) }, scene)],
      },
    ],
    change: { closed: [{ alarm: named.alarm, key }], changed },
  };
}

function unnamedPlan(
  { named, message }: PlanInput,
  key: string,
  why: string,
  changed: NonNullable<ToldChange['changed']>,
  scene: Scene,
): Plan {
  const story = ALARMS[named.alarm].meaning.replace(/\.$/, '');
  return {
    messages: [
      {
        severity: scene.severity,
        state: 'opened',
        human: unnamedText(named, message, why, scene),
        events: [plainEvent('opened', { story, ...partOf(named) }, scene)],
      },
    ],
    change: { opened: [{ alarm: named.alarm, key, ...openOf(story, scene) }], changed },
  };
}

function lastChange({ changes }: Told, name: string): string | undefined {
  return Object.hasOwn(changes, name) ? changes[name] : undefined;
}

function partOf({ part }: NamedAlarm): { readonly part?: string } {
  return part === undefined ? {} : { part };
}

function closedOf({ story, openedAt }: OpenAlarm): { readonly story: string; readonly since: string } {
  return { story, since: openedAt };
}

function openOf(story: string, { now }: Scene): OpenAlarm {
  return { openedAt: new Date(now).toISOString(), story: printable(story) };
}
