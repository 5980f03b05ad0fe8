import {
  Alarm,
  AlarmStatusWidget,
  Color,
  Dashboard,
  GraphWidget,
  type IMetric,
  type IWidget,
  SingleValueWidget,
  Stats,
  TextWidget,
} from 'aws-cdk-lib/aws-cloudwatch';
import { Duration, Stack } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import { ALARMS, runbookPlace } from '../../lambdas/tables/alarms.ts';
import { CLASS_SIGNALS, type SignalId } from '../../lambdas/tables/signals.ts';
import { METRIC } from '../../lambdas/telemetry/metric-names.ts';
import type { MadeAlarm } from './alarms.ts';
import type { PagingAlarm } from './composite.ts';
import { burnRate, executionMetrics, fleetMetric, issuedShare, MINUTE, shownMetric, signalQuery } from './metrics.ts';
import { nameOf } from './naming.ts';
import type { WatchedHub } from './watched.ts';

export interface FleetDashboardProps {
  readonly alarms: readonly MadeAlarm[];
  readonly paging: readonly PagingAlarm[];
  readonly hub: WatchedHub;
  readonly runbooks?: string | undefined;
}

/** Columns of a dashboard. */
const WIDTH = 24;
/** Most lines in a graph: more cannot be told apart. */
const SHOWN_CLUSTERS = 10;

const RANGE = Duration.days(1);

/**
 * The fleet at a glance, from top to bottom: is it healthy, in numbers, since when, which clusters are not, is
 * certmarshal itself, and where to read on.
 */
export class FleetDashboard extends Construct {
  public readonly dashboardName: string;

  constructor(scope: Construct, id: string, { alarms, paging, hub, runbooks }: FleetDashboardProps) {
    super(scope, id);
    const dashboard = new Dashboard(this, 'Resource', {
      // Dashboards belong to the account, not to a Region.
      dashboardName: nameOf({ disambiguator: Stack.of(this).region }),
      defaultInterval: RANGE,
      widgets: [
        status(
          this,
          [...paging, ...alarms].map(({ name }) => name),
        ),
        numbers(),
        trends(hub),
        culprits(),
        rollouts(),
        ofHub(hub),
        [runbooksOf({ alarms, runbooks })],
      ],
    });
    this.dashboardName = dashboard.dashboardName;
  }
}

/** By name: a dashboard does not need the alarm to exist. */
function status(scope: Construct, names: readonly string[]): IWidget[] {
  const alarms = names.map((name) => Alarm.fromAlarmName(scope, name, name));
  return [new AlarmStatusWidget({ title: 'Alarms', alarms, width: WIDTH, height: 2 + Math.ceil(alarms.length / 6) })];
}

const NUMBERS: readonly (readonly [label: string, service: 'plan' | 'report', metricName: string])[] = [
  ['Clusters', 'plan', METRIC.registered],
  ['not healthy', 'report', METRIC.clustersUnwell],
  ['not readable', 'report', METRIC.clustersUnreadable],
  ['in maintenance', 'report', METRIC.clustersInMaintenance],
  ['Certificates, critical', 'report', 'CertificatesCritical' satisfies SignalId],
  ['Certificates, warning', 'report', 'CertificatesWarning' satisfies SignalId],
  ['Hostile requests', 'report', 'RequestsHostile' satisfies SignalId],
];

function numbers(): IWidget[] {
  return [
    new SingleValueWidget({
      title: 'The fleet now',
      width: WIDTH / 2,
      height: 6,
      fullPrecision: true,
      metrics: NUMBERS.map(([label, service, metric]) => shownMetric(service, metric, Stats.MAXIMUM, label)),
    }),
    new SingleValueWidget({
      title: 'CSRs of nodes in 30 days, 15 minutes after their creation',
      width: WIDTH / 2,
      height: 6,
      start: '-P30D',
      setPeriodToTimeRange: true,
      metrics: [
        issuedShare('issued in time, percent of the provable ones'),
        fleetMetric('report', METRIC.csrsIssued, Stats.SUM, 'issued'),
        fleetMetric('report', METRIC.csrsLate, Stats.SUM, 'late'),
        shownMetric('report', METRIC.csrsNotProvable, Stats.SUM, 'not provable'),
      ],
    }),
  ];
}

function sum(metric: string, label: string): IMetric {
  return shownMetric('sweep', metric, Stats.SUM, label);
}

function most(metric: string, label: string): IMetric {
  return shownMetric('report', metric, Stats.MAXIMUM, label);
}

function trends({ objective }: WatchedHub): IWidget[] {
  const ofSignals = (...entries: readonly (readonly [SignalId, string])[]) =>
    entries.map(([signal, label]) => most(signal, label));
  return [
    graph('Requests', [
      sum(METRIC.approved, 'approved'),
      sum(METRIC.denied, 'denied'),
      sum(METRIC.left, 'not approved'),
      sum(METRIC.writeFailed, 'not written'),
    ]),
    graph(
      'Findings',
      ofSignals(
        ['CertificatesCritical', 'certificates, critical'],
        ['CertificatesWarning', 'certificates, warning'],
        ['KubeletsOverdue', 'kubelets overdue'],
        ['CoverageLost', 'coverage lost'],
        ['RequestsStuck', 'requests stuck'],
        ['RequestsWaiting', 'requests waiting'],
      ),
    ),
    graph(
      'Oldest sweep, in seconds',
      [most(METRIC.oldestSweep, 'oldest sweep')],
      [{ value: ALARMS.OldestSweep.threshold, label: 'built-in alarm', color: Color.RED }],
    ),
    graph(
      'Error budget: how many times faster than allowed it burns',
      [
        burnRate({ objective, period: Duration.hours(1), label: 'one hour' }),
        burnRate({ objective, period: Duration.hours(6), label: 'six hours' }),
      ],
      [{ value: 1, label: 'allowed', color: Color.ORANGE }],
    ),
  ];
}

/** One line for each of the worst clusters. An empty graph is a good one. */
const CULPRITS: readonly (readonly [title: string, signal: SignalId])[] = [
  ['Clusters that cannot be read, in seconds', 'UnreadableFor'],
  ['Clusters with critical certificates', 'CertificatesCritical'],
  ['Clusters with hostile requests', 'RequestsHostile'],
];

function culprits(): IWidget[] {
  return CULPRITS.map(([title, signal]) =>
    graph(title, [signalQuery({ signal, byClass: CLASS_SIGNALS.has(signal), limit: SHOWN_CLUSTERS })], [], {
      width: WIDTH / CULPRITS.length,
    }),
  );
}

/** 0 without a current or due rollout. */
function rollouts(): IWidget[] {
  const half = { width: WIDTH / 2 };
  const lines = [
    most(METRIC.rolloutsUnderWay, 'under way'),
    most('RolloutsHeld', 'held, or not in time'),
    most('RolloutsNeeded', 'needs a person'),
  ];
  const progress = signalQuery({ signal: METRIC.rolloutProgress, limit: SHOWN_CLUSTERS });
  return [
    graph('Rollouts', lines, [], half),
    graph('Rollouts: machines with their new certificate, in percent', [progress], [], half),
  ];
}

function ofHub({ plan, report, notify, webhook, sweeps, tick }: WatchedHub): IWidget[] {
  const functions = [
    { name: 'plan', fn: plan },
    ...sweeps.map(({ name, fn }) => ({ name: `sweep ${name}`, fn })),
    { name: 'report', fn: report },
    { name: 'notify', fn: notify },
    ...(webhook === undefined ? [] : [{ name: 'webhook', fn: webhook }]),
  ];
  const third = { width: WIDTH / 3 };
  return [
    graph(
      'Ticks: failed, timed out, throttled',
      executionMetrics(tick).map(([name, metric]) => metric.with({ label: name })),
      [],
      third,
    ),
    graph(
      'Functions: errors and throttles',
      functions.flatMap(({ name, fn }) => [
        fn.metricErrors({ label: `${name} errors`, period: MINUTE, statistic: Stats.SUM }),
        fn.metricThrottles({ label: `${name} throttles`, period: MINUTE, statistic: Stats.SUM }),
      ]),
      [],
      third,
    ),
    graph(
      'Functions: longest run, in ms',
      functions.map(({ name, fn }) => fn.metricDuration({ label: name, period: MINUTE, statistic: Stats.MAXIMUM })),
      [],
      third,
    ),
  ];
}

interface Line {
  readonly value: number;
  readonly label: string;
  readonly color: string;
}

function graph(
  title: string,
  left: readonly IMetric[],
  annotations: readonly Line[] = [],
  { width = WIDTH / 4 }: { readonly width?: number } = {},
): IWidget {
  return new GraphWidget({
    title,
    width,
    height: 6,
    left: [...left],
    leftAnnotations: [...annotations],
    leftYAxis: { min: 0, showUnits: false },
  });
}

/** One line for each kind of alarm that is on. */
function runbooksOf({ alarms, runbooks }: Pick<FleetDashboardProps, 'alarms' | 'runbooks'>): IWidget {
  const entries = new Map(alarms.map(({ id, severity }) => [id, severity]));
  const rows = [...entries].map(
    ([id, severity]) => `${id} | ${severity} | ${ALARMS[id].meaning} | ${runbookPlace(id, runbooks)}`,
  );
  const markdown = [
    '### What each alarm means, and what to do',
    'Notifications link to the page with every cluster; `aws s3 presign s3://BUCKET/report.html` makes a link.',
    '',
    'alarm | level | meaning | runbook',
    '---|---|---|---',
    ...rows,
  ].join('\n');
  return new TextWidget({ markdown, width: WIDTH, height: 4 + Math.ceil(rows.length / 2) });
}
