import type { NotificationState, OpenAlarm } from '../contracts/notification-state.ts';
import { watchedSignal } from '../health/culprits.ts';
import type { ClusterHealth, FleetHealth } from '../health/fleet-health.ts';
import { printable } from '../printable.ts';
import { ALARM_IDS, ALARMS, type AlarmId, type AlarmSettings, alarmSetting, WORSE } from '../tables/alarms.ts';
import { entryOf } from '../tables/keys.ts';
import { SIGNALS } from '../tables/signals.ts';
import type { AlarmMessage } from './alarm-message.ts';
import { alarmName, type NamedAlarm } from './alarm-name.ts';
import {
  isFresh,
  isOld,
  lastChange,
  NOBODY,
  type NotificationChange,
  openAlarms,
  type TroubleName,
} from './notification-state.ts';
import type { Notification } from './publication.ts';
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
import { hasMore, readTroubleKey, signalOfPart, type Trouble, troublesOf } from './troubles.ts';

export interface LookInput {
  readonly told: NotificationState;
  /** Undefined where the registry or the index cannot be read. */
  readonly health: FleetHealth | undefined;
  readonly settings: AlarmSettings;
  /** To the report page. */
  readonly link?: string | undefined;
  /** Where the state of the fleet is: a person has to name it. */
  readonly bucket?: string | undefined;
  /** The URL at which the runbooks are published. */
  readonly runbooks?: string | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export interface PlanInput extends LookInput {
  readonly named: NamedAlarm;
  readonly message: AlarmMessage;
}

export interface Plan {
  readonly messages: readonly Notification[];
  /** What is to be remembered once they are sent. */
  readonly change: NotificationChange;
  /** Why CloudWatch's message cannot be used now and has to come again. Then there is nothing else. */
  readonly again?: string;
}

const NOTHING: Plan = { messages: [], change: {} };

/** What rings again within this time is still the same trouble. Milliseconds. */
const AWAY_MS = 15 * 60_000;

/**
 * What people are to be told when CloudWatch says that an alarm changed its state. Pure. Once what it tells is remembered, the same message again tells nothing.
 *
 * An alarm of CloudWatch has one message for each cluster that makes it ring, and does not always say which. So what is told is not the message but what the
 * fleet shows: of what rings and nobody was told of, and of what people were told of and has not rung for a while. A cluster by itself is not enough to tell troubles
 * apart: an old certificate that ended must not hide another one. {@link planLook} does the same where CloudWatch has no reason to say anything.
 */
export function planNotifications(input: PlanInput): Plan {
  const { named, message, settings, health } = input;
  const { alarm } = named;
  if (alarmSetting(alarm, settings).severity === 'off' || message.state === 'INSUFFICIENT_DATA') return NOTHING;
  if (isOfHub(alarm)) return planOfHub(input);
  if (health === undefined)
    return message.state === 'OK'
      ? { ...NOTHING, again: 'what is over cannot be told while the state of the fleet cannot be read' }
      : planUnnamed(input);
  const seen = compared(alarm, { ...input, health });
  if (message.state === 'ALARM' && seen.ringing.length === 0) {
    const unnamed = planUnnamed(input);
    return joined([unnamed, planEnds(seen, unnamed.change.opened)]);
  }
  const made = joined([message.state === 'ALARM' ? planOpening(seen) : NOTHING, planEnds(seen)]);
  // Many clusters ring at once: only what changes anything is worth a write.
  const said = changeOf(input);
  const isSame = lastChange(input.told, said.name)?.state === said.state && made.messages.length === 0;
  return isSame ? made : { ...made, change: { ...made.change, changed: said } };
}

/**
 * What people are to be told when the fleet is compared with what they were told; CloudWatch said nothing. Pure.
 *
 * It looks at the alarms that CloudWatch has opened: a second cluster, class or node makes no second change of an alarm that rings already. It also tells what somebody
 * claimed and never told, and the end of what rings no more.
 */
export function planLook(input: LookInput): Plan {
  const { told, health, now } = input;
  const plans = ALARM_IDS.flatMap((alarm): readonly Plan[] => {
    const isOpen = Object.keys(told.open[alarm] ?? {}).length > 0;
    if (isOfHub(alarm)) return isOpen ? lostOfHub(alarm, input) : [];
    if (health === undefined || !(isOpen || lastChange(told, alarmName(alarm))?.state === 'ALARM')) return [];
    const seen = compared(alarm, { ...input, health });
    return [planOpening(seen), lostUnnamed(seen), planEnds(seen)];
  });
  const isAnyOpen = openAlarms(told).length > 0;
  const made = joined(plans);
  return isAnyOpen || made.messages.length > 0
    ? { ...made, change: { ...made.change, lookedAt: new Date(now).toISOString() } }
    : made;
}

/** An alarm whose name says nothing to certmarshal is told all the same. Pure. */
export function planUnknown({ message, told, link, now }: Pick<PlanInput, 'message' | 'told' | 'link' | 'now'>): Plan {
  if (message.state === 'INSUFFICIENT_DATA') return NOTHING;
  const changed = changeOf({ message, now });
  if (isRepeated(message, told)) return NOTHING;
  if (message.state === 'OK') return lastChange(told, message.name) ? { messages: [], change: { changed } } : NOTHING;
  return {
    messages: [{ severity: 'critical', state: 'opened', human: unknownText(message, link), events: [] }],
    change: { changed },
  };
}

/** Whether an alarm is about certmarshal, so that no cluster shows whether it rings. */
export function isOfHub(alarm: AlarmId): boolean {
  return watchedSignal(alarm) === undefined;
}

/** One alarm, in the fleet and in what people were told. */
interface Compared {
  readonly alarm: AlarmId;
  readonly scene: Scene;
  readonly ringing: readonly Trouble[];
  /** Of those, what people were not told of. */
  readonly news: readonly Trouble[];
  readonly open: Readonly<Record<string, OpenAlarm>>;
  readonly health: FleetHealth;
  readonly settings: AlarmSettings;
}

function compared(alarm: AlarmId, input: SceneInput & { readonly health: FleetHealth }): Compared {
  const { told, health, settings, message, now } = input;
  const open = told.open[alarm] ?? {};
  const ringing = troublesOf(alarm, health, settings, Object.keys(open));
  const fleet = {
    clusters: health.clusters.filter(({ state }) => state !== 'gone').length,
    ringing: new Set(ringing.map(({ cluster }) => cluster.id)).size,
  };
  const lostAt = endUnseen(told, message);
  const news = ringing.filter(({ key }) => isNews(entryOf(open, key), lostAt, now));
  return {
    alarm,
    scene: sceneOf(alarm, input, fleet),
    ringing,
    news,
    open,
    health,
    settings,
  };
}

/**
 * When CloudWatch said that the alarm ended, where it rings again long after and nobody has looked at the fleet in between: what was open then has ended, though
 * nobody saw it.
 */
function endUnseen(told: NotificationState, message: AlarmMessage | undefined): string | undefined {
  if (message?.state !== 'ALARM' || message.changedAt === undefined) return undefined;
  const last = lastChange(told, message.name);
  if (last?.state !== 'OK' || Date.parse(message.changedAt) - Date.parse(last.at) < AWAY_MS) return undefined;
  return told.lookedAt === undefined || told.lookedAt < last.at ? last.at : undefined;
}

/** Where it is not certain that people were told, and not of its end, they are told. */
function isNews(entry: OpenAlarm | undefined, lostAt: string | undefined, now: number): boolean {
  if (entry === undefined) return true;
  const { openedAt, claimedAt, closingAt, awaySince } = entry;
  if (isFresh(claimedAt, now) || isFresh(closingAt, now)) return false;
  if (claimedAt !== undefined || closingAt !== undefined) return true;
  return isLongAway(awaySince, now) || (lostAt !== undefined && openedAt < lostAt);
}

function isLongAway(awaySince: string | undefined, now: number): boolean {
  return awaySince !== undefined && now - Date.parse(awaySince) >= AWAY_MS;
}

function planOpening({ alarm, scene, news, open }: Compared): Plan {
  if (news.length === 0) return NOTHING;
  const fresh = new Set(news.map(({ key }) => key));
  const known = new Set(
    Object.keys(open)
      .filter((key) => !fresh.has(key))
      .map((key) => readTroubleKey(key).cluster),
  );
  const culprits = [...Map.groupBy(news, ({ cluster }) => cluster.id).values()].flatMap((same) =>
    culpritOf(same, known),
  );
  const unnamed = entryOf(open, NOBODY);
  // Now that clusters can be named, nobody waits for the end of an alarm that named none.
  const closing = unnamed === undefined ? [] : [plainEvent('closed', closedOf(unnamed), scene)];
  // One that is open is opened again and not closed first: a topic of SNS keeps no order, and a paging service would take the end for the later one.
  const events = news.map((trouble) => ({
    ...openedEvent({ cluster: trouble.cluster, signal: signalOfPart(trouble) }, scene),
    part: trouble.part,
  }));
  return {
    messages: [
      {
        severity: scene.severity,
        state: 'opened',
        human: openedText(culprits, scene),
        events: [...events, ...closing],
      },
    ],
    change: {
      opened: news.map((trouble) => ({ alarm, key: trouble.key, ...openOf(signalOfPart(trouble).story, scene) })),
      closed: unnamed === undefined ? undefined : [{ alarm, key: NOBODY }],
    },
  };
}

/** A cluster of which people were told something else already is told with what is new in it. */
function culpritOf(same: readonly Trouble[], known: ReadonlySet<string>): readonly Culprit[] {
  const [first, ...others] = same;
  if (first === undefined) return [];
  const { cluster, signal } = first;
  if (!known.has(cluster.id)) return [{ cluster, signal }];
  const part = signalOfPart(first);
  const more = others.length === 0 ? '' : `, and ${others.length} more`;
  return [{ cluster, signal: { ...part, story: `${part.story}${more}` } }];
}

/** It rings, and the fleet shows no cluster that makes it. */
function planUnnamed(input: PlanInput): Plan {
  const { named, message, told, health, now } = input;
  const open = Object.values(told.open[named.alarm] ?? {});
  const { changedAt } = message;
  if (changedAt === undefined) {
    if (open.length > 0) return NOTHING;
  } else if (isOld(told, { name: message.name, at: changedAt })) {
    const last = lastChange(told, message.name);
    // Another cluster's end may have come first.
    const isOvertaken = health === undefined && last?.state === 'OK' && changedAt < last.at;
    return isOvertaken
      ? { ...NOTHING, again: 'a late alarm cannot be told while the state of the fleet cannot be read' }
      : NOTHING;
  } else if (open.some(({ openedAt }) => changedAt <= openedAt)) return NOTHING;
  const why =
    health === undefined
      ? 'Which clusters cannot be told: the state of the fleet cannot be read.'
      : 'No cluster shows it any more: it may be over, or too new to be seen.';
  const plan = unnamedPlan(named, message, why, sceneOf(named.alarm, input), NOBODY);
  return { ...plan, change: { ...plan.change, changed: changeOf({ message, now }) } };
}

/** An alarm that named no cluster was claimed and perhaps never told. */
function lostUnnamed({ alarm, scene, open, news }: Compared): Plan {
  const entry = entryOf(open, NOBODY);
  if (entry?.claimedAt === undefined || isFresh(entry.claimedAt, scene.now) || news.length > 0) return NOTHING;
  const message: AlarmMessage = { name: alarmName(alarm), state: 'ALARM' };
  return unnamedPlan({ alarm }, message, 'No cluster shows it any more: it may be over.', scene, NOBODY);
}

/**
 * What rings no more is over when it stays away; what is away for less is remembered, and what is back.
 *
 * @param opened what is told in the same plan, besides the news
 */
function planEnds(
  { alarm, scene, ringing, open, health, settings, news }: Compared,
  opened: readonly TroubleName[] = [],
): Plan {
  const { now } = scene;
  const keys = new Set(ringing.map(({ key }) => key));
  const known = new Map(health.clusters.map((cluster) => [cluster.id, cluster]));
  const isAway = (key: string): boolean => {
    if (key === NOBODY) return ringing.length === 0;
    const cluster = known.get(readTroubleKey(key).cluster);
    if (cluster !== undefined && cluster.state !== 'gone' && hasMore(keys, cluster.id)) return false;
    return !keys.has(key) && (cluster === undefined || isKnown(cluster, alarm));
  };
  const fresh = new Set([...news, ...opened].map(({ key }) => key));
  const [over, away]: [[string, OpenAlarm][], (TroubleName & { readonly since?: string })[]] = [[], []];
  for (const [key, entry] of Object.entries(open)) {
    const { awaySince, claimedAt, closingAt } = entry;
    if (fresh.has(key) || isFresh(claimedAt, now) || isFresh(closingAt, now)) continue;
    if (!isAway(key)) {
      if (awaySince !== undefined) away.push({ alarm, key });
    } else if (awaySince === undefined) away.push({ alarm, key, since: new Date(now).toISOString() });
    else if (isLongAway(awaySince, now) && !(key === NOBODY && fresh.size > 0)) over.push([key, entry]);
  }
  const worse = WORSE[alarm];
  const rings = worse === undefined ? [] : troublesOf(worse, health, settings).map(({ key }) => readTroubleKey(key));
  const escalated = over.filter(([key]) => isAmong(rings, readTroubleKey(key)));
  const recovered = over.filter((one) => !escalated.includes(one));
  const messages = [
    ...(recovered.length === 0 ? [] : [recoveryOf(recovered, { alarm, known, scene })]),
    ...(escalated.length === 0 ? [] : [recoveryOf(escalated, { alarm, known, scene, worse })]),
  ];
  return { messages, change: { closed: over.map(([key]) => ({ alarm, key })), away } };
}

type TroublePlace = ReturnType<typeof readTroubleKey>;

/** The same part of the same cluster; the whole of a cluster has each of its parts. */
function isAmong(places: readonly TroublePlace[], { cluster, part }: TroublePlace): boolean {
  return places.some(
    (one) => one.cluster === cluster && (one.part === part || one.part === undefined || part === undefined),
  );
}

interface Ended {
  readonly alarm: AlarmId;
  readonly known: ReadonlyMap<string, ClusterHealth>;
  readonly scene: Scene;
  /** The alarm that has it now: then it is no recovery. */
  readonly worse?: AlarmId | undefined;
}

function recoveryOf(
  over: readonly (readonly [string, OpenAlarm])[],
  { alarm, known, scene, worse }: Ended,
): Notification {
  const byCluster = Map.groupBy(over, ([key]) => readTroubleKey(key).cluster);
  const labels = labelsOf([...byCluster.keys()].map((id) => ({ id, name: known.get(id)?.name ?? id })));
  const recovered = [...byCluster].flatMap(([id, same]): readonly Recovered[] => {
    const [first] = same;
    if (first === undefined) return [];
    const [key, { openedAt, story }] = first;
    const because = id === NOBODY ? undefined : becauseOf(known.get(id));
    const label = id === NOBODY ? unnamedLabel({ alarm }) : (labels.get(id) ?? id);
    const more = same.length > 1 ? `, and ${same.length - 1} more` : '';
    return [{ key, label, openedAt, story: `${story}${more}`, because }];
  });
  return {
    severity: scene.severity,
    state: 'closed',
    human: recoveredText(recovered, scene, worse),
    events: over.map(([key, entry]) => {
      const about = { ...closedOf(entry), ...(worse !== undefined && { escalatedTo: worse }) };
      if (key === NOBODY) return plainEvent('closed', about, scene);
      const place = readTroubleKey(key);
      const cluster = known.get(place.cluster);
      const reason = becauseOf(cluster);
      return plainEvent('closed', { ...about, ...place, ...(reason !== undefined && { reason }) }, scene, cluster);
    }),
  };
}

/** Why what a cluster had is over, where it is not that the cluster is healthy. */
function becauseOf(cluster: ClusterHealth | undefined): string | undefined {
  if (cluster === undefined || cluster.state === 'gone') return 'it is no longer in the fleet';
  return cluster.state === 'well'
    ? undefined
    : cluster.maintenance && `in maintenance until ${cluster.maintenance.until}`;
}

/** Where the index was lost a cluster has no findings until it is swept and audited again; that is no recovery. Nor is that nobody knows when it was readable. */
function isKnown({ state, sweptAt, audit, readable, readableAt }: ClusterHealth, alarm: AlarmId): boolean {
  if (state === 'gone') return true;
  const watched = watchedSignal(alarm);
  if (watched === 'UnreadableFor' && !readable && readableAt === undefined) return false;
  // What a sweep could not do is not known again before one can read the cluster.
  if (watched === 'IncompleteFor' && !readable) return false;
  return (
    sweptAt !== undefined && (audit !== undefined || (watched !== undefined && SIGNALS[watched].knownFrom === 'sweep'))
  );
}

/** Something of certmarshal, which no cluster says anything about: CloudWatch's word counts, in the order of its own times. */
function planOfHub(input: PlanInput): Plan {
  const { named, message, told, now } = input;
  const { alarm, part: key = NOBODY } = named;
  if (isRepeated(message, told)) return NOTHING;
  const changed = changeOf({ message, now });
  const open = entryOf(told.open[alarm], key);
  const scene = sceneOf(alarm, input);
  const plan =
    message.state === 'ALARM'
      ? unnamedPlan(named, message, '', scene, key)
      : open === undefined
        ? NOTHING
        : endOfHub(named, open, scene);
  return { ...plan, change: { ...plan.change, changed } };
}

/** CloudWatch says what it said before, or what is overtaken. Without a time it is the state that counts. */
function isRepeated({ name, state, changedAt }: AlarmMessage, told: NotificationState): boolean {
  if (changedAt === undefined) return lastChange(told, name)?.state === state;
  return isOld(told, { name, at: changedAt });
}

/** What somebody claimed and perhaps never told. */
function lostOfHub(alarm: AlarmId, input: LookInput): readonly Plan[] {
  const scene = sceneOf(alarm, input);
  return Object.entries(input.told.open[alarm] ?? {}).flatMap(([key, entry]) => {
    const { claimedAt, closingAt } = entry;
    if (isFresh(claimedAt, input.now) || isFresh(closingAt, input.now)) return [];
    const named = { alarm, part: key === NOBODY ? undefined : key };
    if (closingAt !== undefined) return [endOfHub(named, entry, scene)];
    if (claimedAt === undefined) return [];
    return [unnamedPlan(named, { name: nameOf(named), state: 'ALARM' }, '', scene, key)];
  });
}

/** For people: a part that was remembered need not be one that CloudWatch could have. */
function nameOf({ alarm, part }: NamedAlarm): string {
  return part === undefined ? alarmName(alarm) : `${alarmName(alarm)}-${part}`;
}

function endOfHub(named: NamedAlarm, open: OpenAlarm, scene: Scene): Plan {
  const { alarm, part: key = NOBODY } = named;
  const recovered = { key, label: unnamedLabel(named), openedAt: open.openedAt, story: open.story };
  return {
    messages: [
      {
        severity: scene.severity,
        state: 'closed',
        human: recoveredText([recovered], scene),
        events: [plainEvent('closed', { ...closedOf(open), part: named.part }, scene)],
      },
    ],
    change: { closed: [{ alarm, key }] },
  };
}

function unnamedPlan(named: NamedAlarm, message: AlarmMessage, why: string, scene: Scene, key: string): Plan {
  const story = ALARMS[named.alarm].meaning.replace(/\.$/, '');
  return {
    messages: [
      {
        severity: scene.severity,
        state: 'opened',
        human: unnamedText(named, message, why, scene),
        events: [plainEvent('opened', { story, part: named.part }, scene)],
      },
    ],
    change: { opened: [{ alarm: named.alarm, key, ...openOf(story, scene) }] },
  };
}

function joined(plans: readonly Plan[]): Plan {
  const again = plans.find((plan) => plan.again !== undefined)?.again;
  const changed = plans.find(({ change }) => change.changed !== undefined)?.change.changed;
  return {
    messages: plans.flatMap(({ messages }) => messages),
    change: {
      opened: plans.flatMap(({ change }) => change.opened ?? []),
      closed: plans.flatMap(({ change }) => change.closed ?? []),
      away: plans.flatMap(({ change }) => change.away ?? []),
      changed,
    },
    again,
  };
}

type SceneInput = LookInput & { readonly message?: AlarmMessage };

function sceneOf(
  alarm: AlarmId,
  { settings, link, bucket, runbooks, now, message }: SceneInput,
  fleet?: Scene['fleet'],
): Scene {
  const { severity } = alarmSetting(alarm, settings);
  return {
    severity: severity === 'off' ? ALARMS[alarm].severity : severity,
    alarm,
    fleet,
    link,
    bucket,
    runbooks,
    first: message?.first,
    now,
  };
}

function changeOf({ message, now }: Pick<PlanInput, 'message' | 'now'>): NonNullable<NotificationChange['changed']> {
  const { name, state, changedAt = new Date(now).toISOString() } = message;
  return { name, state: state === 'ALARM' ? 'ALARM' : 'OK', at: changedAt };
}

function closedOf({ story, openedAt }: OpenAlarm): { readonly story: string; readonly since: string } {
  return { story, since: openedAt };
}

function openOf(story: string, { now }: Scene): OpenAlarm {
  return { openedAt: new Date(now).toISOString(), story: printable(story) };
}
