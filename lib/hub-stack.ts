import { type IRole, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { CfnOutput, Duration, Stack, type StackProps } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import { modeWords } from '../lambdas/approval/policy.ts';
import { secretsOf } from '../lambdas/config/exact-resources.ts';
import { DEFAULT_LANE, type Fleet, SELF } from '../lambdas/config/fleet.ts';
import { roleName } from '../lambdas/fleet/role-names.ts';
import { STATE_KEYS } from '../lambdas/fleet/state-keys.ts';
import { HUB_SIZES } from '../lambdas/hub-sizes.ts';
import { acknowledgeWildcards } from './acknowledge-wildcards.ts';
import { AccessEntries } from './constructs/access-entries.ts';
import { AuditHistory } from './constructs/audit-history.ts';
import { FleetState } from './constructs/fleet-state.ts';
import { functionArn, functionName, functionRole, HubFunction } from './constructs/hub-function.ts';
import { JournalBucket } from './constructs/journal-bucket.ts';
import { SweepLane } from './constructs/lane.ts';
import { Notify } from './constructs/notify.ts';
import { Tick } from './constructs/tick.ts';
import { Webhook } from './constructs/webhook.ts';
import { allowAttachingToVpcs, allowSpokes, allowTheOwnClusters } from './discovery-access.ts';
import { allowExactly } from './exact-policies.ts';
import { fleetAlarms } from './monitoring/alarms.ts';
import { pagingAlarms } from './monitoring/composite.ts';
import { FleetDashboard } from './monitoring/dashboard.ts';
import { Topics } from './monitoring/topics.ts';
import type { WatchedHub } from './monitoring/watched.ts';
import { type HubPlace, spokesOf } from './spokes-of.ts';

export interface HubStackProps extends StackProps {
  /** Validated. */
  readonly fleet: Fleet;
}

/**
 * The hub, in the one account that watches the fleet: a state machine that runs plan, the sweeps of all shards and report
 * every minute, alarms that fire when any of it stops or a cluster is unhealthy, and notify, which sends messages to people.
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
    const scheduler = schedulerRole(this);
    const { notify, alarmEvents } = new Notify(this, 'Notify', {
      monitoring,
      state,
      topics,
      scheduler,
      architecture,
      key,
    });

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
          state,
          history,
          journal,
          key,
        }),
    );
    history.allow(sweepRole);
    journal.allow(sweepRole);
    if (fleet.rollouts.clusters.length > 0)
      state.allow(sweepRole, { read: [STATE_KEYS.rollouts], write: [STATE_KEYS.rollouts] });
    if (fleet.lanes.length > 0) allowAttachingToVpcs(sweepRole);
    allowSpokes(this, [dispatchRole, sweepRole], fleet);
    allowReadingKubeconfigs(this, sweepRole, fleet);
    allowTheOwnClusters(this, {
      discovery,
      place,
      dispatchRole,
      sweepRole,
    });

    const laneFunctions = JSON.stringify(
      Object.fromEntries(lanes.map(({ laneName }) => [laneName, functionName(this, `sweep-${laneName}`)])),
    );
    const { registry, index, page } = STATE_KEYS;
    const ofBoth = { role: dispatchRole, architecture, key };
    const environment = { STATE_BUCKET: state.bucketName, HUB_ACCOUNT: this.account, HUB_PARTITION: this.partition };
    const plan = new HubFunction(this, 'Plan', {
      ...ofBoth,
      functionName: functionName(this, 'plan'),
      handlerFile: 'plan',
      description: 'Every minute: orders sweeps of all clusters of the fleet',
      timeout: Duration.seconds(HUB_SIZES.plan.timeoutSeconds),
      memorySize: HUB_SIZES.plan.memoryMiB,
      environment: { ...environment, LANE_FUNCTIONS: laneFunctions },
      files: { 'fleet.json': fleet },
    });
    state.allow(dispatchRole, {
      read: [registry, index],
      write: ['orders/*'],
      writer: functionArn(this, 'plan'),
    });
    const report = new HubFunction(this, 'Report', {
      ...ofBoth,
      functionName: functionName(this, 'report'),
      handlerFile: 'report',
      description: 'Folds the outcomes of sweeps into the fleet index, publishes metrics, and looks for new clusters',
      timeout: Duration.seconds(HUB_SIZES.report.timeoutSeconds),
      memorySize: HUB_SIZES.report.memoryMiB,
      environment: { ...environment, LANES: JSON.stringify(lanes.map(({ laneName }) => laneName)) },
      files: { 'fleet.json': fleet, 'monitoring.json': monitoring },
    });
    state.allow(dispatchRole, {
      read: [registry, index, page, 'orders/*', 'outcomes/*'],
      write: [registry, index, page],
      writer: functionArn(this, 'report'),
    });
    const sweeps = lanes.map(({ sweep }) => sweep);
    const { reservedConcurrency } = hub;
    const tick = new Tick(this, 'Tick', { plan, sweeps, report, reservedConcurrency, scheduler, key });

    const [here] = spokesOf(discovery, place).filter(({ account, region }) => account === SELF && region === SELF);
    new AccessEntries(this, 'AccessEntries', {
      clusters: here?.accessEntries ?? [],
      principalArn: sweepRole.roleArn,
    });
    // The ids of its key and its URL, which clusters have.
    const webhook = hub.webhook
      ? new Webhook(new Construct(this, 'Hints'), 'Webhook', { lanes, laneFunctions, architecture, key }).webhook
      : undefined;

    const watched: WatchedHub = {
      plan,
      report,
      notify,
      alarmEvents,
      webhook,
      sweeps: lanes.map(({ laneName, sweep }) => ({ name: laneName, fn: sweep })),
      tick,
      objective: monitoring.objective,
      topics: topics.all,
    };
    const alarms = fleetAlarms(this, {
      settings: monitoring.alarms,
      hub: watched,
      people: topics.critical,
      runbooks: monitoring.runbooks,
    });
    const paging = pagingAlarms(this, alarms, topics.fallback, monitoring.runbooks);
    if (monitoring.dashboard) {
      const { dashboardName } = new FleetDashboard(this, 'Dashboard', {
        alarms,
        paging,
        hub: watched,
        runbooks: monitoring.runbooks,
      });
      new CfnOutput(this, 'DashboardName', { value: dashboardName, description: 'In CloudWatch' });
    }

    const outputs: Readonly<Record<string, readonly [value: string, description: string]>> = {
      CriticalTopicArn: [
        topics.critical.topicArn,
        'What must not wait, in words for people, also when resolved; subscribe the people on call to it',
      ],
      WarningTopicArn: [
        topics.warning.topicArn,
        'What can wait until the morning, and the daily message; subscribe a mailbox or a channel to it',
      ],
      PagerTopicArn: [
        topics.pager.topicArn,
        'One incident for each cluster and problem, opened and resolved; subscribe PagerDuty or Jira Service Management to it',
      ],
      ChatTopicArn: [
        topics.chat.topicArn,
        'The same for Slack and Teams, and the daily message; map it to a channel in Amazon Q Developer',
      ],
      FallbackTopicArn: [
        topics.fallback.topicArn,
        'One incident for each level, opened and resolved by CloudWatch itself, also when certmarshal is broken',
      ],
      DeadLetterQueueArn: [topics.deadLetters.queueArn, 'Keeps what a subscriber of a topic did not take, for 14 days'],
      JournalBucketName: [journal.bucketName, 'Holds every decision, and stays when the stack is destroyed'],
      FleetBucketName: [
        state.bucketName,
        'Holds report.html, registry and fleet index, and stays when the stack is destroyed',
      ],
      SnapshotBucketName: [
        history.bucketName,
        'Holds what the audits saw, one object for each cluster, and stays when the stack is destroyed',
      ],
      SweepRoleArn: [
        sweepRole.roleArn,
        'HubSweepRoleArn of the spokes; must be allowed to decrypt if a secret has a key of your own',
      ],
      DispatchRoleArn: [dispatchRole.roleArn, 'HubDispatchRoleArn of the spokes'],
    };
    for (const [name, [value, description]] of Object.entries(outputs))
      new CfnOutput(this, name, { value, description });
    acknowledgeWildcards(
      this,
      'The CDK lets a schedule start its function in every version; there is only one, and nothing else is granted.',
      [`Resource::<${this.resolve(notify.functionArn)['Fn::GetAtt'].join('.')}>:*`],
    );
    if (key !== undefined)
      acknowledgeWildcards(this, 'Forms of one permission on the one key that fleet.yaml names.', [
        'Action::kms:GenerateDataKey*',
        'Action::kms:ReEncrypt*',
      ]);
  }
}

/** Starts what schedules start. */
function schedulerRole(stack: Stack): Role {
  const group = stack.formatArn({ service: 'scheduler', resource: 'schedule-group', resourceName: 'default' });
  return new Role(stack, 'SchedulerRole', {
    assumedBy: new ServicePrincipal('scheduler.amazonaws.com', {
      conditions: { StringEquals: { 'aws:SourceAccount': stack.account, 'aws:SourceArn': group } },
    }),
  });
}

/**
 * The configuration is deployed beside the bundles, where a change only shows as a new hash. With one metadata entry
 * for each field, `cdk diff` shows the change: `Policy edge, mode: "enforce on eks-anywhere" to "observe on eks-anywhere"`.
 */
function showInDiff(stack: Stack, fleet: Fleet): void {
  const show = (what: string, fields: object): void => {
    for (const [field, value] of Object.entries(fields))
      stack.addMetadata(`${what}, ${field}`, withoutFractions(value));
  };
  for (const [index, discovery] of fleet.discovery.entries()) show(`Discovery ${index + 1}`, discovery);
  for (const { name, workloadClusters, ...fields } of fleet.managementClusters) {
    show(`Management cluster ${name}`, fields);
    show(`Management cluster ${name}, workloadClusters`, workloadClusters);
  }
  for (const { id, ...fields } of fleet.clusters) show(`Cluster ${id}`, fields);
  for (const { name, ...fields } of fleet.lanes) show(`Lane ${name}`, fields);
  show('Hub', fleet.hub);
  show('Audit', fleet.audit);
  show('Monitoring', fleet.monitoring);
  show('Journal', fleet.journal);
  for (const { name, ...fields } of fleet.policies)
    show(`Policy ${name}`, { ...fields, mode: modeWords({ name, ...fields }) });
  const { clusters, ...rollouts } = fleet.rollouts;
  show('Rollouts', rollouts);
  for (const [index, policy] of clusters.entries()) show(`Rollouts ${index + 1}`, policy);
  for (const { cluster, ...fields } of fleet.recovery) show(`Recovery ${cluster}`, fields);
}

/** Fractions as text: the metadata of a template has integers only. Source: cfn-lint, rule E4002. */
function withoutFractions(value: unknown): unknown {
  if (value === undefined) return undefined;
  return JSON.parse(
    JSON.stringify(value, (_, part: unknown) =>
      typeof part === 'number' && !Number.isInteger(part) ? String(part) : part,
    ),
  );
}

/** Allows a role to read exactly the secrets that the fleet names, by complete ARN. */
export function allowReadingKubeconfigs(
  scope: Construct,
  role: IRole,
  fleet: Pick<Fleet, 'clusters' | 'managementClusters'>,
): void {
  allowExactly(scope, 'KubeconfigAccess', {
    roles: [role],
    actions: ['secretsmanager:GetSecretValue'],
    resources: secretsOf(fleet),
    what: 'secrets with kubeconfigs',
  });
}
