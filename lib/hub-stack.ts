import { Key } from 'aws-cdk-lib/aws-kms';
import {
  ContextAttribute,
  Schedule,
  ScheduleExpression,
  ScheduleTargetInput,
  TimeWindow,
} from 'aws-cdk-lib/aws-scheduler';
import { LambdaInvoke } from 'aws-cdk-lib/aws-scheduler-targets';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import { CfnOutput, Duration, Stack, type StackProps } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';
import { DEFAULT_LANE, type Fleet, SELF } from '../lambdas/config/fleet.ts';
import { roleName } from '../lambdas/fleet/role-names.ts';
import { HUB_SIZES } from '../lambdas/hub-sizes.ts';
import { acknowledgeWildcards } from './acknowledge-wildcards.ts';
import { AccessEntries } from './constructs/access-entries.ts';
import { AuditHistory } from './constructs/audit-history.ts';
import { FleetState } from './constructs/fleet-state.ts';
import { Hints } from './constructs/hints.ts';
import { functionRole, HubFunction } from './constructs/hub-function.ts';
import { JournalBucket } from './constructs/journal-bucket.ts';
import { SweepLane } from './constructs/lane.ts';
import { Notify } from './constructs/notify.ts';
import { onlyBy } from './constructs/only-by.ts';
import { OutcomesReport } from './constructs/outcomes-report.ts';
import { allowAttachingToVpcs, allowSpokes, allowTheOwnClusters } from './discovery-access.ts';
import { allowReadingKubeconfigs } from './kubeconfig-access.ts';
import { fleetAlarms } from './monitoring/alarms.ts';
import { pagingAlarms } from './monitoring/composite.ts';
import { FleetDashboard } from './monitoring/dashboard.ts';
import { Topics } from './monitoring/topics.ts';
import type { WatchedHub } from './monitoring/watched.ts';
import { showInDiff } from './show-in-diff.ts';
import { type HubPlace, spokesOf } from './spokes-of.ts';

/** How often every cluster is swept. */
const TICK = Duration.seconds(HUB_SIZES.tickSeconds);
/** Orders first, then discovery in the rest of the minute. */
const DISPATCH_TIMEOUT = Duration.seconds(HUB_SIZES.dispatch.timeoutSeconds);

export interface HubStackProps extends StackProps {
  /** Validated. */
  readonly fleet: Fleet;
}

/**
 * The hub, in the one account that watches the fleet: a schedule that starts dispatch every minute, lanes with a queue
 * of orders and the sweep that executes them, report that folds their outcomes, alarms that fire when any of it stops
 * or a cluster is unhealthy, and notify, which sends messages to people.
 */
export class HubStack extends Stack {
  constructor(scope: Construct, id: string, { fleet: written, ...props }: HubStackProps) {
    super(scope, id, { description: 'certmarshal: approves kubelet serving certificates it can prove', ...props });
    // Only the subscriptions themselves have the addresses of people, and URLs with keys.
    const fleet: Fleet = { ...written, monitoring: { ...written.monitoring, subscribe: {} } };
    showInDiff(this, fleet);
    const { hub, discovery } = fleet;
    const place: HubPlace = hub;
    const key = hub.kmsKeyArn === undefined ? undefined : Key.fromKeyArn(this, 'Key', hub.kmsKeyArn);
    const topics = new Topics(this, 'Topics');
    topics.subscribe(written.monitoring.subscribe);
    const state = new FleetState(this, 'State', { key });
    const history = new AuditHistory(this, 'AuditHistory', { key });
    const journal = new JournalBucket(this, 'Journal', { key, journal: fleet.journal });
    const { monitoring } = fleet;
    const { architecture } = hub;
    const { outcomes, starts, report } = new OutcomesReport(this, 'Outcomes', { state, monitoring, architecture, key });
    const { notify } = new Notify(this, 'Notify', { monitoring, state, topics, architecture, key });

    // Spoke accounts and access entries name these roles, also after the stack is replaced: a generated name would have
    // to be copied there by hand each time.
    const sweepRole = functionRole(this, 'SweepRole', roleName(this, 'sweep'));
    const dispatchRole = functionRole(this, 'DispatchRole', roleName(this, 'dispatch'));

    const lanes = [{ name: DEFAULT_LANE }, ...fleet.lanes.map(({ name, ...network }) => ({ name, network }))].map(
      (lane) =>
        new SweepLane(this, `Lane-${lane.name}`, {
          ...lane,
          role: sweepRole,
          fleet,
          outcomes,
          state,
          history,
          journal,
          key,
          reservedConcurrency: hub.reservedConcurrency,
        }),
    );
    outcomes.grantSendMessages(sweepRole);
    history.allow(sweepRole);
    journal.allow(sweepRole);
    if (fleet.rollouts.clusters.length > 0) state.allow(sweepRole, { read: ['rollouts'], write: ['rollouts'] });
    if (fleet.lanes.length > 0) allowAttachingToVpcs(sweepRole);
    allowSpokes(this, [dispatchRole, sweepRole], fleet);
    allowReadingKubeconfigs(this, sweepRole, fleet);
    allowTheOwnClusters(this, {
      discovery,
      place,
      dispatchRole,
      sweepRole,
    });

    const laneQueues = this.toJsonString(
      Object.fromEntries(lanes.map(({ laneName, orders }) => [laneName, orders.queueUrl])),
    );
    const dispatch = new HubFunction(this, 'Dispatch', {
      handlerFile: 'dispatch',
      description: 'Every minute: orders sweeps of all clusters of the fleet, and looks for new ones',
      timeout: DISPATCH_TIMEOUT,
      memorySize: HUB_SIZES.dispatch.memoryMiB,
      environment: {
        STATE_BUCKET: state.bucketName,
        LANE_QUEUE_URLS: laneQueues,
        OUTCOMES_QUEUE_URL: outcomes.queueUrl,
        STARTS_QUEUE_URL: starts.queueUrl,
        HUB_ACCOUNT: this.account,
        HUB_PARTITION: this.partition,
      },
      files: { 'fleet.json': fleet },
      role: dispatchRole,
      architecture,
      key,
    });
    state.allow(dispatchRole, { read: ['registry', 'index'], write: ['registry'] });
    for (const queue of [outcomes, starts]) queue.grantSendMessages(dispatchRole);
    for (const { orders } of lanes) orders.grantSendMessages(dispatchRole);
    const schedule = new Schedule(this, 'Tick', {
      description: 'certmarshal: sweeps every cluster once a minute',
      schedule: ScheduleExpression.rate(TICK),
      timeWindow: TimeWindow.off(),
      target: new LambdaInvoke(dispatch, {
        input: ScheduleTargetInput.fromObject({ scheduledTime: ContextAttribute.scheduledTime }),
        retryAttempts: 0,
        maxEventAge: Duration.seconds(60),
      }),
    });
    schedule.node.addDependency(...lanes);

    const [here] = spokesOf(discovery, place).filter(({ account, region }) => account === SELF && region === SELF);
    new AccessEntries(this, 'AccessEntries', {
      clusters: here?.accessEntries ?? [],
      principalArn: sweepRole.roleArn,
    });
    const hints = hub.webhook ? new Hints(this, 'Hints', { fleet, lanes, state, key, laneQueues }) : undefined;

    // Overrides policies of the account: orders are instructions to a role that every cluster trusts, and outcomes are
    // what people see.
    outcomes.addToResourcePolicy(
      onlyBy([dispatchRole, sweepRole], { actions: ['sqs:SendMessage'], resources: [outcomes.queueArn] }),
    );
    starts.addToResourcePolicy(onlyBy([dispatchRole], { actions: ['sqs:SendMessage'], resources: [starts.queueArn] }));
    for (const { orders } of lanes)
      orders.addToResourcePolicy(
        onlyBy([dispatchRole, ...(hints === undefined ? [] : [hints.hint.role])], {
          actions: ['sqs:SendMessage'],
          resources: [orders.queueArn],
        }),
      );

    const { objective } = monitoring;
    const watched = watchedHub({ dispatch, report, notify, hints, lanes, outcomes, topics, objective });
    const alarms = fleetAlarms(this, {
      settings: monitoring.alarms,
      hub: watched,
      notified: topics.alarms,
      people: topics.critical,
      runbooks: monitoring.runbooks,
    });
    const paging = pagingAlarms(this, alarms, topics.fallback, monitoring.runbooks);
    const dashboard = new FleetDashboard(this, 'Dashboard', {
      alarms,
      paging,
      hub: watched,
      runbooks: monitoring.runbooks,
    });

    new CfnOutput(this, 'CriticalTopicArn', {
      value: topics.critical.topicArn,
      description: 'What must not wait, in words for people, also when resolved; subscribe the people on call to it',
    });
    new CfnOutput(this, 'WarningTopicArn', {
      value: topics.warning.topicArn,
      description: 'What can wait until the morning, and the daily digest; subscribe a mailbox or a channel to it',
    });
    new CfnOutput(this, 'PagerTopicArn', {
      value: topics.pager.topicArn,
      description:
        'One incident for each cluster and problem, opened and resolved; subscribe PagerDuty or Jira Service Management to it',
    });
    new CfnOutput(this, 'ChatTopicArn', {
      value: topics.chat.topicArn,
      description: 'The same for Slack and Teams, and the daily digest; map it to a channel in Amazon Q Developer',
    });
    new CfnOutput(this, 'FallbackTopicArn', {
      value: topics.fallback.topicArn,
      description:
        'One incident for each level, opened and resolved by CloudWatch itself, also when certmarshal is broken',
    });
    new CfnOutput(this, 'DeadLetterQueueArn', {
      value: topics.deadLetters.queueArn,
      description: 'Keeps what a subscriber of a topic did not take, for 14 days',
    });
    new CfnOutput(this, 'DashboardName', { value: dashboard.dashboardName, description: 'In CloudWatch' });
    new CfnOutput(this, 'JournalBucketName', {
      value: journal.bucketName,
      description: 'Holds every decision, and stays when the stack is destroyed',
    });
    new CfnOutput(this, 'FleetBucketName', {
      value: state.bucketName,
      description: 'Holds registry.json.gz and fleet-index.json.gz, and stays when the stack is destroyed',
    });
    new CfnOutput(this, 'SnapshotBucketName', {
      value: history.bucketName,
      description: 'Holds what the audits saw, one object for each cluster, and stays when the stack is destroyed',
    });
    new CfnOutput(this, 'SweepRoleArn', {
      value: sweepRole.roleArn,
      description: 'HubSweepRoleArn of the spokes; must be allowed to decrypt if a secret has a key of your own',
    });
    new CfnOutput(this, 'DispatchRoleArn', {
      value: dispatchRole.roleArn,
      description: 'HubDispatchRoleArn of the spokes',
    });
    for (const { laneName, orders } of lanes)
      new CfnOutput(this, `OrdersQueueUrl-${laneName}`, {
        value: orders.queueUrl,
        description: `Where dispatch orders sweeps of the clusters of lane ${laneName}`,
      });
    acknowledgeWildcards(
      this,
      'The CDK lets a schedule start its function in every version; there is only one, and nothing else is granted.',
      [dispatch, notify].map((fn) => `Resource::<${this.resolve(fn.functionArn)['Fn::GetAtt'].join('.')}>:*`),
    );
    if (key !== undefined)
      acknowledgeWildcards(this, 'Forms of one permission on the one key that fleet.yaml names.', [
        'Action::kms:GenerateDataKey*',
        'Action::kms:ReEncrypt*',
      ]);
  }
}

interface HubParts {
  readonly dispatch: HubFunction;
  readonly report: HubFunction;
  readonly notify: HubFunction;
  readonly hints: Hints | undefined;
  readonly lanes: readonly SweepLane[];
  readonly outcomes: IQueue;
  readonly topics: Topics;
  readonly objective: number;
}

/**
 * Without two queues. Messages of the queue of hints wait for minutes on purpose, and a lost one costs a minute. The
 * heartbeat of report shows whether its starts arrive.
 */
function watchedHub({ dispatch, report, notify, hints, lanes, outcomes, topics, objective }: HubParts): WatchedHub {
  return {
    dispatch,
    report,
    functions: [
      { name: 'dispatch', fn: dispatch, timeoutSeconds: HUB_SIZES.dispatch.timeoutSeconds },
      ...lanes.map(({ laneName, sweep }) => ({
        name: `sweep-${laneName}`,
        fn: sweep,
        timeoutSeconds: HUB_SIZES.sweep.timeoutSeconds,
      })),
      { name: 'report', fn: report, timeoutSeconds: HUB_SIZES.report.timeoutSeconds },
      { name: 'notify', fn: notify, timeoutSeconds: HUB_SIZES.notify.timeoutSeconds },
      ...(hints === undefined
        ? []
        : [
            { name: 'hint', fn: hints.hint, timeoutSeconds: HUB_SIZES.hint.timeoutSeconds },
            { name: 'webhook', fn: hints.webhook, timeoutSeconds: HUB_SIZES.webhook.timeoutSeconds, limited: true },
          ]),
    ],
    objective,
    topics: topics.all,
    queues: [
      ...lanes.map(({ laneName, orders }) => ({
        name: `orders-${laneName}`,
        queue: orders,
        retentionSeconds: HUB_SIZES.orders.retentionSeconds,
      })),
      { name: 'outcomes', queue: outcomes, retentionSeconds: HUB_SIZES.outcomes.retentionSeconds },
    ],
  };
}
