import { awsProblem } from '../aws/aws-problem.ts';
import { AwsError, isConflict } from '../aws/errors.ts';
import type { UnsentEvents } from '../aws/events.ts';
import type { Link } from '../aws/presigned-link.ts';
import type { Publish, TopicMessage } from '../aws/topics.ts';
import { parseFleetIndex } from '../contracts/fleet-index.ts';
import {
  type BusEvent,
  droppedEvents,
  type NotificationState,
  parseNotificationState,
  type Receiver,
  type UnsentEvent,
} from '../contracts/notification-state.ts';
import { parseRegistry } from '../contracts/registry.ts';
import { STATE_KEYS, type StateObject } from '../fleet/state-keys.ts';
import { type FleetHealth, fleetHealth, type Monitoring } from '../health/fleet-health.ts';
import { type AlarmMessage, readAlarmMessage } from '../notify/alarm-message.ts';
import { alarmOf } from '../notify/alarm-name.ts';
import { digestOf } from '../notify/digest.ts';
import { incidentKey } from '../notify/incident.ts';
import {
  changeOfAlarms,
  changesNothing,
  claimNotifications,
  isFresh,
  MAX_UNSENT,
  markNotified,
  NOTHING_NOTIFIED,
  type NotificationChange,
  releaseNotifications,
} from '../notify/notification-state.ts';
import type { TopicPlace } from '../notify/pager-message.ts';
import { type Plan, planLook, planNotifications, planUnknown } from '../notify/plan.ts';
import {
  chatPublication,
  chatSummary,
  type Notification,
  pagerPublication,
  publicationOf,
} from '../notify/publication.ts';
import { field, text } from '../resources/fields.ts';
import { canonicalJson } from '../same-json.ts';
import type { State } from '../state.ts';
import type { AlarmSeverity } from '../tables/alarms.ts';
import { METRIC } from '../telemetry/metric-names.ts';
import { count, type Telemetry } from '../telemetry/telemetry.ts';
import { DAY_MS } from '../time.ts';

/** Hundreds of messages can arrive at once: conditional writes let one of them win, and the others try again. */
const TRIES = 8;
const MAX_WAIT_MS = 500;
/** Sending single events must leave time to record what was sent. Milliseconds. */
const EVENTS_MS = 8_000;
/** How long to wait for another run that sends events of the same incident. */
const WAIT_MS = 1_000;
const WAITS = EVENTS_MS / WAIT_MS;
/** Undelivered events are dropped after this. Milliseconds. */
const KEPT_MS = 7 * DAY_MS;
/** Calls of SNS at a time. */
const LANES = 10;
/** Above this, the rest becomes one message. Source: Slack, "Rate limits": one message a second, short bursts. */
const MAX_CHAT = 10;

export interface NotifyOptions extends Telemetry {
  readonly state: State;
  /** For texts. */
  readonly bucket?: string;
  readonly monitoring: Monitoring & {
    /** The URL at which the runbooks are published. */
    readonly runbooks?: string;
  };
  /** Publishes to the topic of the severity, or to the topic of single incidents. @throws AwsError */
  readonly publish: Publish<AlarmSeverity | Exclude<Receiver, 'bus'>>;
  readonly place: TopicPlace;
  readonly putEvents: (events: readonly BusEvent[], signal: AbortSignal) => Promise<UnsentEvents<BusEvent>>;
  /** To the report page. */
  readonly link: Link | undefined;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** From 0 to 1. */
  readonly random: () => number;
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
}

/**
 * Turns alarms of CloudWatch into messages, looks every few minutes for what opened or closed since, and sends the
 * daily digest.
 *
 * A run claims what it is about to send with a conditional write, so concurrent messages about one incident are sent
 * once. It then publishes the messages, records them with one event for each incident, and last delivers these events
 * to pager, chat and EventBridge. An unconfirmed claim is sent again: a run that died may have sent it, and twice is
 * better than never. An event stays recorded until every receiver has it.
 *
 * @throws Error when people could not be notified, when the input is not a message of CloudWatch or cannot be used yet,
 * or when a receiver did not accept an event. Lambda then retries, and after the last try publishes the original
 * message.
 */
export type HandleNotify = (event: unknown, signal: AbortSignal) => Promise<void>;

interface Stored {
  readonly told: NotificationState;
  readonly etag?: string;
  /** S3 failed: the stored state must not be overwritten. */
  readonly unknown?: true;
}

interface Seen {
  readonly health: FleetHealth | undefined;
  /** Why the health is unknown. */
  readonly problem?: string;
}

/** What one receiver did not accept. */
interface Undelivered {
  readonly unsent: readonly UnsentEvent[];
  /** The first failure. */
  readonly error?: AwsError;
}

/** A message to a topic, and the events it contains. */
interface Outgoing {
  readonly of: readonly UnsentEvent[];
  readonly message: TopicMessage;
}

type Written = 'written' | 'conflict' | 'failed';

export function createNotifyHandler(options: NotifyOptions): HandleNotify {
  const { state, monitoring, clock, logger, metrics } = options;

  return async (event, signal) => {
    const asked = readEvent(event, clock());
    try {
      if (asked === 'digest') await digest(signal);
      else if (asked === 'look') await look(signal);
      else for (const message of asked) await alarm(message, signal);
    } finally {
      // Also while a topic for people refuses.
      await deliverOld(signal);
    }
  };

  async function alarm(message: AlarmMessage, signal: AbortSignal): Promise<void> {
    const named = alarmOf(message.name);
    const [{ health, problem }, link] = await Promise.all([seeFleet(signal), reportLink()]);
    const planOf = ({ told, unknown }: Stored): Plan => {
      const common = { message, told, now: clock(), bucket: options.bucket, runbooks: monitoring.runbooks, link };
      if (named === undefined) return planUnknown(common);
      // Closing an incident without recording it would hide the next one.
      if (unknown && message.state === 'OK')
        return { messages: [], change: {}, again: 'what people were told cannot be read' };
      return planNotifications({ ...common, named, health, settings: monitoring.alarms });
    };
    const messages = await settle(planOf, signal, message.state === 'OK');
    logger.info('alarm', {
      alarm: message.name,
      state: message.state,
      messages,
      problem,
    });
  }

  /** Fails only when people could not be notified: the next look is soon. */
  async function look(signal: AbortSignal): Promise<void> {
    const [{ health, problem }, link] = await Promise.all([seeFleet(signal), reportLink()]);
    const planOf = ({ told, unknown }: Stored): Plan =>
      unknown
        ? { messages: [], change: {} }
        : planLook({
            told,
            health,
            settings: monitoring.alarms,
            now: clock(),
            bucket: options.bucket,
            runbooks: monitoring.runbooks,
            link,
          });
    const messages = await settle(planOf, signal, false);
    logger.info('look', { messages, problem });
  }

  /** Delivers what an earlier run recorded and did not send. Fresh events are left to the run that recorded them. */
  async function deliverOld(signal: AbortSignal): Promise<void> {
    const { told } = await readState(signal);
    await deliver(
      told.unsent.filter(({ detail }) => !isFresh(detail.at, clock())),
      signal,
    );
  }

  async function digest(signal: AbortSignal): Promise<void> {
    const [seen, stored, link] = await Promise.all([seeFleet(signal), readState(signal), reportLink()]);
    const { message, change } = digestOf({ ...seen, told: stored.told, now: clock(), link });
    const messages = message === undefined ? [] : [message];
    logger.info('digest', { messages: messages.length });
    await tell({ messages, change }, signal);
  }

  /**
   * Plans, claims and sends; starts again where another run wrote in between.
   *
   * @param isNeeded throws where the change cannot be recorded, so that Lambda retries
   * @returns the number of messages sent to people
   */
  async function settle(planOf: (stored: Stored) => Plan, signal: AbortSignal, isNeeded: boolean): Promise<number> {
    for (let turn = 1; ; turn += 1) {
      const stored = await readState(signal);
      const plan = planOf(stored);
      const { messages, change, again } = plan;
      if (again !== undefined) throw new Error(`The message of CloudWatch cannot be used yet: ${again}.`);
      if (messages.length === 0 && changesNothing(stored.told, change)) return 0;
      const isClaimed = (change.opened ?? []).length + (change.closed ?? []).length > 0;
      // Without an open incident nothing is claimed: only the time of the message is recorded.
      if (messages.length > 0 && !isClaimed) {
        await tell(plan, signal);
        return messages.length;
      }
      const at = new Date(clock()).toISOString();
      const written = await write(stored, claimNotifications(stored.told, change, at), signal);
      if (written === 'conflict' && turn < TRIES) {
        await options.wait(options.random() * MAX_WAIT_MS, signal);
        continue;
      }
      if (messages.length === 0) {
        if (written !== 'written' && isNeeded) throw new Error('What CloudWatch says could not be remembered.');
        return 0;
      }
      const release = async (untold: NotificationChange): Promise<void> => {
        if (written === 'written') await update((told) => releaseNotifications(told, stored.told, untold, at), signal);
      };
      await tell(plan, signal, release);
      return messages.length;
    }
  }

  async function tell(
    { messages, change }: Pick<Plan, 'messages' | 'change'>,
    signal: AbortSignal,
    release: (untold: NotificationChange) => Promise<void> = async () => {},
  ): Promise<void> {
    const refused = await publishToPeople(messages, signal);
    const [refusal] = refused.values();
    if (refusal === undefined) {
      await record({ messages, change }, signal);
      return;
    }
    const told = messages.filter(({ severity }) => !refused.has(severity));
    const alarms = new Set(told.flatMap(({ events }) => events.map((event) => event.alarm)));
    await release(changeOfAlarms(change, (id) => !alarms.has(id)));
    const ofTold = { ...changeOfAlarms(change, (id) => alarms.has(id)), changed: undefined };
    if (told.length > 0) await record({ messages: told, change: ofTold }, signal);
    throw refusal;
  }

  /** A topic that refuses keeps nothing from the other one. @returns why, by topic */
  async function publishToPeople(
    messages: readonly Notification[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<AlarmSeverity, Error>> {
    const refused = new Map<AlarmSeverity, Error>();
    for (const message of messages)
      try {
        if (!refused.has(message.severity)) await options.publish(message.severity, publicationOf(message), signal);
      } catch (error) {
        refused.set(message.severity, error instanceof Error ? error : new Error(String(error)));
      }
    return refused;
  }

  /** Remembers what people were told, and tells who gets incidents one by one. */
  async function record({ messages, change }: Pick<Plan, 'messages' | 'change'>, signal: AbortSignal): Promise<void> {
    count(metrics, { [METRIC.notified]: messages.length });
    const events = messages.flatMap(eventsOf);
    if (messages.length === 0) return;
    // The events are recorded too: if this run dies now, the next look sends them.
    let before: readonly UnsentEvent[] = [];
    const incidents = new Set(events.map(incidentOf));
    await update((told) => {
      before = told.unsent.filter((event) => incidents.has(incidentOf(event)));
      return markNotified(told, change, kept([...told.unsent, ...events]));
    }, signal);
    // Events of another run must arrive first. If that run died, the next look sends all.
    const mine = new Set(events.map(nameOf));
    for (let turn = 0; turn < WAITS && before.some(isSending); turn += 1) {
      await options.wait(WAIT_MS, signal);
      const { told } = await readState(signal);
      before = told.unsent.filter((event) => incidents.has(incidentOf(event)) && !mine.has(nameOf(event)));
    }
    const busy = new Set(before.filter(isSending).map(incidentOf));
    const error = await deliver(
      [...before, ...events].filter((event) => !busy.has(incidentOf(event))),
      signal,
    );
    if (error !== undefined) throw error;
  }

  /**
   * Whether another run may be sending it now. An event that some receiver already has was tried, so that run is done
   * with it.
   */
  function isSending({ detail, detailType, to }: UnsentEvent): boolean {
    return to.length === receiversOf(detailType).length && isFresh(detail.at, clock());
  }

  /** Tries all receivers of each event and records which of them still lack it. @returns the first failure */
  async function deliver(tried: readonly UnsentEvent[], signal: AbortSignal): Promise<AwsError | undefined> {
    if (tried.length === 0) return undefined;
    const brief = AbortSignal.any([signal, AbortSignal.timeout(EVENTS_MS)]);
    const link = await reportLink();
    const of = (receiver: Receiver) => tried.filter(({ to }) => to.includes(receiver));
    const [bus, pager, chat] = await Promise.all([
      options.putEvents(of('bus'), brief),
      page(of('pager'), link, brief),
      chatOf(of('chat'), link, brief),
    ]);
    const left = { bus, pager, chat };
    for (const [receiver, { unsent, error }] of Object.entries(left))
      if (error !== undefined)
        logger.warn('events not taken', { receiver, count: unsent.length, problem: awsProblem('events', error) });
    const names = new Set(tried.map(nameOf));
    const missed = new Map(
      Object.entries(left).map(([receiver, { unsent }]) => [receiver, new Set(unsent.map(nameOf))] as const),
    );
    const now = clock();
    const isOld = ({ detail }: UnsentEvent): boolean => now - Date.parse(detail.at) > KEPT_MS;
    const dropped = tried.filter((event) => isOld(event) && [...missed.values()].some((one) => one.has(nameOf(event))));
    if (dropped.length > 0) logger.error('events dropped', { count: dropped.length });
    await update((told) => {
      const rest = told.unsent.flatMap((event): readonly UnsentEvent[] => {
        const name = nameOf(event);
        if (!names.has(name)) return [event];
        const to = event.to.filter((receiver) => missed.get(receiver)?.has(name));
        return to.length === 0 || isOld(event) ? [] : [{ ...event, to }];
      });
      return markNotified(told, {}, rest);
    }, signal);
    return bus.error ?? pager.error ?? chat.error;
  }

  async function page(
    events: readonly UnsentEvent[],
    link: string | undefined,
    signal: AbortSignal,
  ): Promise<Undelivered> {
    const context = { place: options.place, link, runbooks: monitoring.runbooks };
    const incidents = events.filter((event) => !isDigest(event));
    return publishAll(
      'pager',
      incidents.map((event) => ({ of: [event], message: pagerPublication(event.detail, context) })),
      signal,
    );
  }

  /** Single messages go before the summary of the rest, which may contain the closing of an incident that they open. */
  async function chatOf(
    events: readonly UnsentEvent[],
    link: string | undefined,
    signal: AbortSignal,
  ): Promise<Undelivered> {
    const context = { link, runbooks: monitoring.runbooks };
    // A digest is never summarised.
    const [digests, incidents] = [events.filter(isDigest), events.filter((event) => !isDigest(event))];
    const room = events.length > MAX_CHAT ? Math.max(0, MAX_CHAT - 1 - digests.length) : MAX_CHAT;
    const [single, more] = [incidents.slice(0, room), incidents.slice(room)];
    const first = await publishAll(
      'chat',
      [
        ...single.map((event) => ({ of: [event], message: chatPublication(event.detail, context) })),
        ...digests.map((event) => ({ of: [event], message: chatSummary(event.detail, context) })),
      ],
      signal,
    );
    const failed = new Set(first.unsent.map(incidentOf));
    const held = more.filter((event) => failed.has(incidentOf(event)));
    const rest = more.filter((event) => !held.includes(event));
    if (rest.length === 0) return { ...first, unsent: [...first.unsent, ...held] };
    const message = chatSummary(
      rest.map(({ detail }) => detail),
      context,
    );
    const last = await publishAll('chat', [{ of: rest, message }], signal);
    const error = first.error ?? last.error;
    return { unsent: [...first.unsent, ...held, ...last.unsent], ...(error !== undefined && { error }) };
  }

  /**
   * Tries all, except later messages of an incident whose message failed: a closing must not arrive before the opening.
   */
  async function publishAll(
    topic: Exclude<Receiver, 'bus'>,
    all: readonly Outgoing[],
    signal: AbortSignal,
  ): Promise<Undelivered> {
    const unsent: UnsentEvent[] = [];
    let error: AwsError | undefined;
    const send = async (sequence: readonly Outgoing[]): Promise<void> => {
      for (const [index, { message }] of sequence.entries())
        try {
          await options.publish(topic, message, signal);
        } catch (failure) {
          if (!(failure instanceof AwsError)) throw failure;
          unsent.push(...sequence.slice(index).flatMap(({ of }) => of));
          error ??= failure;
          return;
        }
    };
    const sequences = [...Map.groupBy(all, ({ of: [event] }) => event && incidentOf(event)).values()];
    for (let start = 0; start < sequences.length; start += LANES)
      await Promise.all(sequences.slice(start, start + LANES).map(send));
    return { unsent, ...(error !== undefined && { error }) };
  }

  function kept(events: readonly UnsentEvent[]): readonly UnsentEvent[] {
    if (events.length > MAX_UNSENT) logger.error('events dropped', { count: events.length - MAX_UNSENT });
    return events.slice(-MAX_UNSENT);
  }

  /** Never fails: people have the message, and an error would send it again. */
  async function update(next: (told: NotificationState) => NotificationState, signal: AbortSignal): Promise<void> {
    for (let turn = 1; turn <= TRIES; turn += 1) {
      const stored = await readState(signal);
      if (stored.unknown) return;
      const written = await write(stored, next(stored.told), signal);
      if (written !== 'conflict') return;
      await options.wait(options.random() * MAX_WAIT_MS, signal);
    }
    logger.error('not remembered what was told', { problem: 'others wrote all the time' });
  }

  async function write({ etag, unknown }: Stored, told: NotificationState, signal: AbortSignal): Promise<Written> {
    if (unknown) return 'failed';
    try {
      await state.put(STATE_KEYS.told, told, etag, signal);
      return 'written';
    } catch (error) {
      if (isConflict(error)) return 'conflict';
      logger.error('not remembered what was told', { problem: awsProblem(STATE_KEYS.told, error) });
      return 'failed';
    }
  }

  async function readState(signal: AbortSignal, tried = 1): Promise<Stored> {
    try {
      const stored = await state.get(STATE_KEYS.told, signal);
      if (stored === undefined) return { told: NOTHING_NOTIFIED };
      const told = parseNotificationState(stored.value, clock());
      if (told !== undefined) {
        const dropped = droppedEvents(stored.value, told);
        if (dropped > 0)
          logger.error('events dropped', { count: dropped, remedy: 'Find out who else writes to the bucket.' });
        return { told, etag: stored.etag };
      }
      const etag = await state.put(STATE_KEYS.told, NOTHING_NOTIFIED, stored.etag, signal);
      logger.warn('state rebuilt', { object: STATE_KEYS.told, remedy: 'Nothing after a deploy of another version.' });
      return { told: NOTHING_NOTIFIED, etag };
    } catch (error) {
      if (isConflict(error) && tried < TRIES) return readState(signal, tried + 1);
      logger.error('told unreadable', { problem: awsProblem(STATE_KEYS.told, error) });
      return { told: NOTHING_NOTIFIED, unknown: true };
    }
  }

  /** A missing index is not an empty one: a fleet without data is not healthy. */
  async function seeFleet(signal: AbortSignal): Promise<Seen> {
    const now = clock();
    try {
      const [registry, index] = await Promise.all([
        read('registry', (value) => parseRegistry(value, now), signal),
        read('index', (value) => parseFleetIndex(value, now), signal),
      ]);
      return { health: fleetHealth(registry, index, monitoring, now) };
    } catch (error) {
      const problem = awsProblem('the state of the fleet', error);
      logger.error('fleet unreadable', { problem });
      return { health: undefined, problem: `${problem.object}: ${problem.message}` };
    }
  }

  /** @throws AwsError */
  async function read<T>(
    object: StateObject,
    parse: (value: unknown) => T | undefined,
    signal: AbortSignal,
  ): Promise<T> {
    const key = STATE_KEYS[object];
    const stored = await state.get(key, signal);
    const value = stored && parse(stored.value);
    if (value !== undefined) return value;
    const problem = stored === undefined ? 'it is not there' : 'it is not what certmarshal wrote there';
    const remedy = 'Nothing, if it is there within two minutes; else find out who else writes to the bucket.';
    throw new AwsError({ kind: 'invalid', object: key, problem, remedy });
  }

  async function reportLink(): Promise<string | undefined> {
    try {
      return await options.link?.(STATE_KEYS.page);
    } catch (error) {
      logger.warn('no link to the report page', { problem: awsProblem(STATE_KEYS.page, error) });
      return undefined;
    }
  }
}

/** The incident of an event; a digest has none. */
function incidentOf(event: UnsentEvent): string {
  return isDigest(event) ? '' : incidentKey(event.detail);
}

/** Compares content, not the order of receivers. */
function nameOf({ detailType, detail }: BusEvent): string {
  return canonicalJson([detailType, detail]);
}

type UnsentDigest = Extract<UnsentEvent, { readonly detailType: 'certmarshal digest' }>;

function isDigest(event: UnsentEvent): event is UnsentDigest {
  return event.detailType === 'certmarshal digest';
}

function eventsOf({ events, digest }: Notification): readonly UnsentEvent[] {
  const told = [
    ...events.map((detail) => ({ detailType: `certmarshal alarm ${detail.state}` as const, detail })),
    ...(digest === undefined ? [] : [{ detailType: 'certmarshal digest' as const, detail: digest }]),
  ];
  return told.map((event): UnsentEvent => ({ ...event, to: receiversOf(event.detailType) }));
}

/** The receivers of an event. A digest is not an incident, so it goes to no pager. */
function receiversOf(detailType: BusEvent['detailType']): readonly Receiver[] {
  return detailType === 'certmarshal digest' ? ['bus', 'chat'] : ['bus', 'pager', 'chat'];
}

/** @throws Error for any other input; the failed invocation then publishes it to people */
function readEvent(event: unknown, now: number): 'digest' | 'look' | readonly AlarmMessage[] {
  if (field(event, 'digest') === true) return 'digest';
  if (field(event, 'look') === true) return 'look';
  const records = field(event, 'Records');
  if (Array.isArray(records)) return records.map((record) => readRecord(record, now));
  throw new Error('The event is neither a notification of SNS nor asks for a digest or a look.');
}

function readRecord(record: unknown, now: number): AlarmMessage {
  const message = readAlarmMessage(text(record, 'Sns', 'Message') ?? '', now);
  if (message === undefined)
    throw new Error('The notification is not of an alarm of CloudWatch. Only CloudWatch may publish to this topic.');
  return message;
}
