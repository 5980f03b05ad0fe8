import { SNSClient } from '@aws-sdk/client-sns';
import { Template } from 'aws-cdk-lib/assertions';
import { createPublisher } from '../../../lambdas/aws/topics.ts';
import type { Fleet } from '../../../lambdas/config/fleet.ts';
import { createLogger, createMetrics } from '../../../lambdas/telemetry/telemetry.ts';
import { stacksOf } from '../../unit/lib/stacks.ts';
import { awsClientConfig } from '../aws/aws-environment.ts';
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
import { type People, startPeople } from './people.ts';
import { createSimulator, type SimulatorOptions, type Transition } from './simulator.ts';

export interface StoryOptions<Clusters>
  extends Pick<
      HubOptions,
      'audits' | 'auditEngine' | 'aroundCall' | 'aroundState' | 'aroundSnapshots' | 'home' | 'stepRollout'
    >,
    Partial<SimulatorOptions> {
  /** Makes the clusters that there are at the beginning. */
  readonly clusters: (ground: Ground) => Promise<Clusters>;
  readonly fleetFile: (clusters: Clusters) => string;
}

/**
 * A hub with few clusters, and all that watches it: the metrics that its functions print and those of AWS, the alarms of
 * its template, EventBridge, notify, and what people get in the end. Everything is judged once a minute, as CloudWatch
 * does.
 */
export interface Story<Clusters> extends AsyncDisposable {
  readonly clock: SteppedClock;
  readonly aws: SimulatedAws;
  readonly hub: Hub;
  readonly clusters: Clusters;
  readonly store: MetricStore;
  readonly people: People;
  /**
   * So many ticks, and all that comes of them.
   *
   * @throws Error at a minute in which something is in ALARM without an open incident, and no topic is to blame
   */
  minutes(count: number): Promise<void>;
  /** Runs minutes until it holds. @throws Error when it does not within so many */
  until(holds: () => boolean, within: number): Promise<void>;
  /** The cause comes now: what was before is forgotten. */
  begin(): void;
  /** Functions that throw at once; `scheduler` starts no execution. */
  readonly broken: Set<'plan' | 'sweep' | 'report' | 'scheduler'>;
  /** Names of all alarms in state ALARM, those of the levels among them. */
  ringing(): readonly string[];
  /** Every alarm that rang since {@link begin}, by the minute in which it did first. Without the prefix of its name. */
  rang(): Readonly<Record<string, number>>;
  /** The same, of what is over again: the last time. */
  ended(): Readonly<Record<string, number>>;
  /** Whether nothing rings, and every incident is closed. */
  isOver(): boolean;
  /** The minute and the first line of each message to people; ports and dates, which differ from run to run, are left out. */
  told(): readonly string[];
  /**
   * What opened and closed, by minute: `11 opened ClusterUnreadable berlin`.
   *
   * @throws Error when people and chat did not get the same
   */
  incidents(): readonly string[];
  /** What CloudWatch said to the fallback topic: level, state and minute. */
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
  const { clusters: startClusters, fleetFile, vanishing = 'nothing', ...rest } = options;
  const { aroundCall: around = async (_, call) => call(), ...hubOptions } = rest;
  const clock = steppedClock(START);
  const aws = await startSimulatedAws({ clock });
  const clusters = await startClusters({ aws, clock });
  const fleet = fleetOf(fleetFile(clusters));
  // Synthesized before anything happens: nothing that comes later has an alarm of its own.
  const alarms = alarmsOfFleet(fleet);
  const store = createMetricStore();
  const simulator = createSimulator(alarms, store, { vanishing });
  const watched = awsMetrics({ alarms, store, clock });
  const broken: Story<Clusters>['broken'] = new Set();

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
  const people = peopleOf({ aws, clock, fleet, hub, aroundCall: watched.aroundCall });

  let begun = clock.now();
  const minuteOf = (at: number): number => Math.round((at - begun) / MINUTE);
  const transitions: Transition[] = [];
  /** Nobody hears of the first minutes of a hub. */
  let isWatched = false;

  async function judge(): Promise<void> {
    const changed = simulator.evaluate(clock.now());
    transitions.push(...changed);
    if (!isWatched) return;
    await people.hear(changed);
    const unheard = people.refusing.size > 0 || people.isBusy() ? [] : people.unheard(simulator);
    if (unheard.length > 0) throw new Error(`in minute ${minuteOf(clock.now())} nobody hears of ${unheard.join(', ')}`);
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
    people,
    broken,
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
        if (minute === within)
          throw new Error(
            `not in ${within} minutes; ringing: ${story.ringing().join()}, open: ${[...people.open()].join()}`,
          );
        await story.minutes(1);
      }
    },
    begin() {
      begun = clock.now();
      people.forget();
    },
    ringing: () => alarms.filter(isRinging).map(shortName),
    rang: () =>
      Object.fromEntries(
        since('to')
          .toReversed()
          .map(({ alarm, at }) => [shortName(alarm), minuteOf(at)]),
      ),
    ended: () => Object.fromEntries(since('from').map(({ alarm, at }) => [shortName(alarm), minuteOf(at)])),
    isOver: () => story.ringing().length === 0 && people.open().size === 0 && !people.isBusy(),
    told: () =>
      people.messages
        .filter(({ topic }) => topic === 'critical' || topic === 'warning')
        .map(({ at, line }) => `${minuteOf(at)} ${stable(line)}`),
    incidents() {
      const of = (...topics: readonly string[]): readonly string[] =>
        people.messages
          .filter(({ topic, state }) => topics.includes(topic) && state !== 'raw')
          .map(({ at, state, key }) => `${minuteOf(at)} ${state} ${key}`);
      const [pager, chat, mail] = [of('pager'), of('chat'), of('critical', 'warning')];
      for (const other of [chat, mail])
        if (JSON.stringify(other) !== JSON.stringify(pager))
          throw new Error(`the pager has ${pager.join()}, and not ${other.join()}`);
      return pager;
    },
    fallback: () =>
      transitions
        .filter(({ actions, at }) => at > begun && actions.some((topic) => topic.startsWith('TopicsPager')))
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

interface Around {
  readonly hub: Hub;
  readonly aws: SimulatedAws;
  readonly clock: SteppedClock;
  readonly fleet: Fleet;
  readonly aroundCall: ReturnType<typeof awsMetrics>['aroundCall'];
}

/** The function notify, wired as lambdas/functions/notify.ts does it. */
function peopleOf({ hub, aws, clock, fleet, aroundCall }: Around): People {
  const topics = {
    critical: aws.sns.createTopic(HUB, 'critical'),
    warning: aws.sns.createTopic(HUB, 'warning'),
    pager: aws.sns.createTopic(HUB, 'pager'),
    chat: aws.sns.createTopic(HUB, 'chat'),
  };
  const metrics = createMetrics('notify');
  return startPeople({
    state: hub.state,
    monitoring: fleet.monitoring,
    now: () => clock.now(),
    publish: createPublisher(topics, new SNSClient(awsClientConfig(aws, HUB))),
    logger: createLogger('notify'),
    metrics,
    aroundCall: async (call) =>
      clock.during(
        aroundCall('notify', call).finally(() => {
          if (metrics.hasStoredMetrics()) metrics.publishStoredMetrics();
        }),
      ),
  });
}

function shortName({ name }: AlarmDefinition): string {
  return name.replace(/^certmarshal-/, '');
}

function stable(line: string): string {
  return line
    .replaceAll(/127\.0\.0\.1:\d+/g, 'SERVER')
    .replaceAll(/,? (?:on |since )?\d{4}-\d\d-\d\d \d\d:\d\d UTC/g, '');
}
