import { MetricUnit } from '@aws-lambda-powertools/metrics';
import type { SQSEvent } from 'aws-lambda';
import { awsProblem } from '../aws/aws-problem.ts';
import { AwsError } from '../aws/errors.ts';
import type { JsonObjects } from '../aws/json-objects.ts';
import type { ReceivedMessage } from '../aws/queues.ts';
import { droppedClusters, type FleetIndex, parseFleetIndex } from '../contracts/fleet-index.ts';
import type { Outcome } from '../contracts/outcome.ts';
import { parseRegistry, type Registry } from '../contracts/registry.ts';
import { decodeReportStart } from '../contracts/report-start.ts';
import { boundIndex } from '../fleet/bound-index.ts';
import { type NewCounts, newCounts } from '../fleet/count-csrs.ts';
import { foldOutcomes } from '../fleet/fold-outcomes.ts';
import { decodeOutcomes } from '../fleet/outcome-message.ts';
import { STATE_KEYS } from '../fleet/state-keys.ts';
import { sweepAges } from '../fleet/sweep-ages.ts';
import { tickAt } from '../fleet/tick.ts';
import { type FleetHealth, fleetHealth, type Monitoring } from '../health/fleet-health.ts';
import { coveredBy, openWindows } from '../health/maintenance.ts';
import { signalsByClass } from '../tables/alarms.ts';
import { SIGNALS } from '../tables/signals.ts';
import { METRIC } from '../telemetry/metric-names.ts';
import { recordHealth } from '../telemetry/record-health.ts';
import { count, type Telemetry } from '../telemetry/telemetry.ts';
import { MINUTE_MS } from '../time.ts';
import { type DrainOptions, drainQueue } from './drain-queue.ts';
import { logRebuilt } from './log-rebuilt.ts';

/**
 * Bounds of one run. A minute of 10,000 clusters is 6 MB; this much takes 400 MB of memory. The time leaves two thirds
 * of the timeout for what follows.
 */
const MOST = { messages: 5_000, bytes: 32 * 1024 * 1024, ms: 10_000 } as const;
/** Enough for two writers that retry after random waits. */
const TRIES = 5;
const MAX_WAIT_MS = 500;
/** Clusters named in the log, oldest sweep first, for the engineer who follows the alarm. */
const LOGGED_AGES = 10;
const LOGGED_CUT = 10;
const LOGGED_LATE = 20;
const LOGGED_DROPS = 20;

export interface ReportOptions extends Telemetry {
  readonly outcomes: {
    readonly receive: DrainOptions['receive'];
    /** @throws AwsError when some stay */
    readonly remove: (messages: readonly ReceivedMessage[], signal: AbortSignal) => Promise<void>;
  };
  readonly state: JsonObjects;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** From 0 to 1. */
  readonly random: () => number;
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly monitoring: Monitoring;
  /** The report page. @default no page is written */
  readonly page?: PageOptions;
}

export interface PageOptions {
  /** The first tick of each interval writes it. */
  readonly everyMs: number;
  /** Its errors are logged and counted, and do not fail the fold. */
  readonly publish: (health: FleetHealth, signal: AbortSignal) => Promise<void>;
}

/**
 * Folds the queued outcomes into the fleet index. The first run of a tick also publishes the metrics of the fleet, with
 * the time of the tick, and from time to time writes the report page. Messages are deleted last, so the next run
 * repairs a killed one: folding is idempotent, and the index records the tick of the last metrics.
 *
 * @throws AwsError when outcomes cannot be received, or the index cannot be read or written; the starts are then
 * delivered again
 */
export type ReportTick = (event: SQSEvent, signal: AbortSignal) => Promise<void>;

export function createReportTick(options: ReportOptions): ReportTick {
  const { outcomes: queue, state, clock, random, wait, logger, metrics, monitoring, page } = options;
  const byClass = signalsByClass(monitoring.alarms);
  return async ({ Records: records }, signal) => {
    const starts = records.map(({ messageId: id, body }) => ({ id, body, start: decodeReportStart(body) }));
    const tick = tickAt(Math.max(...starts.map(({ start }) => (start.ok ? start.value.tick : 0))), clock());
    metrics.setTimestamp(tick);
    const { messages, error } = await drainQueue({ receive: queue.receive, clock, most: MOST }, signal);
    if (error !== undefined && messages.length === 0) throw error;
    if (error !== undefined) logger.warn('outcomes left', { problem: awsProblem('outcomes', error) });
    const outcomes = read([...starts.filter(({ start }) => !start.ok), ...messages]);
    const { index, before, counts } = await fold(outcomes, tick, signal);
    publishCounts(counts, index);
    if (before === undefined || before < tick) {
      // Missing data fires the alarm, also where every sender fails.
      if (outcomes.length > 0) count(metrics, { [METRIC.outcomesFolded]: outcomes.length });
      const health = await measure(index, tick, signal);
      if (health !== undefined && page !== undefined && isDue(page, before, tick))
        await publishPage(page, health, signal);
    }
    await remove(messages, signal);
  };

  function read(messages: readonly Pick<ReceivedMessage, 'id' | 'body'>[]): readonly Outcome[] {
    const outcomes: Outcome[] = [];
    const dropped: { readonly messageId: string; readonly problem: string }[] = [];
    for (const { id, body } of messages)
      for (const one of decodeOutcomes(body))
        if (one.ok) outcomes.push(one.value);
        else dropped.push({ messageId: id, problem: one.problem });
    count(metrics, { [METRIC.outcomesUnreadable]: dropped.length });
    for (const drop of dropped.slice(0, LOGGED_DROPS))
      logger.error('message dropped', {
        ...drop,
        remedy:
          'Only dispatch and sweep write to these queues: find out who else does, or deploy all functions together.',
      });
    return outcomes;
  }

  /** @returns the index as written, the tick of the last published metrics, and the counts that are new in it */
  async function fold(
    outcomes: readonly Outcome[],
    tick: number,
    signal: AbortSignal,
  ): Promise<{
    readonly index: FleetIndex;
    readonly before: number | undefined;
    readonly counts: ReadonlyMap<string, NewCounts>;
  }> {
    for (let tried = 1; ; tried += 1) {
      const stored = await state.read(STATE_KEYS.index, signal);
      const previous = stored === undefined ? undefined : parseFleetIndex(stored.value, clock());
      const leftOut = previous === undefined ? 0 : droppedClusters(stored?.value, previous);
      if (leftOut > 0)
        logger.error('clusters left out of the index', {
          count: leftOut,
          problem: `some entries of ${STATE_KEYS.index} are not what certmarshal wrote there`,
          remedy: 'Find out who else writes to the bucket. They are known again after their next sweep.',
        });
      const before = previous?.reported;
      const now = clock();
      const folded = {
        ...foldOutcomes(previous, outcomes, now),
        rebuiltAt: previous === undefined ? new Date(now).toISOString() : previous.rebuiltAt,
        reported: Math.max(before ?? 0, tick),
      };
      const index = boundIndex(folded);
      try {
        await state.write(STATE_KEYS.index, index, stored?.etag, signal);
        if (index !== folded) logCut(index);
        if (stored !== undefined && previous === undefined) logRebuilt('index', logger);
        return { index, before, counts: newCounts(previous, outcomes, now) };
      } catch (error) {
        const isConflict = error instanceof AwsError && error.kind === 'conflict';
        if (!isConflict || tried === TRIES) throw error;
        await wait(random() * MAX_WAIT_MS, signal);
      }
    }
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
        most: late.slice(0, LOGGED_LATE).map((one) => ({ id: one.id, late: one.late })),
        remedy: 'Run certmarshal sweep for the clusters with the most: it lists what is pending, and why.',
      });
    if (away.length > 0)
      logger.warn('CSRs not counted', {
        clusters: away.length,
        longest: away
          .toSorted((a, b) => b.notCountedMs - a.notCountedMs)
          .slice(0, LOGGED_LATE)
          .map(({ id, notCountedMs }) => ({ id, minutes: Math.ceil(notCountedMs / MINUTE_MS) })),
        problem: 'these clusters could not be read for more than an hour, so the objective lacks the minutes before it',
      });
  }

  function logCut({ clusters }: FleetIndex): void {
    const cut = Object.values(clusters).flatMap((cluster) => (cluster.cut ? [cluster.id] : []));
    logger.warn('index cut', {
      clusters: cut.length,
      first: cut.slice(0, LOGGED_CUT),
      problem: 'clusters say more than the index has room for; details of those that say the most were left out',
      remedy: 'Run certmarshal audit, which shows all of it. Journal and snapshots are whole.',
    });
  }

  /**
   * Publishes nothing when the registry is missing or unreadable: the alarm on the oldest sweep also fires on missing
   * data.
   */
  async function measure(index: FleetIndex, tick: number, signal: AbortSignal): Promise<FleetHealth | undefined> {
    const registry = await readRegistry(index, signal);
    if (registry === undefined) return undefined;
    const now = clock();
    const ages = sweepAges(registry, index, now).toSorted((a, b) => b.ageMs - a.ageMs);
    const unreadable = Object.values(index.clusters).filter(
      ({ id, readable }) => !readable && Object.hasOwn(registry.clusters, id),
    );
    count(metrics, { [METRIC.clustersUnreadable]: unreadable.length });
    metrics.addMetric(METRIC.oldestSweep, MetricUnit.Seconds, Math.round((ages[0]?.ageMs ?? 0) / 1000));
    const health = fleetHealth(registry, index, monitoring, now);
    recordHealth(health, { units: SIGNALS, byClass }, { logger, metrics }, tick);
    logger.info('outcomes folded', {
      clusters: Object.keys(index.clusters).length,
      unreadable: unreadable.length,
      states: health.counts,
      oldestSweeps: ages.slice(0, LOGGED_AGES).map(({ id, ageMs }) => ({ id, ageSeconds: Math.round(ageMs / 1000) })),
    });
    return health;
  }

  async function publishPage({ publish }: PageOptions, health: FleetHealth, signal: AbortSignal): Promise<void> {
    try {
      await publish(health, signal);
    } catch (error) {
      count(metrics, { [METRIC.pagesUnwritten]: 1 });
      logger.error('report page not written', { problem: awsProblem(STATE_KEYS.page, error) });
    }
  }

  /** Undeleted messages are folded again, which changes nothing. */
  async function remove(messages: readonly ReceivedMessage[], signal: AbortSignal): Promise<void> {
    try {
      await queue.remove(messages, signal);
    } catch (error) {
      logger.warn('outcomes not deleted', { problem: awsProblem('outcomes', error) });
    }
  }

  async function readRegistry({ dispatch }: FleetIndex, signal: AbortSignal): Promise<Registry | undefined> {
    try {
      const stored = await state.read(STATE_KEYS.registry, signal);
      if (stored === undefined) {
        // dispatch writes the registry in its first tick. An empty fleet has no sweep to wait for.
        if (dispatch?.registered === 0)
          return { version: 1, writtenAt: new Date(clock()).toISOString(), sources: {}, clusters: {} };
        logger.error('registry lost', {
          remedy: 'Nothing, if dispatch writes it within a minute; else do what its problems in the index say.',
        });
        return undefined;
      }
      const registry = parseRegistry(stored.value, clock());
      if (registry === undefined)
        logger.error('registry unreadable', { remedy: 'Nothing: dispatch writes it again within a minute.' });
      return registry;
    } catch (error) {
      logger.error('registry unreadable', { problem: awsProblem(STATE_KEYS.registry, error) });
      return undefined;
    }
  }
}

/** The first tick of an interval writes it, or the next one where that tick was lost. */
function isDue({ everyMs }: PageOptions, before: number | undefined, tick: number): boolean {
  return before === undefined || Math.floor(before / everyMs) < Math.floor(tick / everyMs);
}
