import { MetricUnit } from '@aws-lambda-powertools/metrics';
import { awsProblem } from '../aws/aws-problem.ts';
import { isConflict } from '../aws/errors.ts';
import type { Fleet } from '../config/fleet.ts';
import type { Reading } from '../contracts/contract.ts';
import { type FleetIndex, MAX_FINDINGS, parseFleetIndex } from '../contracts/fleet-index.ts';
import { readOrders, type SweepItem } from '../contracts/order.ts';
import type { SweepOutcome } from '../contracts/outcome.ts';
import { boundedProblem, type Problem } from '../contracts/problem.ts';
import { parseRegistry, type Registry } from '../contracts/registry.ts';
import { type FleetHealth, fleetHealth, type Monitoring, storedHealth } from '../health/fleet-health.ts';
import { coveredBy, openWindows } from '../health/maintenance.ts';
import { publishedSeries, type Series, seriesOf } from '../health/series.ts';
import type { State } from '../state.ts';
import { entryOf } from '../tables/keys.ts';
import { SIGNALS } from '../tables/signals.ts';
import { METRIC } from '../telemetry/metric-names.ts';
import { recordHealth } from '../telemetry/record-health.ts';
import { count, type Telemetry } from '../telemetry/telemetry.ts';
import { MINUTE_MS } from '../time.ts';
import { type NewCounts, newCounts } from './count-csrs.ts';
import type { SourceResult } from './discover.ts';
import { endpointAddressesOf } from './endpoint-addresses.ts';
import { fitRegistry, type TargetsOf } from './fits-fleet.ts';
import { findingsOf, foldOutcomes, sweepAges } from './fold-outcomes.ts';
import { listedClusters } from './listed-clusters.ts';
import { readOutcomes } from './outcomes.ts';
import { fleetProblems } from './plan-tick.ts';
import { type FailedShard, halveFailed, type LaneTick } from './shards.ts';
import { SHARED_TOKEN } from './shared-tokens.ts';
import { ordersKey, outcomesKey, outcomesOf, STATE_KEYS } from './state-keys.ts';
import { dueSources, foundBefore, updateRegistry } from './update-registry.ts';
import { workloadClusters } from './workload-clusters.ts';

/** The first tick of each writes the report page. Milliseconds. */
const PAGE_MS = 5 * MINUTE_MS;
/** Outcomes of older ticks are not folded: the state of each cluster is in newer ones. Milliseconds. */
const LONGEST_GAP_MS = 10 * MINUTE_MS;
/** In the log; the index has more. */
const LOGGED = 20;
/**
 * Problems that fire no alarm: the cluster is being created or deleted, is gone (the registry says so for two weeks),
 * has findings accepted but does not exist, or shares its name, and so its token, with another one.
 */
const ON_PURPOSE: ReadonlySet<string> = new Set(['passing', 'missing', 'accept', SHARED_TOKEN]);
/**
 * Errors of a sweep that never began. Source: Step Functions Developer Guide, "Handle Lambda service exceptions", and
 * NotBegunError.
 */
const NOT_BEGUN: ReadonlySet<string> = new Set([
  'NotBegun',
  'Lambda.TooManyRequestsException',
  'Lambda.ServiceException',
  'Lambda.SdkClientException',
]);

export interface ReportOptions extends Telemetry {
  readonly fleet: Pick<Fleet, 'clusters' | 'managementClusters'> & Partial<Pick<Fleet, 'audit'>>;
  readonly targetsOf: TargetsOf;
  readonly lanes: readonly string[];
  readonly monitoring: Monitoring;
  readonly state: State;
  /** The clusters that are named one by one. @default those that `fleet` lists */
  readonly listed?: SourceResult;
  /** Every source of the fleet, by name. */
  readonly sources: readonly string[];
  /** Those that are asked, each when it is due. */
  readonly askedSources: readonly string[];
  /** Lists the clusters of each source and yields each result as it arrives. */
  readonly discover: (
    sources: readonly string[],
    previous: Registry | undefined,
    signal: AbortSignal,
  ) => AsyncIterable<SourceResult>;
  /** Writes the report page. Its errors are logged and counted. */
  readonly publish: (health: FleetHealth, signal: AbortSignal) => Promise<void>;
  /** @default one tick in five writes it */
  readonly pageEveryMs?: number;
  /** Publishes the metrics of the fleet. */
  readonly record?: typeof recordHealth;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

/** What became of the sweeps of a tick. */
export interface TickResult {
  /** The minute, in milliseconds since the epoch. */
  readonly tick: number;
  /** Absent if plan failed. */
  readonly shards?: readonly SweepItem[] | undefined;
  /** In the order of the shards; absent if none could be made. */
  readonly outcomes?: readonly { readonly error?: string | undefined }[] | undefined;
}

interface Measured {
  readonly health: FleetHealth;
  readonly series: readonly Series[];
  readonly tick: number;
  /** The newest tick before it. */
  readonly reported: number;
}

export interface ReportSignals {
  /** Ends the discovery, early enough for what follows it. */
  readonly discovery: AbortSignal;
  /** Ends everything. */
  readonly all: AbortSignal;
}

/**
 * The last third of a minute, and the one writer of index and registry: folds the outcomes of this tick and the last
 * one into the index, publishes the metrics, writes the page, then asks the sources of clusters that are due. Another
 * report that wrote first is as good: this one then ends.
 *
 * @throws AwsError when the state cannot be read or written
 */
export type Report = (result: TickResult, signals: ReportSignals) => Promise<void>;

export function createReport(options: ReportOptions): Report {
  const { fleet, targetsOf, lanes, monitoring, state, sources, clock, logger, metrics } = options;
  const { pageEveryMs = PAGE_MS, record = recordHealth } = options;

  return async ({ tick, shards, outcomes: results }, { discovery, all }) => {
    metrics.setTimestamp(tick);
    const [storedRegistry, storedIndex] = await Promise.all([
      state.get(STATE_KEYS.registry, all),
      state.get(STATE_KEYS.index, all),
    ]);
    const previous = parseRegistry(storedRegistry?.value, clock());
    const registry = previous && fitRegistry(previous, targetsOf);
    const before = parseFleetIndex(storedIndex?.value, clock());
    const outcomes = await outcomesSince(sinceOf(tick, before?.reported), registry, all);
    const now = clock();
    const lanesOfTick = await lanesOf(shards ?? [], results, all);
    const halved = halveFailed(before?.apart ?? {}, lanesOfTick, tick);
    const problems = [
      ...(shards === undefined ? [NO_PLAN] : []),
      ...notBegun(results ?? []),
      ...halved.problems,
      ...(registry === undefined
        ? []
        : [...fleetProblems(registry, before, new Set(lanes)), ...acceptingNothing(registry, fleet.audit)]),
    ];
    const counts = newCounts(before, outcomes, now);
    const folded = foldOutcomes(before, outcomes, now, counts);
    const reported = before?.reported ?? 0;
    const current: FleetIndex = {
      ...folded,
      apart: halved.apart,
      problems: findingsOf(firstOf(problems), folded.writtenAt, before?.problems),
    };
    const health =
      reported < tick && registry !== undefined ? fleetHealth(registry, current, monitoring, now) : undefined;
    const series = health === undefined ? [] : seriesOf(health, monitoring.alarms, current.series);
    const published = health && {
      reported: tick,
      health: storedHealth(health),
      series: publishedSeries(series, current.series),
    };
    const index: FleetIndex = { ...current, ...published };
    if (!(await isWritten(STATE_KEYS.index, index, storedIndex?.etag, all))) return;
    logRebuilt(STATE_KEYS.index, storedIndex, before);

    publishCounts(counts, index);
    if (health !== undefined && registry !== undefined) {
      // Missing data fires the alarm, also where every sweep fails.
      if (outcomes.length > 0 || Object.keys(registry.clusters).length === 0)
        count(metrics, { [METRIC.outcomesFolded]: outcomes.length });
      countProblems(problems);
      await measure(registry, index, { health, series, tick, reported }, all);
    }

    const next = await discovered(registry, index, discovery);
    await isWritten(STATE_KEYS.registry, next, storedRegistry?.etag, all);
    logRebuilt(STATE_KEYS.registry, storedRegistry, previous);
  };

  /** @returns false if another report wrote first */
  async function isWritten(key: string, value: object, etag: string | undefined, signal: AbortSignal) {
    try {
      await state.put(key, value, etag, signal);
      return true;
    } catch (error) {
      if (!isConflict(error)) throw error;
      logger.info('another report was faster', { object: key });
      return false;
    }
  }

  /** A lane says nothing about the clusters of another one. */
  async function outcomesSince(
    from: number,
    registry: Registry | undefined,
    signal: AbortSignal,
  ): Promise<readonly SweepOutcome[]> {
    const outcomes: SweepOutcome[] = [];
    let dropped = 0;
    const fold = (key: string, lane: string, reading: Reading<SweepOutcome>): void => {
      const problem = reading.ok ? foreign(reading.value, lane, registry) : reading.problem;
      if (reading.ok && problem === undefined) outcomes.push(reading.value);
      else if ((dropped += 1) <= LOGGED) logger.error('outcome dropped', { object: key, problem, remedy: WRITERS });
    };
    const readAll = lanes.map(async (lane) => {
      const keys = await state.list(outcomesOf(lane), outcomesKey(lane, from, ''), signal);
      const objects = keys.map(async (key) => ({ key, stored: await state.get(key, signal) }));
      for (const { key, stored } of await Promise.all(objects))
        for (const reading of readOutcomes(stored?.value)) fold(key, lane, reading);
    });
    await Promise.all(readAll);
    count(metrics, { [METRIC.outcomesUnreadable]: dropped });
    return outcomes;
  }

  /** An object is read only for a shard that failed: it says whose shard it was. */
  async function lanesOf(
    shards: readonly SweepItem[],
    results: TickResult['outcomes'] = [],
    signal: AbortSignal,
  ): Promise<readonly LaneTick[]> {
    const errors = new Map(shards.map((item, n) => [item, results[n]?.error]));
    const isFailed = (item: SweepItem): boolean => {
      const error = errors.get(item);
      return error !== undefined && !NOT_BEGUN.has(error);
    };
    const ofLanes = [...Map.groupBy(shards, ({ lane }) => lane)].map(async ([lane, items]) => {
      const failed = await Promise.all(items.filter(isFailed).map(async (item) => failedShard(item, signal)));
      return { lane, shards: items.length, failed: failed.flatMap((one) => one ?? []) };
    });
    return Promise.all(ofLanes);
  }

  /** Undefined if its sweep wrote outcomes before it failed. */
  async function failedShard(
    { lane, tick, object, shard }: SweepItem,
    signal: AbortSignal,
  ): Promise<FailedShard | undefined> {
    if ((await state.get(outcomesKey(lane, tick, shard), signal)) !== undefined) return undefined;
    const orders = readOrders((await state.get(ordersKey(lane, tick, object), signal))?.value, lane, shard);
    const ids = orders.ok ? (orders.value.get(shard) ?? []).flatMap(({ id }) => id ?? []) : [];
    logger.error('sweep did not end', { lane, shard, clusters: ids.length, first: ids.slice(0, LOGGED) });
    return { lane, ids };
  }

  /** After the index is written, so that a run that repeats this one publishes nothing twice. */
  function publishCounts(counts: ReadonlyMap<string, NewCounts>, { clusters }: FleetIndex): void {
    if (counts.size === 0) return;
    const open = openWindows(monitoring.maintenance, clock());
    const counted = [...counts].flatMap(([id, one]) =>
      coveredBy({ id, name: clusters[id]?.name }, open) === undefined ? [{ id, ...one }] : [],
    );
    const sumOf = (key: 'issued' | 'late' | 'notProvable') => counted.reduce((sum, one) => sum + one[key], 0);
    const away = counted.filter(({ notCountedMs }) => notCountedMs > 0);
    count(metrics, {
      [METRIC.csrsIssued]: sumOf('issued'),
      [METRIC.csrsLate]: sumOf('late'),
      [METRIC.csrsNotProvable]: sumOf('notProvable'),
      [METRIC.clustersNotCounted]: away.length,
    });
    const late = counted.filter((one) => one.late > 0).toSorted((a, b) => b.late - a.late);
    if (late.length > 0)
      logger.warn('CSRs late', {
        clusters: late.length,
        most: late.slice(0, LOGGED).map((one) => ({ id: one.id, late: one.late })),
        remedy: 'Run certmarshal audit for the clusters with the most: it lists what is pending, and why.',
      });
    if (away.length > 0)
      logger.warn('CSRs not counted', {
        clusters: away.length,
        longest: away
          .toSorted((a, b) => b.notCountedMs - a.notCountedMs)
          .slice(0, LOGGED)
          .map(({ id, notCountedMs }) => ({ id, minutes: Math.ceil(notCountedMs / MINUTE_MS) })),
        problem: 'these clusters could not be read for more than an hour, so the objective lacks the minutes before it',
      });
  }

  function countProblems(problems: readonly Problem[]): void {
    count(metrics, { [METRIC.discoveryProblems]: problems.filter(({ kind }) => !ON_PURPOSE.has(kind)).length });
    if (problems.length > 0)
      logger.warn('problems of the fleet', { problemCount: problems.length, problems: problems.slice(0, LOGGED) });
  }

  async function measure(
    registry: Registry,
    index: FleetIndex,
    { health, series, tick, reported }: Measured,
    signal: AbortSignal,
  ): Promise<void> {
    const now = clock();
    const ages = sweepAges(registry, index, now).toSorted((a, b) => b.ageMs - a.ageMs);
    const unreadable = Object.values(index.clusters).filter(
      ({ id, readable }) => !readable && Object.hasOwn(registry.clusters, id),
    );
    count(metrics, { [METRIC.clustersUnreadable]: unreadable.length });
    metrics.addMetric(METRIC.oldestSweep, MetricUnit.Seconds, Math.round((ages[0]?.ageMs ?? 0) / 1000));
    record(health, series, SIGNALS, metrics, tick);
    logger.info('outcomes folded', {
      clusters: Object.keys(index.clusters).length,
      unreadable: unreadable.length,
      states: health.counts,
      oldestSweeps: ages.slice(0, LOGGED).map(({ id, ageMs }) => ({ id, ageSeconds: Math.round(ageMs / 1000) })),
    });
    if (Math.floor(reported / pageEveryMs) === Math.floor(tick / pageEveryMs)) return;
    try {
      await options.publish(health, signal);
    } catch (error) {
      count(metrics, { [METRIC.pagesUnwritten]: 1 });
      logger.error('report page not written', { problem: awsProblem(STATE_KEYS.page, error) });
    }
  }

  async function discovered(registry: Registry | undefined, index: FleetIndex, signal: AbortSignal): Promise<Registry> {
    const startedAt = clock();
    const due = dueSources(registry, options.askedSources, startedAt);
    const results: SourceResult[] = [
      options.listed ?? listedClusters(fleet),
      ...workloadClusters(fleet, index, registry),
    ];
    try {
      if (due.length > 0) for await (const one of options.discover(due, registry, signal)) results.push(one);
    } catch (error) {
      logger.error('discovery failed', { problem: awsProblem('discovery', error) });
    }
    const now = clock();
    const next = foundBefore(updateRegistry(registry, results, now, sources), index, now);
    const clusters = Object.entries(next.clusters).map(([id, cluster]) => [
      id,
      { ...cluster, endpointAddresses: endpointAddressesOf(cluster, entryOf(index.clusters, id), now) },
    ]);
    return { ...next, clusters: Object.fromEntries(clusters) };
  }

  function logRebuilt(object: string, stored: object | undefined, parsed: object | undefined): void {
    if (stored !== undefined && parsed === undefined)
      logger.warn('state rebuilt', {
        object,
        problem: 'it was not what this version of certmarshal writes there',
        remedy: 'Nothing after a deploy of another version. Otherwise find out who else writes to the state.',
      });
  }
}

/** The last tick, whose sweeps may have ended after its report; more where reports are missing. */
function sinceOf(tick: number, reported = tick): number {
  return Math.max(tick - LONGEST_GAP_MS, Math.min(tick - MINUTE_MS, reported));
}

const WRITERS = 'Only sweep writes it: find out who else does, or deploy all functions together.';

const NO_PLAN: Problem = {
  kind: 'plan',
  object: 'plan',
  message: 'no sweep was planned in this minute',
  remedy: 'Read the log of the plan function: it says what it could not read or write.',
};

function notBegun(results: readonly { readonly error?: string | undefined }[]): readonly Problem[] {
  const late = results.filter(({ error }) => error !== undefined && NOT_BEGUN.has(error)).length;
  if (late === 0) return [];
  return [
    {
      kind: 'not-begun',
      object: 'sweep',
      message: `${late} of ${results.length} sweeps did not begin in their minute; their clusters wait for the next one`,
      remedy:
        'Raise the concurrency of the account (Service Quotas, Lambda, Concurrent executions) or hub.reservedConcurrency; the metric OldestSweep says how long clusters wait.',
    },
  ];
}

function foreign({ id }: SweepOutcome, lane: string, registry: Registry | undefined): string | undefined {
  const own = entryOf(registry?.clusters, id)?.target?.lane;
  return own === undefined || own === lane ? undefined : `it is about cluster ${id}, which is in lane ${own}`;
}

function acceptingNothing({ clusters }: Registry, { accept }: Partial<Fleet['audit']> = {}): readonly Problem[] {
  const strays = (accept ?? []).filter(({ cluster }) => !Object.hasOwn(clusters, cluster));
  return strays.map(({ cluster, code }) => ({
    kind: 'accept',
    object: `audit.accept of ${code}`,
    message: `the fleet has no cluster ${cluster}`,
    remedy: 'Correct cluster in this entry of fleet.yaml, or remove the entry.',
  }));
}

/** At most as many as the index holds; the last one says how many there are. */
function firstOf(problems: readonly Problem[]): readonly Problem[] {
  const bounded = problems.slice(0, MAX_FINDINGS).map(boundedProblem);
  if (problems.length <= MAX_FINDINGS) return bounded;
  const more = {
    kind: 'more',
    object: `${problems.length - MAX_FINDINGS + 1} more problems`,
    message: `${problems.length} problems in all; only the first ${MAX_FINDINGS - 1} are listed`,
    remedy: 'Look for what they have in common, and fix that first.',
  };
  return [...bounded.slice(0, -1), more];
}
