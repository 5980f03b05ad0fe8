import type { HUB_SIZES } from '../hub-sizes.ts';
import type { AlarmEntry } from '../tables/alarms.ts';
import { MEASURED, type Measured } from './measured.ts';
import { PRICES, type Price, type PriceId } from './prices.ts';

/** Hours that AWS calls a month. */
const MONTH_HOURS = 730;
const MONTH_DAYS = MONTH_HOURS / 24;
const MONTH_SECONDS = MONTH_HOURS * 3_600;
/** SQS moves at most ten messages with a request, and bills each 64 KiB as another one. */
const SQS_BATCH = 10;
const SQS_CHUNK = 64 * 1_024;
/** Metrics get cheaper above this. */
const DEAR_METRICS = 10_000;
/** dispatch, sweep of the default lane, report and notify. */
const FUNCTIONS = 4;
/** hint and webhook; throttles of the webhook have no alarm. */
const HINT_FUNCTIONS = 2;
/** Queues with an alarm: orders of the default lane, and outcomes. */
const QUEUES = 2;
/** Of the two levels of paging. */
const COMPOSITE_ALARMS = 2;
const DASHBOARDS = 1;
/** Of the topics. */
const KEYS = 1;
/** Topics that a change of an alarm reaches: the internal one, that of its severity, pager, chat. */
const TOPICS_OF_A_CHANGE = 4;
/** Topics that the daily digest reaches: warning and chat. */
const TOPICS_OF_A_DIGEST = 2;

/** The deployed definitions, from which the stacks are made. */
export interface Deployed {
  readonly sizes: typeof HUB_SIZES;
  readonly alarms: Readonly<Record<string, Pick<AlarmEntry, 'watches'>>>;
  /** Number of fleet metrics that are always on. */
  readonly fleetMetrics: number;
  readonly auditEveryMinutes: number;
}

export interface Fleet {
  /** A whole number above 0. */
  readonly clusters: number;
  /** The share of unhealthy clusters, all month long, from 0 to 1. */
  readonly unwell: number;
  /** Calls of the webhook URL a second, all month long: a flood; 0 for kubelets alone. @default `hub.webhook` is off */
  readonly webhook?: number;
}

export interface BillLine {
  readonly service: string;
  readonly what: string;
  readonly quantity: number;
  readonly unit: string;
  readonly usd: number;
}

export interface Bill extends Fleet {
  readonly perClusterMonthUsd: number;
  readonly totalUsd: number;
  /** They add up to the total. Grouped by service, the most expensive first. */
  readonly lines: readonly BillLine[];
}

/**
 * The cost of a month, with one lane outside a VPC and only hints of a webhook, for EKS clusters with little work.
 * Pure.
 *
 * @param measured what the definitions do not say
 */
export function bill(fleet: Fleet, deployed: Deployed, measured: Measured = MEASURED): Bill {
  const volumes = volumesOf(fleet, deployed, measured);
  const lines = inOrder([
    ...computeLines(volumes, deployed, measured),
    ...queueLines(volumes, measured),
    ...storageLines(volumes, deployed, measured),
    ...logLines(volumes, measured),
    ...watchLines(volumes, deployed, measured),
    ...(fleet.webhook === undefined ? [] : webhookLines(fleet.webhook, volumes, deployed, measured)),
  ]);
  const totalUsd = lines.reduce((sum, { usd }) => sum + usd, 0);
  return { ...fleet, perClusterMonthUsd: totalUsd / fleet.clusters, totalUsd, lines };
}

/** How often things happen in a month. */
interface Volumes {
  readonly clusters: number;
  readonly unwell: number;
  readonly ticks: number;
  readonly sweeps: number;
  /** Invocations of sweep, each with its message. */
  readonly shards: number;
  readonly audits: number;
  /** Runs of notify, for alarms and for its regular look. */
  readonly notices: number;
  /** Messages to the topics. */
  readonly messages: number;
  readonly journalSweeps: number;
  /** Total of all invocations of sweep. */
  readonly sweepMs: number;
}

function volumesOf(
  { clusters, unwell: share }: Fleet,
  { sizes, auditEveryMinutes }: Deployed,
  measured: Measured,
): Volumes {
  const ticks = MONTH_SECONDS / sizes.tickSeconds;
  const unwell = clusters * share;
  const ticksBetweenAudits = Math.max(1, (auditEveryMinutes * 60) / sizes.tickSeconds);
  // Assumes the least filled shards.
  const shards = Math.ceil(clusters / (sizes.sweep.clusters * sizes.sweep.leastFill));
  const silent = unwell * measured.silentShare;
  const silentShards = Math.max(Math.min(silent, 1), silent / (sizes.sweep.clusters * sizes.sweep.leastFill));
  const well = shards * measured.sweepMs + clusters * measured.sweepMsPerCluster;
  // Clusters of a shard are audited in the same tick.
  const audits = (shards * measured.auditMs + clusters * measured.auditMsPerCluster) / ticksBetweenAudits;
  return {
    clusters,
    unwell,
    ticks,
    sweeps: ticks * clusters,
    shards: ticks * shards,
    audits: (ticks * clusters) / ticksBetweenAudits,
    notices: unwell * measured.alarmChanges + MONTH_SECONDS / sizes.notify.looksEverySeconds,
    messages: unwell * measured.alarmChanges * TOPICS_OF_A_CHANGE + MONTH_DAYS * TOPICS_OF_A_DIGEST,
    journalSweeps: clusters * measured.journalSweeps,
    sweepMs: ticks * (well + audits + silentShards * measured.silentMs),
  };
}

function computeLines(volumes: Volumes, { sizes }: Deployed, measured: Measured): BillLine[] {
  const { clusters, ticks, shards, notices, sweepMs } = volumes;
  const compute = (what: string, runs: number, ms: number, memoryMiB: number) =>
    line('Lambda', what, 'lambdaCompute', (runs * ms * memoryMiB) / 1_000 / 1_024);
  return [
    compute('sweep', 1, sweepMs, sizes.sweep.memoryMiB),
    compute('report', ticks, measured.reportMs + measured.reportMsPerCluster * clusters, sizes.report.memoryMiB),
    compute(
      'dispatch',
      ticks,
      measured.dispatchMs + measured.dispatchMsPerCluster * clusters,
      sizes.dispatch.memoryMiB,
    ),
    compute('notify', notices, measured.notifyMs, sizes.notify.memoryMiB),
    line('Lambda', 'invocations', 'lambdaRequest', shards + 2 * ticks + notices),
    line('EventBridge', 'the tick', 'scheduler', ticks),
  ];
}

function queueLines({ ticks, sweeps, shards }: Volumes, measured: Measured): BillLine[] {
  const { messagesPerShard, orderBytes, outcomeBytes, emptyReceives } = measured;
  const empty = ticks * emptyReceives;
  const orderChunks = shards * Math.ceil((sweeps * orderBytes) / shards / SQS_CHUNK);
  // One outcome of each tick is that of dispatch.
  const sent = shards * messagesPerShard + ticks;
  const chunks = (sweeps * outcomeBytes) / SQS_CHUNK;
  const tens = ticks * Math.ceil(sent / ticks / SQS_BATCH);
  return [
    line('SQS', 'orders: sent, received, deleted', 'sqsFifo', orderChunks * 2 + shards + empty),
    line('SQS', 'outcomes: sent', 'sqsStandard', Math.max(sent, chunks)),
    // As many requests again receive fewer than ten messages.
    line('SQS', 'outcomes: received, deleted', 'sqsStandard', Math.max(2 * tens, chunks) + tens),
    line('SQS', 'starts of report: sent, received, deleted', 'sqsStandard', ticks * 3 + empty),
  ];
}

function storageLines(volumes: Volumes, { sizes }: Deployed, measured: Measured): BillLine[] {
  const { clusters, ticks, audits, journalSweeps, notices } = volumes;
  const pages = MONTH_SECONDS / sizes.page.everySeconds;
  const kept = (audits * measured.snapshotWrites * sizes.snapshots.keptDays) / MONTH_DAYS + clusters;
  return [
    line('S3', 'snapshots: written', 's3Put', audits * measured.snapshotWrites),
    line('S3', 'snapshots: read', 's3Get', audits),
    line(
      'S3',
      `snapshots: kept for ${sizes.snapshots.keptDays} days`,
      's3Storage',
      (kept * measured.snapshotBytes) / 1e9,
    ),
    // Index and registry once a tick, and the state of notify.
    line('S3', 'index, registry and page: written', 's3Put', 2 * ticks + pages + notices),
    // The rollouts of a cluster read and write the ledger some hundred times a year: less than a cent for a hundred
    // clusters.
    line('S3', 'index, registry and page: read', 's3Get', ticks * 4 + notices * 3),
    line(
      'S3',
      'index, registry and page: kept',
      's3Storage',
      (clusters * measured.indexBytesPerCluster * 2 + measured.pageBytes) / 1e9,
    ),
    line('S3', 'journal: written', 's3Put', journalSweeps * measured.journalPuts),
    line('S3', 'journal: read', 's3Get', journalSweeps * measured.journalGets),
  ];
}

function logLines(volumes: Volumes, measured: Measured): BillLine[] {
  const { clusters, unwell, ticks, sweeps, shards, audits, notices } = volumes;
  const overhead = measured.logEventOverhead;
  const gigabytes = (lines: number, bytes: number) => (lines * (bytes + overhead)) / 1e9;
  const invocations = shards + 2 * ticks + notices;
  const unwellSweeps = ticks * unwell * measured.silentShare;
  const wellSweeps = measured.wellSweepBytes === 0 ? 0 : sweeps - unwellSweeps;
  const written: readonly (readonly [what: string, gigabytes: number])[] = [
    ['sweeps that had nothing to do', gigabytes(wellSweeps, measured.wellSweepBytes)],
    ['sweeps that were not complete', gigabytes(unwellSweeps, measured.unwellSweepBytes)],
    ['audits', gigabytes(audits, measured.auditBytes)],
    ['decisions', gigabytes(clusters * measured.journalSweeps, measured.unwellSweepBytes)],
    [
      'metrics of the sweeps',
      gigabytes(shards, measured.sweepMetricBytes) + (sweeps * measured.sweepMetricBytesPerCluster) / 1e9,
    ],
    [
      'signals of clusters that are not healthy',
      gigabytes(ticks * unwell * measured.unwellMetricLines, measured.unwellMetricBytes / measured.unwellMetricLines),
    ],
    ['dispatch and report', gigabytes(ticks, measured.dispatchBytes) + gigabytes(ticks, measured.reportBytes)],
    [
      'start and end of every invocation',
      gigabytes(invocations * measured.platformLines, measured.platformBytes / measured.platformLines),
    ],
  ];
  const all = written.reduce((sum, [, size]) => sum + size, 0);
  return [
    ...written.map(([what, size]) => line('CloudWatch Logs', what, 'logsIngested', size)),
    line(
      'CloudWatch Logs',
      `kept for ${measured.logMonths} months`,
      'logsStored',
      all * measured.logCompression * measured.logMonths,
    ),
  ];
}

function watchLines(
  { unwell, journalSweeps, messages }: Volumes,
  { alarms, fleetMetrics }: Deployed,
  measured: Measured,
): BillLine[] {
  const series = unwell * (measured.signalsPerUnwell + measured.classSeriesPerUnwell);
  // A metric is billed by the hour with a value. Requests arrive at random, so in some hours no cluster has one.
  const hoursWithRequests = 1 - Math.exp(-journalSweeps / MONTH_HOURS);
  const sometimes =
    measured.auditMetrics +
    measured.requestMetrics * hoursWithRequests +
    measured.unwellFleetMetrics * Math.min(1, unwell);
  const cheap = Math.max(0, fleetMetrics + sometimes + series - DEAR_METRICS);
  return [
    line('CloudWatch', 'metrics of the fleet', 'metric', fleetMetrics),
    line('CloudWatch', 'metrics of the fleet, in hours with a value', 'metric', sometimes),
    line('CloudWatch', 'metrics of clusters that are not healthy', 'metric', series - cheap),
    line('CloudWatch', `metrics above ${DEAR_METRICS.toLocaleString('en')}`, 'metricAbove10k', cheap),
    line('CloudWatch', 'alarms on the hub', 'alarm', hubAlarms(alarms)),
    line('CloudWatch', 'alarms on every cluster', 'alarmQuery', series),
    line('CloudWatch', 'composite alarms', 'compositeAlarm', COMPOSITE_ALARMS),
    line('CloudWatch', 'dashboard', 'dashboard', DASHBOARDS),
    line('SNS', 'messages to the topics', 'snsRequest', messages),
    line('KMS', 'key of the topics', 'key', KEYS),
    // SNS caches a data key for five minutes; this assumes one for each message.
    line('KMS', 'requests of the topics', 'keyRequest', messages),
  ];
}

/**
 * The highest possible cost of the webhook URL: Lambda admits no more calls than its concurrency allows, bills nothing
 * for rejected ones, and each call is assumed to use its whole timeout. Hints of kubelets, and their sweeps, are less
 * than a cent.
 */
function webhookLines(
  flood: number,
  { ticks }: Volumes,
  { sizes, alarms }: Deployed,
  { emptyReceives, webhookAnswerBytes }: Measured,
): BillLine[] {
  const { concurrency, perSecond, memoryMiB, keyEverySeconds } = sizes.webhook;
  const letIn = Math.min(flood, perSecond);
  const busySeconds = concurrency * (letIn / perSecond) * MONTH_SECONDS;
  const more = hubAlarms(alarms, FUNCTIONS + HINT_FUNCTIONS) - hubAlarms(alarms) - 1;
  return [
    line('Secrets Manager', 'key of the tokens', 'secret', 1),
    line('Secrets Manager', 'key of the tokens: read', 'secretRead', (concurrency * MONTH_SECONDS) / keyEverySeconds),
    line('SQS', 'hints: asked for', 'sqsStandard', ticks * emptyReceives),
    line('CloudWatch', 'alarms on the functions of hints', 'alarm', more),
    line('Lambda', 'webhook, under the flood', 'lambdaCompute', (busySeconds * memoryMiB) / 1_024),
    line('Lambda', 'webhook, under the flood: invocations', 'lambdaRequest', letIn * MONTH_SECONDS),
    line(
      'Data transfer',
      'webhook, under the flood: answers',
      'transferOut',
      (letIn * MONTH_SECONDS * webhookAnswerBytes) / 1e9,
    ),
  ];
}

/** One for each function and queue with an alarm. */
export function hubAlarms(alarms: Deployed['alarms'], functions = FUNCTIONS): number {
  const each = { function: functions, queue: QUEUES, heartbeat: 1, metric: 1 } as const;
  return Object.values(alarms).reduce((sum, { watches }) => sum + ('hub' in watches ? each[watches.hub] : 0), 0);
}

function line(service: string, what: string, id: PriceId, quantity: number): BillLine {
  const { usd, per, unit }: Price = PRICES[id];
  return { service, what, quantity, unit, usd: (quantity / per) * usd };
}

/** The most expensive service first, and in it the most expensive line; without lines of zero. */
function inOrder(lines: readonly BillLine[]): readonly BillLine[] {
  const sums = new Map<string, number>();
  for (const { service, usd } of lines) sums.set(service, (sums.get(service) ?? 0) + usd);
  return lines
    .filter(({ quantity }) => quantity > 0)
    .toSorted(
      (a, b) =>
        (sums.get(b.service) ?? 0) - (sums.get(a.service) ?? 0) || a.service.localeCompare(b.service) || b.usd - a.usd,
    );
}
