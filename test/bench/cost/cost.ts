import { DEFAULT_AUDIT } from '../../../lambdas/config/fleet.ts';
import { SHARD_SIZE, SHARDS_AN_OBJECT } from '../../../lambdas/contracts/order.ts';
import { HUB_SIZES } from '../../../lambdas/hub-sizes.ts';
import { ALARMS, type AlarmEntry } from '../../../lambdas/tables/alarms.ts';
import { ALWAYS_ON } from '../../../lambdas/telemetry/metric-names.ts';
import { type Figure, figure } from '../statistics.ts';
import { MEASURED } from './measured.ts';
import { PRICE_LIST, PRICES, type PriceId } from './prices.ts';

/** Hours that AWS calls a month. */
const MONTH_HOURS = 730;
const MONTH_DAYS = MONTH_HOURS / 24;
const MONTH_SECONDS = MONTH_HOURS * 3_600;
/** GB of an execution: 50 MB, the definition and what its steps hold, in chunks of 64 MB. */
const EXECUTION_GB = 64 / 1_024;
/** Metrics get cheaper above this. */
const DEAR_METRICS = 10_000;
const TOPICS = 5;
/** Of the two levels of paging. */
const COMPOSITE_ALARMS = 2;
const DASHBOARDS = 1;
/** Of the topics. */
const KEYS = 1;
/** Topics that a change of an alarm reaches: that of its severity, pager, chat. */
const TOPICS_OF_A_CHANGE = 3;
/** Topics that the daily message reaches: warning and chat. */
const TOPICS_OF_A_DAY = 2;

export interface BillLine {
  readonly what: string;
  readonly quantity: number;
  readonly usd: number;
}

/** The bill of a month: what a minute does, counted by price, and the lines of the one for 1,000 clusters. */
export async function benchCost(): Promise<Figure[]> {
  const lines = billOf(1_000, 0.02).toSorted((a, b) => b.usd - a.usd);
  const details = [
    `list prices of ${PRICE_LIST.region}, ${PRICE_LIST.asOf}; of 1,000 clusters:`,
    ...lines.map(({ what, quantity, usd }) => `${usd.toFixed(2).padStart(7)}  ${what}, ${quantity.toPrecision(3)}`),
  ];
  const sums = ([[10], [100], [1_000, 67], [10_000, 440]] as const).map(([clusters, most]) =>
    figure(
      `a month of ${clusters.toLocaleString('en')} clusters, 2 % of them not healthy`,
      '$',
      [totalOf(clusters, 0.02)],
      most === undefined ? undefined : { text: `≤ ${most}`, met: (value) => value <= most },
    ),
  );
  const least = totalOf(10, 0.02) - PRICES.dashboard.usd;
  const bare = figure('a month of 10 clusters, without the dashboard', '$', [least], {
    text: '≤ 12',
    met: (value) => value <= 12,
  });
  return [...sums.map((one, index) => (index === 0 ? { ...one, details } : one)), bare];
}

/** US dollars. */
export function totalOf(...fleet: Parameters<typeof billOf>): number {
  return billOf(...fleet).reduce((sum, { usd }) => sum + usd, 0);
}

/**
 * A month with default settings and one lane outside a VPC, for EKS clusters with little work.
 *
 * @param unwellShare the share of unhealthy clusters, all month long
 * @param flood calls of the webhook URL a second; 0 for kubelets alone. @default `hub.webhook` is off
 */
export function billOf(clusters: number, unwellShare: number, flood?: number): readonly BillLine[] {
  const { plan, sweep, report, notify, page, snapshots, tickSeconds } = HUB_SIZES;
  const ticks = MONTH_SECONDS / tickSeconds;
  const sweeps = ticks * clusters;
  const unwell = clusters * unwellShare;
  const silent = unwell * MEASURED.silentShare;
  const ticksBetweenAudits = (DEFAULT_AUDIT.everyMinutes * 60) / tickSeconds;
  const audits = sweeps / ticksBetweenAudits;
  const quickShards = Math.ceil((clusters - silent) / SHARD_SIZE);
  // Those that do not answer share shards of their own.
  const silentShards = Math.max(Math.min(silent, 1), silent / SHARD_SIZE);
  const shards = quickShards + silentShards;
  const wellMs = quickShards * MEASURED.sweepMs + clusters * MEASURED.sweepMsPerCluster;
  // Clusters of a shard are audited in the same tick.
  const auditMs = (quickShards * MEASURED.auditMs + clusters * MEASURED.auditMsPerCluster) / ticksBetweenAudits;
  const notices = unwell * MEASURED.alarmChanges + MONTH_DAYS;
  const messages = unwell * MEASURED.alarmChanges * TOPICS_OF_A_CHANGE + MONTH_DAYS * TOPICS_OF_A_DAY;
  const journalSweeps = clusters * MEASURED.journalSweeps;
  const invocations = ticks * shards + 2 * ticks + notices;
  const planMs = MEASURED.planMs + MEASURED.planMsPerCluster * clusters;
  const reportMs = MEASURED.reportMs + MEASURED.reportMsPerCluster * clusters;
  const tickMs =
    planMs + wellMs / Math.min(quickShards, sweep.maxConcurrency) + Math.min(silent, 1) * MEASURED.silentMs + reportMs;
  const compute = (what: string, runs: number, ms: number, memoryMiB: number) =>
    line(`Lambda, ${what}`, 'lambdaCompute', (runs * ms * memoryMiB) / 1_000 / 1_024);
  const lambda = [
    compute('sweep', ticks, wellMs + auditMs + silentShards * MEASURED.silentMs, sweep.memoryMiB),
    compute('report', ticks, reportMs, report.memoryMiB),
    compute('plan', ticks, planMs, plan.memoryMiB),
    compute('notify', notices, MEASURED.notifyMs, notify.memoryMiB),
    line('Lambda, invocations', 'lambdaRequest', invocations),
    line('EventBridge, the tick', 'scheduler', ticks),
    line('Step Functions, executions', 'execution', ticks),
    line('Step Functions, duration', 'executionMemory', (ticks * tickMs * EXECUTION_GB) / 3_600_000),
  ];

  const snapshotsKept = (audits * MEASURED.snapshotWrites * snapshots.keptDays) / MONTH_DAYS + clusters;
  const storage = [
    line('S3, snapshots: written', 's3Put', audits * MEASURED.snapshotWrites),
    line('S3, snapshots: read', 's3Get', audits),
    line('S3, snapshots: kept', 's3Storage', (snapshotsKept * MEASURED.snapshotBytes) / 1e9),
    line('S3, orders: written', 's3Put', ticks * Math.ceil(shards / SHARDS_AN_OBJECT)),
    line('S3, outcomes: written', 's3Put', ticks * shards),
    line('S3, outcomes: listed', 's3Put', ticks),
    // Orders by each sweep, outcomes by the report of their tick and of the next one.
    line('S3, orders and outcomes: read', 's3Get', ticks * shards * 3),
    line(
      'S3, orders and outcomes: kept for a day',
      's3Storage',
      (sweeps / MONTH_DAYS / 1e9) * MEASURED.keptDays * (MEASURED.orderBytes + MEASURED.outcomeBytes),
    ),
    // Index and registry once a tick.
    line('S3, state: written', 's3Put', 2 * ticks + MONTH_SECONDS / page.everySeconds),
    // The rollouts of a cluster read and write the ledger some hundred times
    // a year: less than a cent for a hundred clusters.
    line('S3, state: read', 's3Get', ticks * 4 + notices),
    line('S3, state: kept', 's3Storage', (clusters * MEASURED.indexBytesPerCluster * 2 + MEASURED.pageBytes) / 1e9),
    line('S3, journal: written', 's3Put', journalSweeps),
  ];

  const gigabytes = (lines: number, bytes: number) => (lines * (bytes + MEASURED.logEventOverhead)) / 1e9;
  const logged = [
    ['sweeps that were not complete', gigabytes(ticks * silent, MEASURED.unwellSweepBytes)],
    ['audits', gigabytes(audits, MEASURED.auditBytes)],
    ['decisions', gigabytes(journalSweeps, MEASURED.unwellSweepBytes)],
    [
      'metrics of the sweeps',
      gigabytes(ticks * shards, MEASURED.sweepMetricBytes) + (sweeps * MEASURED.sweepMetricBytesPerCluster) / 1e9,
    ],
    [
      'signals',
      gigabytes(ticks * unwell * MEASURED.unwellMetricLines, MEASURED.unwellMetricBytes / MEASURED.unwellMetricLines),
    ],
    ['plan and report', gigabytes(ticks, MEASURED.planBytes) + gigabytes(ticks, MEASURED.reportBytes)],
    ['start and end', gigabytes(invocations * MEASURED.platformLines, MEASURED.platformBytes / MEASURED.platformLines)],
  ] as const;
  const stored = logged.reduce((sum, [, size]) => sum + size, 0) * MEASURED.logCompression * MEASURED.logMonths;
  const logs = [
    ...logged.map(([what, size]) => line(`CloudWatch Logs, ${what}`, 'logsIngested', size)),
    line('CloudWatch Logs, kept', 'logsStored', stored),
  ];

  const series = unwell * (MEASURED.signalsPerUnwell + MEASURED.classSeriesPerUnwell);
  // A metric is billed by the hour with a value. Requests arrive at random, so in some hours no cluster has one.
  const hoursWithRequests = 1 - Math.exp(-journalSweeps / MONTH_HOURS);
  const sometimes =
    MEASURED.auditMetrics +
    MEASURED.requestMetrics * hoursWithRequests +
    MEASURED.unwellFleetMetrics * Math.min(1, unwell);
  const cheap = Math.max(0, ALWAYS_ON.size + sometimes + series - DEAR_METRICS);
  const watched = [
    line('CloudWatch, metrics of the fleet', 'metric', ALWAYS_ON.size + sometimes),
    line('CloudWatch, metrics of unhealthy clusters', 'metric', series - cheap),
    line('CloudWatch, metrics above 10,000', 'metricAbove10k', cheap),
    line('CloudWatch, alarms on the hub', 'alarm', hubAlarms()),
    line('CloudWatch, alarms on every cluster', 'alarmQuery', series),
    line('CloudWatch, composite alarms', 'compositeAlarm', COMPOSITE_ALARMS),
    line('CloudWatch, dashboard', 'dashboard', DASHBOARDS),
    line('SNS, messages to the topics', 'snsRequest', messages),
    line('KMS, key of the topics', 'key', KEYS),
    // SNS caches a data key for five minutes; this assumes one for each message.
    line('KMS, requests of the topics', 'keyRequest', messages),
  ];
  const hints = flood === undefined ? [] : webhookLines(flood);
  return [...lambda, ...storage, ...logs, ...watched, ...hints];
}

/**
 * The highest possible cost of the webhook URL: Lambda admits no more calls than its concurrency allows, bills nothing
 * for rejected ones, and each call is assumed to use its whole timeout. Calls for kubelets, and their sweeps, are less
 * than a cent.
 */
function webhookLines(flood: number): readonly BillLine[] {
  const { concurrency, memoryMiB, keyEverySeconds } = HUB_SIZES.webhook;
  // Source: AWS Lambda Developer Guide, "Creating and managing Lambda function URLs", throttling.
  const perSecond = 10 * concurrency;
  const admitted = Math.min(flood, perSecond);
  const busySeconds = concurrency * (admitted / perSecond) * MONTH_SECONDS;
  const calls = admitted * MONTH_SECONDS;
  return [
    line('Secrets Manager, key of the tokens', 'secret', 1),
    line('Secrets Manager, key: read', 'secretRead', (concurrency * MONTH_SECONDS) / keyEverySeconds),
    line('CloudWatch, alarm on the webhook', 'alarm', 1),
    line('Lambda, webhook', 'lambdaCompute', (busySeconds * memoryMiB) / 1_024),
    line('Lambda, webhook: invocations', 'lambdaRequest', calls),
    line('Data transfer, webhook: answers', 'transferOut', (calls * MEASURED.webhookAnswerBytes) / 1e9),
  ];
}

/** The sweep of one lane, notify, three ends of an execution, and each topic. */
function hubAlarms(): number {
  const each = { function: 1, tick: 3, topic: TOPICS, rule: 1, heartbeat: 1, metric: 1 } as const;
  return Object.values<AlarmEntry>(ALARMS).reduce(
    (sum, { watches }) => sum + ('hub' in watches ? each[watches.hub] : 0),
    0,
  );
}

function line(what: string, id: PriceId, quantity: number): BillLine {
  const { usd, per } = PRICES[id];
  return { what, quantity, usd: (quantity / per) * usd };
}
