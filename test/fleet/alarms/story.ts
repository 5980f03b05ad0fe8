import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { SNSClient } from '@aws-sdk/client-sns';
import { Template } from 'aws-cdk-lib/assertions';
import { AwsError } from '../../../lambdas/aws/errors.ts';
import { createEventSender } from '../../../lambdas/aws/events.ts';
import { createPublisher } from '../../../lambdas/aws/topics.ts';
import type { Fleet } from '../../../lambdas/config/fleet.ts';
import type { AlarmEvent } from '../../../lambdas/contracts/event.ts';
import { parseNotificationState } from '../../../lambdas/contracts/notification-state.ts';
import { STATE_KEYS } from '../../../lambdas/fleet/state-keys.ts';
import { createNotifyHandler } from '../../../lambdas/functions/handle-notify.ts';
import { HUB_SIZES } from '../../../lambdas/hub-sizes.ts';
import { incidentKey } from '../../../lambdas/notify/incident.ts';
import { openAlarms } from '../../../lambdas/notify/notification-state.ts';
import { topicPlace } from '../../../lambdas/notify/pager-message.ts';
import type { State } from '../../../lambdas/state.ts';
import { createLogger, createMetrics } from '../../../lambdas/telemetry/telemetry.ts';
import { stacksOf } from '../../unit/lib/stacks.ts';
import { awsClientConfig } from '../aws/aws-environment.ts';
import type { BusEvent } from '../aws/event-bridge.ts';
import { type SimulatedAws, startSimulatedAws } from '../aws/simulated-aws.ts';
import { type SteppedClock, steppedClock } from '../clock.ts';
import type { Ground, HubCluster } from '../hub/clusters.ts';
import { type AroundCall, type Hub, type HubOptions, startHub } from '../hub/hub.ts';
import { HUB } from '../hub/places.ts';
import { fleetOf, MINUTE, START } from '../hub/world.ts';
import { type AlarmDefinition, alarmsOf } from './alarm-definitions.ts';
import { awsMetrics } from './aws-metrics.ts';
import { samplesOf } from './emf.ts';
import { listen } from './listen.ts';
import { createMetricStore, type MetricStore } from './metric-store.ts';
import { createSimulator, type Transition } from './simulator.ts';

/** Of an asynchronous call of Lambda. */
const TRIES = 3;

/** What notify publishes to. */
type Topic = 'critical' | 'warning' | 'pager' | 'chat';

export interface StoryOptions<Clusters>
  extends Pick<
    HubOptions,
    'audits' | 'auditEngine' | 'aroundCall' | 'aroundState' | 'aroundSnapshots' | 'home' | 'stepRollout'
  > {
  /** Makes the clusters that there are at the beginning. */
  readonly clusters: (ground: Ground) => Promise<Clusters>;
  readonly fleetFile: (clusters: Clusters) => string;
}

/**
 * A hub with few clusters, and all that watches it: the metrics that its functions print and those of AWS, the alarms of its template, notify, and what
 * people get in the end. Everything is judged once a minute, as CloudWatch does.
 */
export interface Story<Clusters> extends AsyncDisposable {
  readonly clock: SteppedClock;
  readonly aws: SimulatedAws;
  readonly hub: Hub;
  readonly clusters: Clusters;
  readonly store: MetricStore;
  /** So many ticks, and all that comes of them. */
  minutes(count: number): Promise<void>;
  /** Runs minutes until it holds. @throws Error when it does not within so many */
  until(holds: () => boolean, within: number): Promise<void>;
  /** The cause comes now: what was before is no longer told. */
  begin(): void;
  /** Functions that throw at once; `scheduler` starts no execution. */
  readonly broken: Set<'plan' | 'sweep' | 'report' | 'scheduler'>;
  /** Topics that refuse messages, and the object in which notify remembers them. */
  readonly refusing: Set<Topic | 'memory'>;
  /** Topics at which notify dies, each once, before it publishes there: as when Lambda ends the process. */
  readonly deadly: Set<Topic>;
  /** Names of all alarms in state ALARM, those of the levels among them. */
  ringing(): readonly string[];
  /** Every alarm that rang since {@link begin}, by the minute in which it did first. Without the prefix of its name. */
  rang(): Readonly<Record<string, number>>;
  /** The same, of what is over again: the last time. */
  ended(): Readonly<Record<string, number>>;
  /** Whether nothing rings, and people know that. */
  isOver(): boolean;
  /** The minute and the first line of each message to people, which is the whole story; ports and dates, which differ from run to run, are left out. */
  told(): readonly string[];
  /**
   * The same messages as EventBridge has them: `opened OldestSweep: berlin`, `closed FunctionErrors (report)`.
   *
   * @throws Error when pager and chat were not told exactly these, or one of them does not say what to do
   */
  events(): readonly string[];
  /** What the pager got, which tells incidents apart by the name: `11 ALARM ClusterUnreadable berlin: [critical] berlin: …`. */
  paged(): readonly string[];
  /** The threads of what the chat got. */
  threads(): readonly string[];
  /** What CloudWatch told the fallback topic: level, state and minute. */
  fallback(): readonly string[];
  /** All that the functions printed. */
  output(): string;
}

/**
 * Begins when a fresh hub has become quiet: its heartbeats ring for the first minutes, when there are no data yet.
 *
 * @throws Error when it does not become quiet
 */
export async function startStory<Clusters extends Readonly<Record<string, Pick<HubCluster, 'server'>>>>(
  options: StoryOptions<Clusters>,
): Promise<Story<Clusters>> {
  const { clusters: startClusters, fleetFile, aroundCall: around = async (_, call) => call(), ...hubOptions } = options;
  const clock = steppedClock(START);
  const aws = await startSimulatedAws({ clock });
  const clusters = await startClusters({ aws, clock });
  const fleet = fleetOf(fleetFile(clusters));
  // Synthesized before anything happens: nothing that comes later has an alarm of its own.
  const alarms = alarmsOfFleet(fleet);
  const store = createMetricStore();
  const simulator = createSimulator(alarms, store);
  const watched = awsMetrics({ alarms, store, clock });
  const broken: Story<Clusters>['broken'] = new Set();
  const [refusing, deadly] = [new Set<Topic | 'memory'>(), new Set<Topic>()];

  const output: string[] = [];
  const endListening = listen((text) => {
    output.push(text);
    // Powertools stamps what it publishes with the time of this machine; report alone says of which minute it is.
    for (const sample of samplesOf(text))
      store.add(
        sample.dimensions['service'] === 'report' && sample.at % MINUTE === 0 ? sample : { ...sample, at: clock.now() },
      );
  });
  const aroundCall: AroundCall = async (name, call) =>
    watched.aroundCall(name, async () => {
      if (broken.has(name)) throw new Error(`${name} is dead`);
      return call();
    });
  const hub = startHub({
    home: 'bucket',
    ...hubOptions,
    aws,
    clock,
    fleet,
    aroundCall: async (name, call, item) => around(name, async () => aroundCall(name, call), item),
  });
  const notify = startNotify({ aws, clock, fleet, state: hub.state, aroundCall: watched.aroundCall, refusing, deadly });

  let begun = clock.now();
  let [events, published] = [0, 0];
  const minuteOf = (at: number): number => Math.round((at - begun) / MINUTE);
  const transitions: Transition[] = [];
  const told: string[] = [];
  const paged: { readonly at: number; readonly page: Page }[] = [];
  const chatted: Chat[] = [];
  const onTopic = new Map(
    alarms.flatMap(({ name, alarmActions }) => (alarmActions[0] ? [[name, alarmActions[0]]] : [])),
  );
  const topicOf = (alarm: string): string => onTopic.get(alarm) ?? '';

  /** Nobody is told of the first minutes of a hub. */
  let isWatched = false;
  /** What notify could not handle, and Lambda hands to it again. */
  let again: { readonly event: unknown; readonly tries: number; readonly at: number }[] = [];

  async function tell(event: unknown, tries = 1): Promise<void> {
    let failed = false;
    await clock.during(
      notify(event).catch(() => {
        failed = true;
      }),
    );
    // After a minute, and after two more; then people get the event itself.
    if (failed && tries < TRIES) again.push({ event, tries: tries + 1, at: clock.now() + tries * MINUTE });
    else if (failed) told.push(`${minuteOf(clock.now())} as it came: ${alarmIn(event)}`);
    for (; published < aws.sns.published.length; published += 1) {
      const { topicArn = '', texts } = aws.sns.published[published] ?? {};
      const [line = ''] = texts?.default.split('\n', 1) ?? [];
      const document = JSON.parse(texts?.['https'] ?? '{}');
      if (topicArn.endsWith(':pager')) paged.push({ at: clock.now(), page: document });
      else if (topicArn.endsWith(':chat')) chatted.push(document);
      else told.push(`${minuteOf(clock.now())} ${stable(line)}`);
    }
  }

  async function judge(): Promise<void> {
    const changed = simulator.evaluate(clock.now());
    transitions.push(...changed);
    if (!isWatched) return;
    for (const change of changed)
      if (change.actions.some((topic) => topic.startsWith('TopicsAlarms')))
        await tell({ Records: [{ Sns: { Message: messageOf(change) } }] });
    const due = again.filter(({ at }) => at <= clock.now());
    again = again.filter(({ at }) => at > clock.now());
    for (const { event, tries } of due) await tell(event, tries);
    // Scheduler does not hand it over again: the next one is near.
    if (clock.now() % (HUB_SIZES.notify.looksEverySeconds * 1_000) === 0) await tell({ look: true });
  }

  const isRinging = ({ name }: AlarmDefinition): boolean => simulator.stateOf(name) === 'ALARM';
  const since = (state: 'from' | 'to') =>
    transitions.filter((change) => change.contributor === undefined && change.at > begun && change[state] === 'ALARM');
  const story: Story<Clusters> = {
    clock,
    aws,
    hub,
    clusters,
    store,
    broken,
    refusing,
    deadly,
    async minutes(count) {
      for (let minute = 0; minute < count; minute += 1) {
        // Scheduler does not try again.
        if (!broken.has('scheduler')) await watched.execution(async () => hub.minute());
        await clock.advance(MINUTE);
        await judge();
      }
    },
    async until(holds, within) {
      for (let minute = 0; !holds(); minute += 1) {
        if (minute === within) throw new Error(`not within ${within} minutes; ringing: ${story.ringing().join(', ')}`);
        await story.minutes(1);
      }
    },
    begin() {
      begun = clock.now();
      told.length = 0;
      paged.length = 0;
      chatted.length = 0;
      events = aws.eventBridge.eventsOf(HUB).length;
    },
    ringing: () => alarms.filter(isRinging).map(({ name }) => shortName(name)),
    rang: () =>
      Object.fromEntries(
        since('to')
          .toReversed()
          .map(({ alarm, at }) => [shortName(alarm), minuteOf(at)]),
      ),
    ended: () => Object.fromEntries(since('from').map(({ alarm, at }) => [shortName(alarm), minuteOf(at)])),
    isOver: () => {
      const remembered = parseNotificationState(JSON.parse(hub.textOf(STATE_KEYS.told) || '{}'), clock.now());
      return story.ringing().length === 0 && again.length === 0 && (!remembered || openAlarms(remembered).length === 0);
    },
    told: () => [...told],
    events() {
      const all = aws.eventBridge.eventsOf(HUB).slice(events);
      checkIncidents(
        all,
        paged.map(({ page }) => page),
        chatted,
      );
      return all.map(toldEvent);
    },
    paged: () =>
      paged.map(
        ({ at, page: { AlarmName, NewStateValue, AlarmDescription } }) =>
          `${minuteOf(at)} ${NewStateValue} ${AlarmName}: ${stable(AlarmDescription.split('\n', 1)[0] ?? '')}`,
      ),
    threads: () => chatted.map(({ metadata: { threadId } }) => threadId),
    fallback: () =>
      transitions
        .filter(({ alarm, at }) => at > begun && topicOf(alarm).startsWith('TopicsPager'))
        .map(({ alarm, at, to }) => `${shortName(alarm)} ${to} ${minuteOf(at)}`),
    output: () => output.join(''),
    async [Symbol.asyncDispose]() {
      endListening();
      await hub[Symbol.asyncDispose]();
      await Promise.all(
        Object.values<Pick<HubCluster, 'server'>>({ ...clusters }).map(async ({ server }) => server.stop()),
      );
      await aws[Symbol.asyncDispose]();
    },
  };
  await story.minutes(4);
  await story.until(() => story.ringing().length === 0, 6);
  isWatched = true;
  story.begin();
  return story;
}

/** The fleet of a story changes nothing in the template but by these. */
const templates = new Map<string, readonly AlarmDefinition[]>();

function alarmsOfFleet(fleet: Fleet): readonly AlarmDefinition[] {
  const key = JSON.stringify([fleet.monitoring.alarms, fleet.lanes, fleet.hub]);
  const alarms = templates.get(key) ?? alarmsOf(Template.fromStack(stacksOf(fleet).hub).toJSON());
  templates.set(key, alarms);
  return alarms;
}

interface NotifyOptions {
  readonly state: State;
  readonly aws: SimulatedAws;
  readonly clock: SteppedClock;
  readonly fleet: Fleet;
  readonly aroundCall: ReturnType<typeof awsMetrics>['aroundCall'];
  readonly refusing: ReadonlySet<Topic | 'memory'>;
  readonly deadly: Set<Topic>;
}

/** The function notify, wired as lambdas/functions/notify.ts does it. @returns how it is called */
function startNotify({
  aws,
  clock,
  fleet,
  state,
  aroundCall,
  refusing,
  deadly,
}: NotifyOptions): (event: unknown) => Promise<void> {
  const config = awsClientConfig(aws, HUB);
  const [sns, eventBridge] = [new SNSClient(config), new EventBridgeClient(config)];
  const topics = {
    critical: aws.sns.createTopic(HUB, 'critical'),
    warning: aws.sns.createTopic(HUB, 'warning'),
    pager: aws.sns.createTopic(HUB, 'pager'),
    chat: aws.sns.createTopic(HUB, 'chat'),
  };
  const metrics = createMetrics('notify');
  const publish = createPublisher(topics, sns);
  let death = Promise.withResolvers<never>();
  const handle = createNotifyHandler({
    state: {
      ...state,
      async put(...call) {
        if (refusing.has('memory'))
          throw new AwsError({ kind: 'denied', object: 's3:PutObject', problem: 'refused', remedy: 'Wait.' });
        return state.put(...call);
      },
    },
    monitoring: { ...fleet.monitoring, auditEveryMinutes: fleet.audit.everyMinutes },
    async publish(topic, message, signal) {
      if (refusing.has(topic))
        throw new AwsError({ kind: 'denied', object: `sns:Publish to ${topic}`, problem: 'refused', remedy: 'Wait.' });
      if (deadly.delete(topic)) {
        death.reject(new Error('the process ended'));
        await new Promise(() => undefined);
      }
      await publish(topic, message, signal);
    },
    place: topicPlace(topics.critical),
    putEvents: createEventSender(eventBridge),
    link: async () => 'https://report.example.com/report.html',
    clock: () => clock.now(),
    random: () => 0,
    wait: async () => undefined,
    logger: createLogger('notify'),
    metrics,
  });
  return async (event) => {
    death = Promise.withResolvers<never>();
    // Nobody waits for it where notify lives.
    death.promise.catch(() => undefined);
    await aroundCall('notify', async () =>
      Promise.race([handle(event, new AbortController().signal), death.promise]),
    ).finally(() => {
      if (metrics.hasStoredMetrics()) metrics.publishStoredMetrics();
    });
  };
}

/** What a paging service reads. */
interface Page {
  readonly AlarmName: string;
  readonly NewStateValue: string;
  readonly AlarmDescription: string;
}

/** What a chat shows. */
interface Chat {
  readonly content: { readonly title: string; readonly description: string; readonly nextSteps: readonly string[] };
  readonly metadata: { readonly threadId: string };
}

/** @throws Error when pager and chat do not have the incidents that EventBridge has, or one does not say what to do */
function checkIncidents(events: readonly BusEvent[], pages: readonly Page[], chats: readonly Chat[]): void {
  const wanted = events.flatMap(({ detailType, detail }) => {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a test of the schema looks at every event
    const event = detail as AlarmEvent;
    return detailType === 'certmarshal digest' ? [] : [`${event.state} ${incidentKey(event)}`];
  });
  const onPager = pages.map(
    ({ AlarmName, NewStateValue }) => `${NewStateValue === 'ALARM' ? 'opened' : 'closed'} ${AlarmName}`,
  );
  const threads = wanted.map((one) => one.replace(/^\w+ /, ''));
  const inChat = chats.flatMap(({ metadata: { threadId } }) => (/^(?:digest|many) /.test(threadId) ? [] : [threadId]));
  const missing = [
    ...different('the pager', wanted, onPager),
    // What is more than ten at once is one message.
    ...(chats.some(({ metadata }) => metadata.threadId.startsWith('many '))
      ? []
      : different('the chat', threads, inChat)),
  ];
  const mute = [
    ...pages.filter(({ AlarmDescription: text }) => !isWhole(text)).map(({ AlarmName }) => AlarmName),
    ...chats.flatMap(({ content: { title, description, nextSteps }, metadata: { threadId } }) =>
      inChat.includes(threadId) && !isWhole([title, description, ...nextSteps].join('\n')) ? [threadId] : [],
    ),
  ];
  if (missing.length + mute.length > 0)
    throw new Error([...missing, ...mute.map((one) => `says too little: ${one}`)].join('\n'));
}

function different(where: string, wanted: readonly string[], found: readonly string[]): readonly string[] {
  return JSON.stringify(wanted.toSorted()) === JSON.stringify(found.toSorted())
    ? []
    : [`${where} got ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`];
}

/** A date, the first command and the runbook. */
function isWhole(text: string): boolean {
  return [/\d{4}-\d\d-\d\d \d\d:\d\d UTC/, /First: \S/, /Runbook: certmarshal runbook [a-z-]+/].every((part) =>
    part.test(text),
  );
}

/** What CloudWatch publishes of a change. */
function messageOf({ alarm, from, to, at }: Transition): string {
  return JSON.stringify({
    AlarmName: alarm,
    OldStateValue: from,
    NewStateValue: to,
    NewStateReason: 'Threshold Crossed',
    StateChangeTime: new Date(at).toISOString().replace('Z', '+0000'),
  });
}

function alarmIn(event: unknown): string {
  const [, name = '', state = ''] = /AlarmName\W+([\w-]+).*NewStateValue\W+(\w+)/.exec(JSON.stringify(event)) ?? [];
  return `${shortName(name)} ${state}`;
}

function shortName(alarm: string): string {
  return alarm.replace(/^certmarshal-/, '');
}

function toldEvent({ detailType, detail }: BusEvent): string {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a test of the schema looks at every event
  const { alarm, cluster, part } = detail as AlarmEvent;
  const ofHub = part === undefined ? '' : ` (${part})`;
  const about = cluster === undefined ? ofHub : `: ${cluster}`;
  return `${detailType.replace(/^certmarshal alarm /, '')} ${alarm}${about}`;
}

function stable(line: string): string {
  return line
    .replaceAll(/127\.0\.0\.1:\d+/g, 'SERVER')
    .replaceAll(/, (?:on |since )?\d{4}-\d\d-\d\d \d\d:\d\d UTC/g, '');
}
