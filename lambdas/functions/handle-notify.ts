import type { Logger } from '@aws-lambda-powertools/logger';
import { type Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';
import { AwsError } from '../aws/errors.ts';
import type { UnsentEvents } from '../aws/events.ts';
import type { JsonObjects } from '../aws/json-objects.ts';
import type { TopicMessage } from '../aws/topics.ts';
import { parseFleetIndex } from '../fleet/parse-index.ts';
import { parseRegistry } from '../fleet/parse-registry.ts';
import { STATE_KEYS, type StateObject } from '../fleet/state-keys.ts';
import type { AlarmSeverity } from '../health/alarms.ts';
import { type FleetHealth, fleetHealth, type Monitoring } from '../health/fleet-health.ts';
import { type AlarmMessage, readAlarmMessage } from '../notify/alarm-message.ts';
import { alarmOf } from '../notify/alarm-name.ts';
import { digestOf } from '../notify/digest.ts';
import type { Notification } from '../notify/message.ts';
import { parseTold } from '../notify/parse-told.ts';
import { type Plan, planNotifications, planUnknown } from '../notify/plan.ts';
import { publicationOf } from '../notify/publication.ts';
import { afterTelling, type BusEvent, NOTHING_TOLD, type Told, type ToldChange } from '../notify/told.ts';
import { METRIC } from '../telemetry/metric-names.ts';
import { problemOf } from './problem-of.ts';

/** Two messages at once are rare, and each tries again at another moment. */
const TRIES = 5;
const LONGEST_WAIT_MS = 500;
/** EventBridge may not take the time in which is written what people were told. Milliseconds. */
const EVENTS_MS = 8_000;

export interface NotifyOptions {
  readonly state: JsonObjects;
  /** The name of its bucket, for people. */
  readonly bucket?: string;
  readonly monitoring: Monitoring;
  /** To the topic of the severity. @throws AwsError */
  readonly publish: (severity: AlarmSeverity, message: TopicMessage, signal: AbortSignal) => Promise<void>;
  readonly putEvents: (events: readonly BusEvent[], signal: AbortSignal) => Promise<UnsentEvents<BusEvent>>;
  /** To the report page; undefined where messages carry none. */
  readonly link: (() => Promise<string>) | undefined;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** From 0 to 1. */
  readonly random: () => number;
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/**
 * Tells people what an alarm means, or once a day how the fleet is.
 *
 * First the people, then EventBridge, then the record of it: what ends in between is told again rather than not at all. What EventBridge did not take is in the
 * record and goes with the next run, so that no message to people comes twice for it.
 *
 * @throws Error when people could not be told, when what came is no message of CloudWatch, or when EventBridge did not take an event. Lambda then
 * comes again, and in the end hands the message itself to people.
 */
export type HandleNotify = (event: unknown, signal: AbortSignal) => Promise<void>;

interface Stored {
  readonly told: Told;
  readonly etag?: string;
  /** S3 did not answer: it must not be written over. */
  readonly unknown?: true;
}

interface Seen {
  readonly health: FleetHealth | undefined;
  /** Why there is none. */
  readonly problem?: string;
}

export function createNotifyHandler(options: NotifyOptions): HandleNotify {
  const { state, bucket, monitoring, clock, logger, metrics } = options;

  return async (event, signal) => {
    const asked = readEvent(event, clock());
    if (asked === 'digest') {
      await digest(signal);
      return;
    }
    for (const message of asked) await alarm(message, signal);
  };

  async function alarm(message: AlarmMessage, signal: AbortSignal): Promise<void> {
    const named = alarmOf(message.name);
    const [{ health, problem }, stored, link] = await Promise.all([seeFleet(signal), readTold(signal), reportLink()]);
    const common = { message, told: stored.told, bucket, now: clock(), ...(link === undefined ? {} : { link }) };
    const plan: Plan =
      named === undefined
        ? planUnknown(common)
        : planNotifications({ ...common, named, health, settings: monitoring.alarms });
    logger.info('alarm', {
      alarm: message.name,
      state: message.state,
      messages: plan.messages.length,
      ...(problem === undefined ? {} : { problem }),
    });
    await tell(plan.messages, plan.change, stored, signal);
  }

  async function digest(signal: AbortSignal): Promise<void> {
    const [seen, stored, link] = await Promise.all([seeFleet(signal), readTold(signal), reportLink()]);
    const { message, change } = digestOf({
      ...seen,
      told: stored.told,
      settings: monitoring.alarms,
      bucket,
      now: clock(),
      ...(link === undefined ? {} : { link }),
    });
    logger.info('digest', { messages: message === undefined ? 0 : 1 });
    await tell(message === undefined ? [] : [message], change, stored, signal);
  }

  async function tell(
    messages: readonly Notification[],
    change: ToldChange,
    stored: Stored,
    signal: AbortSignal,
  ): Promise<void> {
    for (const message of messages) await options.publish(message.severity, publicationOf(message), signal);
    metrics.addMetric(METRIC.notified, MetricUnit.Count, messages.length);
    const events = [...stored.told.unsent, ...messages.flatMap(eventsOf)];
    if (messages.length === 0 && events.length === 0) return;
    const brief = AbortSignal.any([signal, AbortSignal.timeout(EVENTS_MS)]);
    const { unsent, error } = await options.putEvents(events, brief);
    await remember(stored, change, events, unsent, signal);
    if (error !== undefined) throw error;
  }

  /** Never fails: people were told, and a second time is better than an error that tells them again for certain. */
  async function remember(
    stored: Stored,
    change: ToldChange,
    tried: readonly BusEvent[],
    unsent: readonly BusEvent[],
    signal: AbortSignal,
  ): Promise<void> {
    const done = new Set(tried.map((event) => JSON.stringify(event)));
    let { told, etag, unknown } = stored;
    for (let turn = 1; unknown === undefined; turn += 1) {
      // Of another writer's events only those that were not tried here.
      const theirs = told.unsent.filter((event) => !done.has(JSON.stringify(event)));
      try {
        await state.write(STATE_KEYS.told, afterTelling(told, change, [...theirs, ...unsent]), etag, signal);
        return;
      } catch (error) {
        const isConflict = error instanceof AwsError && error.kind === 'conflict';
        if (!isConflict || turn === TRIES) {
          logger.error('not remembered what was told', { problem: problemOf(STATE_KEYS.told, error) });
          return;
        }
        await options.wait(options.random() * LONGEST_WAIT_MS, signal);
        // What people were told here stays told, whatever somebody else told them meanwhile.
        ({ told, etag, unknown } = await readTold(signal));
      }
    }
  }

  async function readTold(signal: AbortSignal): Promise<Stored> {
    try {
      const found = await state.read(STATE_KEYS.told, signal);
      if (found === undefined) return { told: NOTHING_TOLD };
      const told = parseTold(found.value, clock());
      if (told !== undefined) return { told, etag: found.etag };
      logger.error('told unreadable', {
        problem: `${STATE_KEYS.told} is not what certmarshal wrote there`,
        remedy: 'Nothing: it is written anew, and people may be told twice. Find out who else writes to the bucket.',
      });
      return { told: NOTHING_TOLD, etag: found.etag };
    } catch (error) {
      logger.error('told unreadable', { problem: problemOf(STATE_KEYS.told, error) });
      return { told: NOTHING_TOLD, unknown: true };
    }
  }

  /** An index that is not there is not an empty one: a fleet of which nothing is known is not well. */
  async function seeFleet(signal: AbortSignal): Promise<Seen> {
    const now = clock();
    try {
      const [registry, index] = await Promise.all([
        read('registry', (value) => parseRegistry(value, now), signal),
        read('index', (value) => parseFleetIndex(value, now), signal),
      ]);
      return { health: fleetHealth(registry, index, monitoring, now) };
    } catch (error) {
      const problem = problemOf('the state of the fleet', error);
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
    const found = await state.read(key, signal);
    const value = found && parse(found.value);
    if (value !== undefined) return value;
    const problem = found === undefined ? 'it is not there' : 'it is not what certmarshal wrote there';
    const remedy = 'Nothing, if it is there within two minutes; else find out who else writes to the bucket.';
    throw new AwsError({ kind: 'invalid', object: key, problem, remedy });
  }

  async function reportLink(): Promise<string | undefined> {
    try {
      return await options.link?.();
    } catch (error) {
      logger.warn('no link to the report page', { problem: problemOf(STATE_KEYS.page, error) });
      return undefined;
    }
  }
}

function eventsOf({ events, digest }: Notification): readonly BusEvent[] {
  return [
    ...events.map((detail): BusEvent => ({ detailType: `certmarshal alarm ${detail.state}`, detail })),
    ...(digest === undefined ? [] : [{ detailType: 'certmarshal digest' as const, detail: digest }]),
  ];
}

/** @throws Error for what is neither: somebody has to look at it, and the message reaches people when this fails. */
function readEvent(event: unknown, now: number): 'digest' | readonly AlarmMessage[] {
  if (typeof event === 'object' && event !== null) {
    if ('digest' in event && event.digest === true) return 'digest';
    if ('Records' in event && Array.isArray(event.Records))
      return event.Records.map((record) => readRecord(record, now));
  }
  throw new Error('The event is neither a notification of SNS nor asks for a digest.');
}

function readRecord(record: unknown, now: number): AlarmMessage {
  const sns = typeof record === 'object' && record !== null && 'Sns' in record ? record.Sns : undefined;
  const text = typeof sns === 'object' && sns !== null && 'Message' in sns ? sns.Message : undefined;
  const message = typeof text === 'string' ? readAlarmMessage(text, now) : undefined;
  if (message === undefined)
    throw new Error('The notification is not of an alarm of CloudWatch. Only CloudWatch may publish to this topic.');
  return message;
}
