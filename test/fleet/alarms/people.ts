import { createPublisher, type Publish } from '../../../lambdas/aws/topics.ts';
import { createNotifyHandler, type NotifyOptions, type TopicName } from '../../../lambdas/functions/handle-notify.ts';
import { alarmChange } from '../../../lambdas/notify/alarm-change.ts';
import { alarmEvent, contributorEvent } from '../../unit/notify/values.ts';
import { MINUTE } from '../hub/world.ts';
import type { AlarmSimulator, Transition } from './simulator.ts';

/** Of an asynchronous call of Lambda. */
const TRIES = 3;

export interface PeopleOptions extends Pick<NotifyOptions, 'state' | 'monitoring' | 'logger' | 'metrics'> {
  readonly now: () => number;
  /** Topics that take what they get. @default all do */
  readonly publish?: ReturnType<typeof createPublisher<TopicName>>;
  /** Stands around each call of notify. @default nobody */
  readonly aroundCall?: (call: () => Promise<void>) => Promise<void>;
}

/** EventBridge, notify, and all that people, pagers and chats get. */
export interface People {
  /** What EventBridge hands over of the changes of a minute, and what Lambda tries again. */
  hear(changes: readonly Transition[]): Promise<void>;
  /** The message of a day. */
  daily(): Promise<void>;
  /** Topics that refuse messages. */
  readonly refusing: Set<TopicName>;
  /** Topics at which notify dies, each once, before it publishes there: as when Lambda ends the process. */
  readonly deadly: Set<TopicName>;
  /** EventBridge hands over each event twice, and those of a minute in any order. */
  isDisordered: boolean;
  /** Everything so far, the oldest first. */
  readonly messages: readonly Sent[];
  /** Keys of the incidents that are open on the pager. */
  open(): ReadonlySet<string>;
  /** What is in ALARM, and has no open incident. */
  unheard(simulator: AlarmSimulator): readonly string[];
  /** Whether Lambda will try something again. */
  isBusy(): boolean;
  /** The messages so far are forgotten; what is open stays open. */
  forget(): void;
}

export interface Sent {
  readonly at: number;
  readonly topic: TopicName;
  readonly state: string;
  /** Of the incident. */
  readonly key: string;
  /** The first line. */
  readonly line: string;
}

export function startPeople(options: PeopleOptions): People {
  const { now, state, monitoring, logger, metrics, aroundCall = async (work) => work() } = options;
  const messages: Sent[] = [];
  /** By topic and key. */
  const states = new Map<string, Map<string, string>>();
  const [refusing, deadly] = [new Set<TopicName>(), new Set<TopicName>()];
  let death = Promise.withResolvers<never>();
  let again: { readonly event: object; readonly tries: number; readonly at: number }[] = [];
  const publish: Publish<TopicName> = async (topic, message, signal) => {
    if (refusing.has(topic)) throw new Error(`${topic} refuses`);
    if (deadly.delete(topic)) {
      death.reject(new Error('the process ended'));
      await new Promise(() => undefined);
    }
    await options.publish?.(topic, message, signal);
    const { default: text, https } = JSON.parse(message.message);
    const { key = '', AlarmName = key, metadata } = JSON.parse(https);
    const [line = ''] = text.split('\n', 1);
    const sent = { state: message.attributes['state'] ?? '', key: metadata?.threadId ?? AlarmName };
    messages.push({ at: now(), topic, ...sent, line });
    states.set(topic, new Map([...(states.get(topic) ?? []), [sent.key, sent.state]]));
  };
  const handle = createNotifyHandler({
    state,
    monitoring,
    publish,
    logger,
    metrics,
    clock: now,
    topicArn: 'arn:aws:sns:eu-central-1:999900001111:critical',
    link: async () => 'https://report.example.com/report.html',
  });

  async function call(event: object, tries = 1): Promise<void> {
    death = Promise.withResolvers<never>();
    // Nobody waits for it where notify lives.
    death.promise.catch(() => undefined);
    try {
      await aroundCall(async () => Promise.race([handle(event, new AbortController().signal), death.promise]));
    } catch {
      // After a minute, and after two more; then people get the event itself.
      if (tries < TRIES) again.push({ event, tries: tries + 1, at: now() + tries * MINUTE });
      else messages.push({ at: now(), topic: 'critical', state: 'raw', key: '', line: JSON.stringify(event) });
    }
  }

  function openOn(topic: string): readonly string[] {
    return [...(states.get(topic) ?? [])].flatMap(([key, to]) => (to === 'opened' ? [key] : []));
  }

  const people: People = {
    refusing,
    deadly,
    isDisordered: false,
    messages,
    async hear(changes) {
      const events = changes.map(eventOf);
      const handed = people.isDisordered ? [...events.toReversed(), ...events] : events;
      for (const event of handed) await call(event);
      // CloudWatch itself: what is about notify.
      for (const { alarm, at, to, actions } of changes)
        if (actions.some((topic) => topic.startsWith('TopicsCritical')))
          messages.push({ at, topic: 'critical', state: 'raw', key: '', line: `${alarm.name} ${to}` });
      const due = again.filter(({ at }) => at <= now());
      again = again.filter(({ at }) => at > now());
      for (const { event, tries } of due) await call(event, tries);
    },
    daily: async () => call({ daily: true }),
    open: () => new Set(openOn('pager')),
    unheard(simulator) {
      const open = new Set(['pager', 'critical', 'warning'].flatMap(openOn));
      const keys = simulator.inAlarm().map((row) => keyOf({ ...row, at: now(), from: 'OK', to: 'ALARM', actions: [] }));
      return keys.filter((key) => key !== undefined && !open.has(key)).map(String);
    },
    isBusy: () => again.length > 0,
    forget: () => void (messages.length = 0),
  };
  return people;
}

/** What EventBridge has of a change. */
function eventOf({ alarm, contributor, at, from, to }: Transition) {
  const time = new Date(at).toISOString();
  const event =
    contributor === undefined
      ? alarmEvent(alarm, to, { from, time })
      : contributorEvent(alarm, to, { ...contributor }, time);
  return { ...event, detail: { ...event.detail, configuration: { metrics: [], description: alarm.description } } };
}

function keyOf(change: Transition): string | undefined {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- its reader has tests of its own
  return alarmChange(eventOf(change) as never)?.key;
}
