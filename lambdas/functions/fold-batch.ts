import { MetricUnit } from '@aws-lambda-powertools/metrics';
import type { SQSEvent } from 'aws-lambda';
import { awsProblem } from '../aws/aws-problem.ts';
import { AwsError } from '../aws/errors.ts';
import type { JsonObjects } from '../aws/json-objects.ts';
import { droppedClusters, type FleetIndex, parseFleetIndex } from '../contracts/fleet-index.ts';
import type { Outcome } from '../contracts/outcome.ts';
import { parseRegistry, type Registry } from '../contracts/registry.ts';
import { boundIndex } from '../fleet/bound-index.ts';
import { foldOutcomes } from '../fleet/fold-outcomes.ts';
import { decodeOutcome } from '../fleet/outcome-message.ts';
import { STATE_KEYS } from '../fleet/state-keys.ts';
import { sweepAges } from '../fleet/sweep-ages.ts';
import { type FleetHealth, fleetHealth, type Monitoring } from '../health/fleet-health.ts';
import { signalsByClass } from '../tables/alarms.ts';
import { SIGNALS } from '../tables/signals.ts';
import { METRIC } from '../telemetry/metric-names.ts';
import { recordHealth } from '../telemetry/record-health.ts';
import { count, type Telemetry } from '../telemetry/telemetry.ts';

/** Two writers, each trying again at another moment: five tries are more than they ever need. */
const TRIES = 5;
const MAX_WAIT_MS = 500;
/** Of the clusters whose sweep is the longest ago, for whoever follows the alarm. */
const LOGGED_AGES = 10;
const LOGGED_CUT = 10;

export interface FoldBatchOptions extends Telemetry {
  readonly state: JsonObjects;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** From 0 to 1. */
  readonly random: () => number;
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly monitoring: Monitoring;
  /** The report page. @default none is made */
  readonly page?: PageOptions;
}

export interface PageOptions {
  /** How old the last one may be. Each process counts for itself: two of them write it twice as often, which does no harm. */
  readonly everyMs: number;
  /** Whatever it throws is logged and counted; the fold is not touched by it. */
  readonly publish: (health: FleetHealth, signal: AbortSignal) => Promise<void>;
}

/**
 * Folds a batch of outcomes into the fleet index, measures the fleet, and now and then makes the report page.
 *
 * @throws AwsError when the index cannot be read or written; the batch then comes again, which does no harm
 */
export type FoldBatch = (event: SQSEvent, signal: AbortSignal) => Promise<void>;

export function createFoldBatch(options: FoldBatchOptions): FoldBatch {
  const { state, clock, random, wait, logger, metrics, monitoring, page } = options;
  const byClass = signalsByClass(monitoring.alarms);
  let pagedAt: number | undefined;
  return async ({ Records: records }, signal) => {
    const outcomes = records.flatMap(({ messageId, body }) => {
      const decoded = decodeOutcome(body);
      if (decoded.ok) return [decoded.value];
      count(metrics, { [METRIC.outcomesUnreadable]: 1 });
      logger.error('message dropped', {
        messageId,
        problem: decoded.problem,
        remedy:
          'Only dispatch and sweep write to this queue: find out who else does, or deploy all functions together.',
      });
      return [];
    });
    const index = await fold(outcomes, signal);
    count(metrics, { [METRIC.outcomesFolded]: outcomes.length });
    const health = await measure(index, signal);
    if (health !== undefined && page !== undefined) await publishPage(page, health, signal);
  };

  async function fold(outcomes: readonly Outcome[], signal: AbortSignal): Promise<FleetIndex> {
    for (let tried = 1; ; tried += 1) {
      const stored = await state.read(STATE_KEYS.index, signal);
      const previous = stored === undefined ? undefined : parseFleetIndex(stored.value, clock());
      if (stored !== undefined && previous === undefined)
        logger.error('index written anew', {
          problem: `${STATE_KEYS.index} is not what certmarshal wrote there`,
          remedy: 'Find out who else writes to the bucket. Every cluster is known again after its next sweep.',
        });
      const leftOut = previous === undefined ? 0 : droppedClusters(stored?.value, previous);
      if (leftOut > 0)
        logger.error('clusters left out of the index', {
          count: leftOut,
          problem: `some entries of ${STATE_KEYS.index} are not what certmarshal wrote there`,
          remedy: 'Find out who else writes to the bucket. They are known again after their next sweep.',
        });
      const folded = foldOutcomes(previous, outcomes, clock());
      const index = boundIndex(folded);
      try {
        await state.write(STATE_KEYS.index, index, stored?.etag, signal);
        if (index !== folded) logCut(index);
        return index;
      } catch (error) {
        const isConflict = error instanceof AwsError && error.kind === 'conflict';
        if (!isConflict || tried === TRIES) throw error;
        await wait(random() * MAX_WAIT_MS, signal);
      }
    }
  }

  function logCut({ clusters }: FleetIndex): void {
    const cut = Object.values(clusters).flatMap((cluster) => (cluster.cut ? [cluster.id] : []));
    logger.warn('index cut', {
      clusters: cut.length,
      first: cut.slice(0, LOGGED_CUT),
      problem: 'clusters say more than the index has room for; details of those that say the most were left out',
      remedy: 'Look at what they say: certmarshal audit shows all of it. Journal and snapshots are whole.',
    });
  }

  /** Nothing is measured when the registry cannot be read, or is lost: the alarm on the oldest sweep rings at missing data too. */
  async function measure(index: FleetIndex, signal: AbortSignal): Promise<FleetHealth | undefined> {
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
    recordHealth(health, { units: SIGNALS, byClass }, { logger, metrics });
    logger.info('outcomes folded', {
      clusters: Object.keys(index.clusters).length,
      unreadable: unreadable.length,
      states: health.counts,
      oldestSweeps: ages.slice(0, LOGGED_AGES).map(({ id, ageMs }) => ({ id, ageSeconds: Math.round(ageMs / 1000) })),
    });
    return health;
  }

  /** A try counts, whatever comes of it: a page that fails must not be made again with every batch. */
  async function publishPage(
    { everyMs, publish }: PageOptions,
    health: FleetHealth,
    signal: AbortSignal,
  ): Promise<void> {
    const now = clock();
    if (pagedAt !== undefined && now - pagedAt < everyMs) return;
    pagedAt = now;
    try {
      await publish(health, signal);
      count(metrics, { [METRIC.pagesUnwritten]: 0 });
    } catch (error) {
      count(metrics, { [METRIC.pagesUnwritten]: 1 });
      logger.error('report page not written', { problem: awsProblem(STATE_KEYS.page, error) });
    }
  }

  async function readRegistry({ dispatch }: FleetIndex, signal: AbortSignal): Promise<Registry | undefined> {
    try {
      const stored = await state.read(STATE_KEYS.registry, signal);
      if (stored === undefined) {
        // dispatch writes it in its first tick. A fleet of which it says that it is empty has no sweep to wait for.
        if (dispatch?.registered === 0)
          return { version: 1, writtenAt: new Date(clock()).toISOString(), sources: {}, clusters: {} };
        logger.error('registry lost', {
          remedy: 'Nothing, if dispatch writes it within a minute; else do what its problems in the index say.',
        });
        return undefined;
      }
      const registry = parseRegistry(stored.value, clock());
      if (registry === undefined)
        logger.error('registry unreadable', { remedy: 'Nothing: dispatch writes it anew within a minute.' });
      return registry;
    } catch (error) {
      logger.error('registry unreadable', { problem: awsProblem(STATE_KEYS.registry, error) });
      return undefined;
    }
  }
}
