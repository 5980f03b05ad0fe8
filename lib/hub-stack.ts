import { Stats } from 'aws-cdk-lib/aws-cloudwatch';
import { Key } from 'aws-cdk-lib/aws-kms';
import {
  ContextAttribute,
  Schedule,
  ScheduleExpression,
  ScheduleTargetInput,
  TimeWindow,
} from 'aws-cdk-lib/aws-scheduler';
import { LambdaInvoke } from 'aws-cdk-lib/aws-scheduler-targets';
import { CfnOutput, Duration, Stack, type StackProps } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';
import { DEFAULT_LANE, type Fleet, SELF } from '../lambdas/config/fleet.ts';
import { roleName } from '../lambdas/fleet/role-names.ts';
import { METRIC } from '../lambdas/telemetry/metric-names.ts';
import { acknowledgeWildcards } from './acknowledge-wildcards.ts';
import { AccessEntries } from './constructs/access-entries.ts';
import { AlarmTopic } from './constructs/alarm-topic.ts';
import { AuditHistory } from './constructs/audit-history.ts';
import { FleetState } from './constructs/fleet-state.ts';
import { HeartbeatAlarm } from './constructs/heartbeat-alarm.ts';
import { Hints } from './constructs/hints.ts';
import { functionRole, HubFunction } from './constructs/hub-function.ts';
import { SweepLane } from './constructs/lane.ts';
import { OutcomesReport } from './constructs/outcomes-report.ts';
import { allowAttachingToVpcs, allowSpokes, allowTheOwnClusters } from './discovery-access.ts';
import { POLICIES_OF_A_ROLE } from './exact-policies.ts';
import { allowReadingKubeconfigs } from './kubeconfig-access.ts';
import { showInDiff } from './show-in-diff.ts';
import { type HubPlace, spokesOf } from './spokes-of.ts';

/** How often every cluster is swept. */
const TICK = Duration.minutes(1);
/** Orders first, discovery in the rest of the minute. */
const DISPATCH_TIMEOUT = Duration.seconds(60);
/** A cluster that is fine is read each minute; after this many seconds without something is wrong. */
const OLDEST_SWEEP_SECONDS = 300;

export interface HubStackProps extends StackProps {
  /** Validated. */
  readonly fleet: Fleet;
}

/**
 * Everything that runs in the one account that watches the fleet: a schedule that starts dispatch every minute, lanes with a queue of
 * orders and the sweep that carries them out, report that folds what became of them, and alarms that ring when any of it stops.
 */
export class HubStack extends Stack {
  constructor(scope: Construct, id: string, { fleet, ...props }: HubStackProps) {
    super(scope, id, { description: 'certmarshal: approves kubelet serving certificates it can prove', ...props });
    showInDiff(this, fleet);
    const { hub, discovery } = fleet;
    const place: HubPlace = hub;
    const key = hub.kmsKeyArn === undefined ? undefined : Key.fromKeyArn(this, 'Key', hub.kmsKeyArn);
    const topic = new AlarmTopic(this, 'Alarms');
    const state = new FleetState(this, 'State', { key });
    const history = new AuditHistory(this, 'AuditHistory', { key });
    const { outcomes, report } = new OutcomesReport(this, 'Outcomes', { state, key });

    // Spoke accounts and access entries name these roles, before and after the stack is replaced: a name that CloudFormation
    // chooses would have to be carried there by hand each time.
    const sweepRole = functionRole(this, 'SweepRole', roleName(this, 'sweep'));
    const dispatchRole = functionRole(this, 'DispatchRole', roleName(this, 'dispatch'));

    const lanes = [{ name: DEFAULT_LANE }, ...fleet.lanes.map(({ name, ...network }) => ({ name, network }))].map(
      (lane) =>
        new SweepLane(this, `Lane-${lane.name}`, {
          ...lane,
          role: sweepRole,
          policies: fleet.policies,
          thresholds: fleet.audit.thresholds,
          outcomes,
          history,
          key,
          reservedConcurrency: hub.reservedConcurrency,
        }),
    );
    outcomes.grantSendMessages(sweepRole);
    history.allow(sweepRole);
    if (fleet.lanes.length > 0) allowAttachingToVpcs(sweepRole);
    const spokePolicies = allowSpokes(this, [dispatchRole, sweepRole], discovery, place);
    allowReadingKubeconfigs(this, sweepRole, fleet, POLICIES_OF_A_ROLE - spokePolicies);
    allowTheOwnClusters(this, { discovery, place, dispatchRole, sweepRole });

    const laneQueues = this.toJsonString(
      Object.fromEntries(lanes.map(({ laneName, orders }) => [laneName, orders.queueUrl])),
    );
    const dispatch = new HubFunction(this, 'Dispatch', {
      handlerFile: 'dispatch',
      description: 'Every minute: one order for each cluster of the fleet, and a look for new ones',
      timeout: DISPATCH_TIMEOUT,
      memorySize: 512,
      environment: {
        STATE_BUCKET: state.bucketName,
        LANE_QUEUE_URLS: laneQueues,
        OUTCOMES_QUEUE_URL: outcomes.queueUrl,
        HUB_ACCOUNT: this.account,
        HUB_PARTITION: this.partition,
      },
      files: { 'fleet.json': fleet },
      role: dispatchRole,
      key,
    });
    state.allow(dispatchRole, { read: ['registry', 'index'], write: ['registry'] });
    outcomes.grantSendMessages(dispatchRole);
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
    const ownClusters = here?.accessEntries ?? [];
    new AccessEntries(this, 'AccessEntries', { clusters: ownClusters, principalArn: sweepRole.roleArn });
    if (hub.hints) new Hints(this, 'Hints', { fleet, lanes, state, key, laneQueues, auditedClusters: ownClusters });

    new HeartbeatAlarm(this, 'DispatchHeartbeat', {
      service: 'dispatch',
      metricName: METRIC.dispatched,
      statistic: Stats.SAMPLE_COUNT,
      well: { atLeast: 1 },
      description:
        'certmarshal: the minute does not start; kubelet serving certificates are no longer approved anywhere. ' +
        `First: aws logs tail ${dispatch.logs.logGroupName} --since 15m. Runbook: docs/runbooks/heartbeat.md`,
      topic,
    });
    new HeartbeatAlarm(this, 'ReportHeartbeat', {
      service: 'report',
      metricName: METRIC.outcomesFolded,
      statistic: Stats.SAMPLE_COUNT,
      well: { atLeast: 1 },
      description:
        'certmarshal: nothing is known any more of what becomes of the sweeps; they may run all the same. ' +
        `First: aws logs tail ${report.logs.logGroupName} --since 15m. Runbook: docs/runbooks/heartbeat.md`,
      topic,
    });
    new HeartbeatAlarm(this, 'OldestSweep', {
      service: 'report',
      metricName: METRIC.oldestSweep,
      statistic: Stats.MAXIMUM,
      well: { below: OLDEST_SWEEP_SECONDS },
      description:
        `certmarshal: a cluster was not swept for ${OLDEST_SWEEP_SECONDS} seconds; kubelet serving certificates are not approved there. ` +
        `First: aws logs tail ${report.logs.logGroupName} --since 15m, which names it. Runbook: docs/runbooks/heartbeat.md`,
      topic,
    });

    new CfnOutput(this, 'AlarmTopicArn', { value: topic.topicArn, description: 'Subscribe the people on call to it' });
    new CfnOutput(this, 'FleetBucketName', {
      value: state.bucketName,
      description: 'Holds registry.json and fleet-index.json, and stays when the stack is destroyed',
    });
    new CfnOutput(this, 'SnapshotBucketName', {
      value: history.bucketName,
      description: 'Holds what the audits saw, one object for each cluster, and stays when the stack is destroyed',
    });
    new CfnOutput(this, 'SweepRoleArn', {
      value: sweepRole.roleArn,
      description: 'HubSweepRoleArn of the spokes; must be allowed to decrypt, where a secret has a key of your own',
    });
    new CfnOutput(this, 'DispatchRoleArn', {
      value: dispatchRole.roleArn,
      description: 'HubDispatchRoleArn of the spokes',
    });
    for (const { laneName, orders } of lanes)
      new CfnOutput(this, `OrdersQueueUrl-${laneName}`, {
        value: orders.queueUrl,
        description: `Where dispatch puts up the clusters of lane ${laneName}`,
      });
    acknowledgeWildcards(
      this,
      'The CDK lets the schedule start dispatch in every version; there is but one, and nothing else is granted.',
      [`Resource::<${this.resolve(dispatch.functionArn)['Fn::GetAtt'].join('.')}>:*`],
    );
    if (key !== undefined)
      acknowledgeWildcards(this, 'Forms of one permission on the one key that fleet.yaml names.', [
        'Action::kms:GenerateDataKey*',
        'Action::kms:ReEncrypt*',
      ]);
  }
}
