import { Template } from 'aws-cdk-lib/assertions';
import { DEFAULT_MONITORING } from '../../../lambdas/config/fleet.ts';
import { type FleetIndex, parseFleetIndex } from '../../../lambdas/contracts/fleet-index.ts';
import type { SweepOutcome } from '../../../lambdas/contracts/outcome.ts';
import type { Target } from '../../../lambdas/contracts/target.ts';
import { outcomesObject } from '../../../lambdas/fleet/outcomes.ts';
import { createReport } from '../../../lambdas/fleet/report.ts';
import { outcomesKey, STATE_KEYS } from '../../../lambdas/fleet/state-keys.ts';
import type { State } from '../../../lambdas/state.ts';
import { createLogger, createMetrics } from '../../../lambdas/telemetry/telemetry.ts';
import { at, DAY, MINUTE, NOW, registered, registry } from '../../unit/fleet/values.ts';
import { fleetOf, stacksOf } from '../../unit/lib/stacks.ts';
import { alarmsOf } from './alarm-definitions.ts';
import { samplesOf } from './emf.ts';
import { listen } from './listen.ts';
import { createMetricStore, type MetricStore } from './metric-store.ts';
import { type People, startPeople } from './people.ts';
import { type AlarmSimulator, createSimulator, type Transition } from './simulator.ts';

export interface ReportStoryOptions {
  readonly targets: readonly Target[];
  /** Sources of the registry, as they are now. */
  readonly sources?: () => object;
}

/** Report, CloudWatch, notify and people, without clusters: a story says what sweeps see. */
export interface ReportStory extends Disposable {
  /** Milliseconds since the epoch. */
  now: number;
  readonly store: MetricStore;
  readonly simulator: AlarmSimulator;
  readonly people: People;
  index(): FleetIndex | undefined;
  /** Writes the outcomes of a tick; {@link report} reads them. */
  write(tick: number, outcomes: readonly SweepOutcome[]): Promise<void>;
  report(tick: number): Promise<void>;
  /** CloudWatch looks, and people hear of it. */
  judge(): Promise<readonly Transition[]>;
}

export function startReportStory({ targets, sources }: ReportStoryOptions): ReportStory {
  const store = createMetricStore();
  const simulator = createSimulator(alarmsOf(Template.fromStack(stacksOf(fleetOf()).hub).toJSON()), store);
  const fleet = registry(...targets.map((target) => registered(target.id, { target, foundAt: at(-DAY) })));
  const state = stateOf(() => (sources === undefined ? fleet : { ...fleet, sources: sources() }));
  const monitoring = { ...DEFAULT_MONITORING, auditEveryMinutes: 15 };
  const logger = createLogger('report');
  logger.setLogLevel('ERROR');
  const metrics = createMetrics('report');
  const now = (): number => story.now;
  const report = createReport({
    state,
    monitoring,
    clock: now,
    logger,
    metrics,
    fleet: { clusters: [], managementClusters: [] },
    targetsOf: (id) => targets.filter((target) => target.id === id),
    lanes: ['default'],
    sources: ['fleet.yaml'],
    askedSources: [],
    async *discover() {},
    publish: async () => undefined,
  });
  const never = new AbortController().signal;
  const endListening = listen((text) => {
    for (const sample of samplesOf(text)) store.add(sample);
  });
  const publish = (name: string): void =>
    store.add({
      namespace: 'certmarshal',
      name,
      dimensions: { service: 'plan' },
      at: story.now,
      value: targets.length,
    });

  const story: ReportStory = {
    now: NOW,
    store,
    simulator,
    people: startPeople({ state, monitoring, now, logger, metrics: createMetrics('notify') }),
    index: () => parseFleetIndex(state.objects.get(STATE_KEYS.index)?.value, story.now),
    async write(tick, outcomes) {
      const shards = Map.groupBy(outcomes.entries(), ([n]) => Math.floor(n / 64));
      for (const [shard, entries] of shards)
        await state.put(
          outcomesKey('default', tick, shard),
          outcomesObject(entries.map(([, outcome]) => outcome)),
          undefined,
          never,
        );
    },
    async report(tick) {
      publish('Dispatched');
      publish('Registered');
      await report({ tick, shards: [], outcomes: [] }, { discovery: never, all: never });
      if (metrics.hasStoredMetrics()) metrics.publishStoredMetrics();
    },
    async judge() {
      const changed = simulator.evaluate(story.now);
      await story.people.hear(changed);
      return changed;
    },
    [Symbol.dispose]: endListening,
  };
  return story;
}

type Objects = Map<string, { readonly value: unknown; readonly etag: string }>;

/** Nobody changes what is in it, so nothing is copied: there are a hundred thousand writes. */
function stateOf(registryNow: () => object): State & { readonly objects: Objects } {
  const objects: Objects = new Map();
  return {
    objects,
    get: async (key) => (key === STATE_KEYS.registry ? { value: registryNow(), etag: key } : objects.get(key)),
    async put(key, value) {
      objects.set(key, { value, etag: key });
      return key;
    },
    async list(prefix, after) {
      const keys = [...objects.keys()].filter((key) => key.startsWith(prefix));
      for (const key of keys.filter((one) => one <= after)) objects.delete(key);
      return keys.filter((key) => key > after).toSorted();
    },
  };
}

export { MINUTE, NOW };
