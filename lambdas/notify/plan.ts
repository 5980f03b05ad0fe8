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
  readonly link?: string | undefined;
  /** Name of the state bucket, for texts. */
  readonly bucket?: string | undefined;
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
  /** To record once the messages are sent. */
  readonly change: NotificationChange;
  /** Why the message of CloudWatch must be delivered again later; the plan is then empty. */
  readonly again?: string;
}

const NOTHING: Plan = { messages: [], change: {} };

/** An incident that fires again within this time is still the same one. Milliseconds. */
const AWAY_MS = 15 * 60_000;

/**
 * Plans the messages when CloudWatch reports a state change of an alarm. Pure. Once the change is recorded, the same
 * report plans nothing.
 *
 * CloudWatch sends one message for all clusters that make an alarm fire, and may not name them. So the plan compares
 * the fleet with the recorded incidents: it opens what fires and is not recorded, and closes what is recorded and has
 * been away for a while. Incidents are kept apart within a cluster too: a certificate that expired last week must not
 * hide another one. {@link planLook} does the same without a report of CloudWatch.
 */
export function planNotifications(input: PlanInput): Plan {
  const { named, message, settings, health } = input;
  const { alarm } = named;
  if (alarmSetting(alarm, settings).severity === 'off' || message.state === 'INSUFFICIENT_DATA') return NOTHING;
  if (isOfHub(alarm)) return planOfHub(input);
  if (health === undefined)
    return message.state === 'OK'
      ? { ...NOTHING, again: 'what is resolved is not known while the state of the fleet cannot be read' }
      : planUnnamed(input);
  const seen = compared(alarm, { ...input, health });
  if (message.state === 'ALARM' && seen.ringing.length === 0) {
    const unnamed = planUnnamed(input);
    return joined([unnamed, planEnds(seen, unnamed.change.opened)]);
  }
  const made = joined([message.state === 'ALARM' ? planOpening(seen) : NOTHING, planEnds(seen)]);
  // Hundreds of clusters can fire at once: only a real change is worth a write.
  const said = changeOf(input);
  const isSame = lastChange(input.told, said.name)?.state === said.state && made.messages.length === 0;
  return isSame ? made : { ...made, change: { ...made.change, changed: said } };
}

/**
 * Plans the messages when notify looks at the fleet without a report of CloudWatch. Pure.
 *
 * Covers the alarms that CloudWatch has in ALARM: a second cluster, class or node causes no further state change of an
 * alarm that fires already. Also sends claimed incidents that a dead run never sent, and closes those that no longer
 * fire.
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

/** Plans a message for an alarm with an unknown name, too. Pure. */
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

/** Whether an alarm is about certmarshal itself, so that no cluster shows whether it fires. */
export function isOfHub(alarm: AlarmId): boolean {
  return watchedSignal(alarm) === undefined;
}

/** One alarm: the fleet compared with the recorded incidents. */
interface Compared {
  readonly alarm: AlarmId;
  readonly scene: Scene;
  readonly ringing: readonly Trouble[];
  /** Those that people were not notified of. */
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
 * When CloudWatch reported OK, if the alarm fires again long after and no look at the fleet happened in between:
 * incidents open then are closed, although no run saw it.
 */
function endUnseen(told: NotificationState, message: AlarmMessage | undefined): string | undefined {
  if (message?.state !== 'ALARM' || message.changedAt === undefined) return undefined;
  const last = lastChange(told, message.name);
  if (last?.state !== 'OK' || Date.parse(message.changedAt) - Date.parse(last.at) < AWAY_MS) return undefined;
  return told.lookedAt === undefined || told.lookedAt < last.at ? last.at : undefined;
}

/** In doubt whether people were notified of the opening, they are notified; not so for the closing. */
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
  // The clusters have names now, so the incident without a name is closed.
  const closing = unnamed === undefined ? [] : [plainEvent('closed', closedOf(unnamed), scene)];
  // An open incident is opened again without closing it first: SNS topics keep no order, and a paging service would
  // apply the closing last.
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

/** For a cluster with a known incident the message tells only what is new. */
function culpritOf(same: readonly Trouble[], known: ReadonlySet<string>): readonly Culprit[] {
  const [first, ...others] = same;
  if (first === undefined) return [];
  const { cluster, signal } = first;
  if (!known.has(cluster.id)) return [{ cluster, signal }];
  const part = signalOfPart(first);
  const more = others.length === 0 ? '' : `, and ${others.length} more`;
  return [{ cluster, signal: { ...part, story: `${part.story}${more}` } }];
}

/** The alarm fires, and no cluster of the fleet explains it. */
function planUnnamed(input: PlanInput): Plan {
  const { named, message, told, health, now } = input;
  const open = Object.values(told.open[named.alarm] ?? {});
  const { changedAt } = message;
  if (changedAt === undefined) {
    if (open.length > 0) return NOTHING;
  } else if (isOld(told, { name: message.name, at: changedAt })) {
    const last = lastChange(told, message.name);
    // The closing for another cluster may have been processed first.
    const isOvertaken = health === undefined && last?.state === 'OK' && changedAt < last.at;
    return isOvertaken
      ? { ...NOTHING, again: 'a late alarm cannot be reported while the state of the fleet cannot be read' }
      : NOTHING;
  } else if (open.some(({ openedAt }) => changedAt <= openedAt)) return NOTHING;
  const why =
    health === undefined
      ? 'The clusters are not known: the state of the fleet cannot be read.'
      : 'No cluster shows it any more: it may be over, or too new to be seen.';
  const plan = unnamedPlan(named, message, why, sceneOf(named.alarm, input), NOBODY);
  return { ...plan, change: { ...plan.change, changed: changeOf({ message, now }) } };
}

/** Sends an alarm without a cluster that was claimed and perhaps never sent. */
function lostUnnamed({ alarm, scene, open, news }: Compared): Plan {
  const entry = entryOf(open, NOBODY);
  if (entry?.claimedAt === undefined || isFresh(entry.claimedAt, scene.now) || news.length > 0) return NOTHING;
  const message: AlarmMessage = { name: alarmName(alarm), state: 'ALARM' };
  return unnamedPlan({ alarm }, message, 'No cluster shows it any more: it may be over.', scene, NOBODY);
}

/**
 * Closes incidents that have not fired for {@link AWAY_MS}. Records those that just stopped, and those that fire again.
 *
 * @param opened what the same plan opens, besides the news
 */
function planEnds(
  { alarm, scene, ringing, open, health, settings, news }: Compared,
  opened: readonly TroubleName[] = [],
): Plan {
  const { now } = scene;
  const keys = new Set(ringing.map(({ key }) => key));
  const known = new Map(health.clusters.map((cluster) => [cluster.id, cluster]));
  const worse = WORSE[alarm];
  const rings = worse === undefined ? [] : placesOf(worse, health, settings);
  // Also where its alarm is off, or fires only for more.
  const worsened = worse === undefined ? [] : placesOf(worse, health, {});
  const isAway = (key: string, { openedAt }: OpenAlarm): boolean => {
    // Lost, perhaps: its cluster, or since when.
    if (health.rebuiltAt !== undefined && openedAt < health.rebuiltAt) return false;
    if (key === NOBODY) return ringing.length === 0;
    const place = readTroubleKey(key);
    const cluster = known.get(place.cluster);
    if (cluster === undefined && health.undiscoveredSince !== undefined && openedAt < health.undiscoveredSince)
      return false;
    if (cluster !== undefined && cluster.state !== 'gone' && hasMore(keys, cluster.id)) return false;
    if (keys.has(key) || (cluster !== undefined && !isKnown(cluster, alarm))) return false;
    return isAmong(rings, place) || !isAmong(worsened, place);
  };
  const fresh = new Set([...news, ...opened].map(({ key }) => key));
  const [over, away]: [[string, OpenAlarm][], (TroubleName & { readonly since?: string })[]] = [[], []];
  for (const [key, entry] of Object.entries(open)) {
    const { awaySince, claimedAt, closingAt } = entry;
    if (fresh.has(key) || isFresh(claimedAt, now) || isFresh(closingAt, now)) continue;
    if (!isAway(key, entry)) {
      if (awaySince !== undefined) away.push({ alarm, key });
    } else if (awaySince === undefined) away.push({ alarm, key, since: new Date(now).toISOString() });
    else if (isLongAway(awaySince, now) && !(key === NOBODY && fresh.size > 0)) over.push([key, entry]);
  }
  const escalated = over.filter(([key]) => isAmong(rings, readTroubleKey(key)));
  const recovered = over.filter((one) => !escalated.includes(one));
  const messages = [
    ...(recovered.length === 0 ? [] : [recoveryOf(recovered, { alarm, known, scene })]),
    ...(escalated.length === 0 ? [] : [recoveryOf(escalated, { alarm, known, scene, worse })]),
  ];
  return { messages, change: { closed: over.map(([key]) => ({ alarm, key })), away } };
}

type TroublePlace = ReturnType<typeof readTroubleKey>;

function placesOf(alarm: AlarmId, health: FleetHealth, settings: AlarmSettings): readonly TroublePlace[] {
  return troublesOf(alarm, health, settings).map(({ key }) => readTroubleKey(key));
}

/** Whether one incident covers another: the same part, or the whole cluster. */
function isAmong(places: readonly TroublePlace[], { cluster, part }: TroublePlace): boolean {
  return places.some(
    (one) => one.cluster === cluster && (one.part === part || one.part === undefined || part === undefined),
  );
}

interface Ended {
  readonly alarm: AlarmId;
  readonly known: ReadonlyMap<string, ClusterHealth>;
  readonly scene: Scene;
  /** The more severe alarm that took over: then it is not a recovery. */
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

/** Why an incident is closed, if not because the cluster is healthy. */
function becauseOf(cluster: ClusterHealth | undefined): string | undefined {
  if (cluster === undefined || cluster.state === 'gone') return 'it is no longer in the fleet';
  return cluster.state === 'well'
    ? undefined
    : cluster.maintenance && `in maintenance until ${cluster.maintenance.until}`;
}

/**
 * After a loss of the index a cluster has no findings until its next sweep and audit: that is not a recovery. Neither
 * is a cluster whose last readable time is unknown.
 */
function isKnown({ state, sweptAt, audit, readable, readableAt }: ClusterHealth, alarm: AlarmId): boolean {
  if (state === 'gone') return true;
  const watched = watchedSignal(alarm);
  if (watched === 'UnreadableFor' && !readable && readableAt === undefined) return false;
  // What a sweep could not do is known again only once the cluster can be read.
  if (watched === 'IncompleteFor' && !readable) return false;
  return (
    sweptAt !== undefined && (audit !== undefined || (watched !== undefined && SIGNALS[watched].knownFrom === 'sweep'))
  );
}

/** An alarm about certmarshal itself: the state that CloudWatch reports counts, in the order of its timestamps. */
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

/** Whether the report is a duplicate or out of order. Without a timestamp only the state is compared. */
function isRepeated({ name, state, changedAt }: AlarmMessage, told: NotificationState): boolean {
  if (changedAt === undefined) return lastChange(told, name)?.state === state;
  return isOld(told, { name, at: changedAt });
}

/** Sends what a dead run claimed and perhaps never sent. */
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

/** For texts: a recorded part may be one that CloudWatch could not have. */
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
