import { readFileSync } from 'node:fs';
import { Template } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { parseFleet } from '../../../lambdas/config/load-fleet.ts';
import { EVERYTHING, stacksOf, statementsOf, text } from './stacks.ts';

type Resource = Readonly<{ Type: string; Properties?: Readonly<Record<string, unknown>>; DeletionPolicy?: string }>;

/** By type, what decides how a resource works; the rest is what the CDK makes of it. Alarms and policies have lists of their own. */
const WHAT_MATTERS: Readonly<Record<string, readonly string[]>> = {
  'AWS::Lambda::EventInvokeConfig': ['MaximumRetryAttempts', 'MaximumEventAgeInSeconds', 'DestinationConfig'],
  'AWS::Lambda::Function': ['MemorySize', 'Timeout', 'ReservedConcurrentExecutions', 'VpcConfig', 'Environment'],
  'AWS::Lambda::Permission': ['Principal', 'SourceArn', 'SourceAccount', 'FunctionUrlAuthType'],
  'AWS::Logs::LogGroup': ['RetentionInDays'],
  'AWS::S3::Bucket': ['VersioningConfiguration', 'LifecycleConfiguration', 'ObjectLockConfiguration'],
  'AWS::Scheduler::Schedule': ['ScheduleExpression', 'ScheduleExpressionTimezone', 'Target'],
  'AWS::SQS::Queue': ['VisibilityTimeout', 'MessageRetentionPeriod', 'DelaySeconds', 'RedrivePolicy'],
};

const templateOf = (fleet: typeof EVERYTHING) => Template.fromStack(stacksOf(fleet).hub);
const parsed = parseFleet(readFileSync(new URL('../../../fleet.yaml', import.meta.url), 'utf8'), 'fleet.yaml');
if (!parsed.ok) throw new Error('fleet.yaml has problems');
const ships = templateOf(parsed.fleet);
const everything = templateOf(EVERYTHING);

const resourcesOf = (template: Template): Readonly<Record<string, Resource>> => template.toJSON()['Resources'];

function typesOf(template: Template): Readonly<Record<string, number>> {
  const types = Object.values(resourcesOf(template)).map(({ Type }) => Type);
  return Object.fromEntries(
    [...new Set(types)].toSorted().map((type) => [type, types.filter((one) => one === type).length]),
  );
}

function settingsOf(template: Template): readonly string[] {
  return Object.entries(resourcesOf(template)).flatMap(([id, { Type, Properties = {}, DeletionPolicy }]) => {
    const matters = WHAT_MATTERS[Type];
    if (matters === undefined) return [];
    const settings = Object.fromEntries(matters.map((name) => [name, Properties[name]]));
    return `${id.replace(/[0-9A-F]{8}$/, '')} ${text({ ...settings, DeletionPolicy })}`;
  });
}

function alarmsOf(template: Template): readonly string[] {
  const levels = Object.values(template.findResources('AWS::CloudWatch::CompositeAlarm'));
  return Object.values(template.findResources('AWS::CloudWatch::Alarm')).map(({ Properties: alarm }) => {
    const { AlarmName, ComparisonOperator, MetricName, Statistic, Dimensions, Metrics, TreatMissingData } = alarm;
    const level = levels.find(({ Properties }) => Properties.AlarmRule.includes(`"${AlarmName}"`))?.['Properties'];
    const [query, operand] = Metrics ?? [];
    const watched =
      query === undefined
        ? `${Statistic} ${MetricName} of ${text(Dimensions[0].Value)}`
        : text(query.Expression).replace(/^SELECT (\S+) .* GROUP BY (.*) ORDER.*/, '$1 by $2');
    const threshold = `${ComparisonOperator === 'LessThanThreshold' ? '<' : '>='} ${alarm.Threshold}`;
    const times = `${alarm.DatapointsToAlarm} of ${alarm.EvaluationPeriods} times ${alarm.Period ?? query.Period ?? operand.MetricStat.Period} s`;
    const silence = TreatMissingData === 'notBreaching' ? '' : `, ${TreatMissingData} without data`;
    return `${AlarmName} (${level?.AlarmName}): ${watched} ${threshold}, ${times}${silence}`;
  });
}

/** What only the fleet with everything has. */
const more = (of: (template: Template) => readonly string[]) => {
  const shipped = new Set(of(ships));
  return of(everything).filter((line) => !shipped.has(line));
};

describe('the template of the hub', () => {
  it('has so many resources of each type for the fleet that ships', () => {
    expect(Object.keys(resourcesOf(ships)).length).toBeLessThanOrEqual(85);
    expect(typesOf(ships)).toMatchInlineSnapshot(`
      {
        "AWS::CloudWatch::Alarm": 36,
        "AWS::CloudWatch::CompositeAlarm": 2,
        "AWS::CloudWatch::Dashboard": 1,
        "AWS::Events::Rule": 1,
        "AWS::IAM::Policy": 5,
        "AWS::IAM::Role": 5,
        "AWS::KMS::Key": 1,
        "AWS::Lambda::EventInvokeConfig": 1,
        "AWS::Lambda::Function": 4,
        "AWS::Lambda::Permission": 1,
        "AWS::Logs::LogGroup": 5,
        "AWS::S3::Bucket": 3,
        "AWS::S3::BucketPolicy": 3,
        "AWS::SNS::Topic": 5,
        "AWS::SNS::TopicPolicy": 5,
        "AWS::SQS::Queue": 1,
        "AWS::SQS::QueuePolicy": 1,
        "AWS::Scheduler::Schedule": 2,
        "AWS::StepFunctions::StateMachine": 1,
      }
    `);
  });

  it('has so many resources of these types for everything, and of others as many', () => {
    expect(typesOf(everything)).toEqual({
      ...typesOf(ships),
      'AWS::CloudWatch::Alarm': 38,
      'AWS::EKS::AccessEntry': 1,
      'AWS::IAM::ManagedPolicy': 2,
      'AWS::IAM::Policy': 6,
      'AWS::IAM::Role': 6,
      'AWS::Lambda::EventInvokeConfig': 3,
      'AWS::Lambda::Function': 6,
      'AWS::Lambda::Permission': 3,
      'AWS::Lambda::Url': 1,
      'AWS::Logs::LogGroup': 7,
      'AWS::SecretsManager::Secret': 1,
    });
  });

  it('allows and denies exactly this for the fleet that ships', () => {
    expect(statementsOf(ships).join('\n')).toMatchInlineSnapshot(`
      "<AuditHistoryPolicy> Deny s3:PutObject on <AuditHistory>/snapshots/* to {AWS:*} if {ArnNotEquals:{aws:PrincipalArn:[<SweepRole>]}}
      <DispatchRole> Allow eks:DescribeCluster on arn:<Partition>:eks:eu-central-1:<AccountId>:cluster/*
      <DispatchRole> Allow eks:ListClusters on * if {StringEquals:{aws:RequestedRegion:[eu-central-1]}}
      <DispatchRole> Allow logs:CreateLogStream logs:PutLogEvents on <PlanLogs>
      <DispatchRole> Allow logs:CreateLogStream logs:PutLogEvents on <ReportLogs>
      <DispatchRole> Allow s3:GetObject on <State>/fleet-index.json.gz
      <DispatchRole> Allow s3:GetObject on <State>/orders/*
      <DispatchRole> Allow s3:GetObject on <State>/outcomes/*
      <DispatchRole> Allow s3:GetObject on <State>/registry.json.gz
      <DispatchRole> Allow s3:GetObject on <State>/report.html
      <DispatchRole> Allow s3:ListBucket on <State>
      <DispatchRole> Allow s3:PutObject on <State>/fleet-index.json.gz if {ArnEquals:{lambda:SourceFunctionArn:arn:aws:lambda:eu-central-1:999900001111:function:CertMarshal-report}}
      <DispatchRole> Allow s3:PutObject on <State>/orders/* if {ArnEquals:{lambda:SourceFunctionArn:arn:aws:lambda:eu-central-1:999900001111:function:CertMarshal-plan}}
      <DispatchRole> Allow s3:PutObject on <State>/registry.json.gz if {ArnEquals:{lambda:SourceFunctionArn:arn:aws:lambda:eu-central-1:999900001111:function:CertMarshal-report}}
      <DispatchRole> Allow s3:PutObject on <State>/report.html if {ArnEquals:{lambda:SourceFunctionArn:arn:aws:lambda:eu-central-1:999900001111:function:CertMarshal-report}}
      <DispatchRole> Allow sts:AssumeRole on itself to {Service:lambda.amazonaws.com}
      <JournalPolicy> Deny s3:PutObject on <Journal>/journal/* to {AWS:*} if {Null:{s3:if-none-match:true}}
      <NotifyNotifyRole> Allow kms:Decrypt kms:GenerateDataKey* on <TopicsKey>
      <NotifyNotifyRole> Allow logs:CreateLogStream logs:PutLogEvents on <NotifyNotifyLogs>
      <NotifyNotifyRole> Allow s3:GetObject on <State>/fleet-index.json.gz
      <NotifyNotifyRole> Allow s3:GetObject on <State>/report.html
      <NotifyNotifyRole> Allow s3:ListBucket on <State>
      <NotifyNotifyRole> Allow sns:Publish on <TopicsChat>
      <NotifyNotifyRole> Allow sns:Publish on <TopicsCritical>
      <NotifyNotifyRole> Allow sns:Publish on <TopicsIncidents>
      <NotifyNotifyRole> Allow sns:Publish on <TopicsWarning>
      <NotifyNotifyRole> Allow sts:AssumeRole on itself to {Service:lambda.amazonaws.com}
      <SchedulerRole> Allow lambda:InvokeFunction on <Notify>
      <SchedulerRole> Allow lambda:InvokeFunction on <Notify>:*
      <SchedulerRole> Allow states:StartExecution on <TickMachine>
      <SchedulerRole> Allow sts:AssumeRole on itself to {Service:scheduler.amazonaws.com} if {StringEquals:{aws:SourceAccount:999900001111,aws:SourceArn:arn:aws:scheduler:eu-central-1:999900001111:schedule-group/default}}
      <StatePolicy> Deny s3:PutObject on <State>/fleet-index.json.gz to {AWS:*} if {ArnNotEquals:{aws:PrincipalArn:[<DispatchRole>]}}
      <StatePolicy> Deny s3:PutObject on <State>/orders/* to {AWS:*} if {ArnNotEquals:{aws:PrincipalArn:[<DispatchRole>]}}
      <StatePolicy> Deny s3:PutObject on <State>/outcomes/default/* to {AWS:*} if {ArnNotEquals:{aws:PrincipalArn:[<SweepRole>]}}
      <StatePolicy> Deny s3:PutObject on <State>/registry.json.gz to {AWS:*} if {ArnNotEquals:{aws:PrincipalArn:[<DispatchRole>]}}
      <StatePolicy> Deny s3:PutObject on <State>/report.html to {AWS:*} if {ArnNotEquals:{aws:PrincipalArn:[<DispatchRole>]}}
      <SweepRole> Allow ec2:DescribeInstances on * if {StringEquals:{aws:RequestedRegion:[eu-central-1]}}
      <SweepRole> Allow eks:DescribeCertificateAuthority eks:DescribeCluster eks:ListCertificateAuthorities on arn:<Partition>:eks:eu-central-1:<AccountId>:cluster/*
      <SweepRole> Allow logs:CreateLogStream logs:PutLogEvents on <LanedefaultSweepLogs>
      <SweepRole> Allow s3:GetObject on <State>/orders/*
      <SweepRole> Allow s3:GetObject on <State>/outcomes/default/*
      <SweepRole> Allow s3:GetObject s3:PutObject on <AuditHistory>/snapshots/*
      <SweepRole> Allow s3:ListBucket on <AuditHistory>
      <SweepRole> Allow s3:ListBucket on <State>
      <SweepRole> Allow s3:PutObject on <Journal>/journal/*
      <SweepRole> Allow s3:PutObject on <State>/outcomes/default/* if {ArnEquals:{lambda:SourceFunctionArn:arn:aws:lambda:eu-central-1:999900001111:function:CertMarshal-sweep-default}}
      <SweepRole> Allow sts:AssumeRole on itself to {Service:lambda.amazonaws.com}
      <TickMachineRole> Allow lambda:InvokeFunction on <LanedefaultSweep>
      <TickMachineRole> Allow lambda:InvokeFunction on <Plan>
      <TickMachineRole> Allow lambda:InvokeFunction on <Report>
      <TickMachineRole> Allow logs:CreateLogDelivery logs:DeleteLogDelivery logs:DescribeLogGroups logs:DescribeResourcePolicies logs:GetLogDelivery logs:ListLogDeliveries logs:PutResourcePolicy logs:UpdateLogDelivery on *
      <TickMachineRole> Allow sts:AssumeRole on itself to {Service:states.amazonaws.com} if {ArnLike:{aws:SourceArn:arn:aws:states:eu-central-1:999900001111:stateMachine:*},StringEquals:{aws:SourceAccount:999900001111}}
      <TopicsCriticalPolicy> Allow sns:Publish on <TopicsCritical> to {Service:cloudwatch.amazonaws.com} if {ArnLike:{aws:SourceArn:arn:aws:cloudwatch:eu-central-1:999900001111:alarm:*}}
      <TopicsDeadLettersPolicy> Allow sqs:SendMessage on <TopicsDeadLetters> to {Service:sns.amazonaws.com} if {ArnEquals:{aws:SourceArn:[<TopicsCritical>,<TopicsWarning>,<TopicsIncidents>,<TopicsChat>,<TopicsPager>]}}
      <TopicsKey> Allow kms:* on * to {AWS:arn:aws:iam::999900001111:root}
      <TopicsKey> Allow kms:Decrypt kms:GenerateDataKey on * to {Service:sns.amazonaws.com} if {ArnLike:{aws:SourceArn:arn:aws:sns:eu-central-1:999900001111:*}}
      <TopicsKey> Allow kms:Decrypt kms:GenerateDataKey* on * to {Service:cloudwatch.amazonaws.com} if {StringEquals:{aws:SourceAccount:999900001111}}
      <TopicsPagerPolicy> Allow sns:Publish on <TopicsPager> to {Service:cloudwatch.amazonaws.com} if {ArnLike:{aws:SourceArn:arn:aws:cloudwatch:eu-central-1:999900001111:alarm:*}}"
    `);
  });

  it('allows and denies exactly this besides for everything', () => {
    expect(more(statementsOf).join('\n')).toMatchInlineSnapshot(`
      "<DispatchRole> Allow kms:Decrypt kms:Encrypt kms:GenerateDataKey* kms:ReEncrypt* on arn:aws:kms:eu-central-1:999900001111:key/6f1d0c5a-0000-4000-8000-000000000000
      <DispatchRole> Allow sts:AssumeRole sts:TagSession on arn:aws:iam::111122223333:role/certmarshal-spoke
      <HintsWebhookWebhookRole> Allow kms:Decrypt on arn:aws:kms:eu-central-1:999900001111:key/6f1d0c5a-0000-4000-8000-000000000000
      <HintsWebhookWebhookRole> Allow lambda:InvokeFunction on <LanedefaultSweep>
      <HintsWebhookWebhookRole> Allow lambda:InvokeFunction on <LaneonpremSweep>
      <HintsWebhookWebhookRole> Allow logs:CreateLogStream logs:PutLogEvents on <HintsWebhookWebhookLogs>
      <HintsWebhookWebhookRole> Allow secretsmanager:GetSecretValue on <HintsWebhookKey>
      <HintsWebhookWebhookRole> Allow sts:AssumeRole on itself to {Service:lambda.amazonaws.com}
      <NotifyNotifyRole> Allow kms:Decrypt on arn:aws:kms:eu-central-1:999900001111:key/6f1d0c5a-0000-4000-8000-000000000000
      <StatePolicy> Deny s3:PutObject on <State>/outcomes/onprem/* to {AWS:*} if {ArnNotEquals:{aws:PrincipalArn:[<SweepRole>]}}
      <StatePolicy> Deny s3:PutObject on <State>/rollouts.json to {AWS:*} if {ArnNotEquals:{aws:PrincipalArn:[<SweepRole>]}}
      <SweepRole> Allow ec2:AssignPrivateIpAddresses ec2:CreateNetworkInterface ec2:DeleteNetworkInterface ec2:DescribeNetworkInterfaces ec2:DescribeSubnets ec2:UnassignPrivateIpAddresses on *
      <SweepRole> Allow kms:Decrypt kms:Encrypt kms:GenerateDataKey* kms:ReEncrypt* on arn:aws:kms:eu-central-1:999900001111:key/6f1d0c5a-0000-4000-8000-000000000000
      <SweepRole> Allow logs:CreateLogStream logs:PutLogEvents on <LaneonpremSweepLogs>
      <SweepRole> Allow s3:GetObject on <State>/outcomes/onprem/*
      <SweepRole> Allow s3:GetObject on <State>/rollouts.json
      <SweepRole> Allow s3:PutObject on <State>/outcomes/onprem/* if {ArnEquals:{lambda:SourceFunctionArn:arn:aws:lambda:eu-central-1:999900001111:function:CertMarshal-sweep-onprem}}
      <SweepRole> Allow s3:PutObject on <State>/rollouts.json
      <SweepRole> Allow secretsmanager:GetSecretValue on arn:aws:secretsmanager:eu-central-1:111122223333:secret:certmarshal/berlin-Ab12Cd
      <SweepRole> Allow secretsmanager:GetSecretValue on arn:aws:secretsmanager:eu-central-1:111122223333:secret:certmarshal/mgmt-Ef34Gh
      <SweepRole> Allow sts:AssumeRole sts:TagSession on arn:aws:iam::111122223333:role/certmarshal-spoke
      <SweepRole> Deny ec2:AssignPrivateIpAddresses ec2:CreateNetworkInterface ec2:DeleteNetworkInterface ec2:DescribeNetworkInterfaces ec2:DescribeSubnets ec2:UnassignPrivateIpAddresses on * if {ArnLike:{lambda:SourceFunctionArn:arn:aws:lambda:eu-central-1:999900001111:function:*}}
      <TickMachineRole> Allow lambda:InvokeFunction on <LaneonpremSweep>"
    `);
  });

  it('sets functions, what starts them, buckets and logs so for the fleet that ships', () => {
    expect(settingsOf(ships).join('\n')).toMatchInlineSnapshot(`
      "TopicsDeadLetters {MessageRetentionPeriod:1209600,DeletionPolicy:Delete}
      State {LifecycleConfiguration:{Rules:[{ExpirationInDays:1,Prefix:orders/,Status:Enabled},{ExpirationInDays:1,Prefix:outcomes/,Status:Enabled}]},DeletionPolicy:Retain}
      AuditHistory {VersioningConfiguration:{Status:Enabled},LifecycleConfiguration:{Rules:[{AbortIncompleteMultipartUpload:{DaysAfterInitiation:1},ExpiredObjectDeleteMarker:true,NoncurrentVersionExpiration:{NoncurrentDays:35},Status:Enabled}]},DeletionPolicy:Retain}
      Journal {VersioningConfiguration:{Status:Enabled},LifecycleConfiguration:{Rules:[{AbortIncompleteMultipartUpload:{DaysAfterInitiation:1},Status:Enabled}]},ObjectLockConfiguration:{ObjectLockEnabled:Enabled,Rule:{DefaultRetention:{Days:90,Mode:GOVERNANCE}}},DeletionPolicy:Retain}
      NotifyNotifyLogs {RetentionInDays:365,DeletionPolicy:Retain}
      Notify {MemorySize:1024,Timeout:30,Environment:{Variables:{STATE_BUCKET:<State>,CRITICAL_TOPIC_ARN:<TopicsCritical>,WARNING_TOPIC_ARN:<TopicsWarning>,PAGER_TOPIC_ARN:<TopicsIncidents>,CHAT_TOPIC_ARN:<TopicsChat>,REPORT_LINKS:true}}}
      NotifyEventInvokeConfig {MaximumRetryAttempts:2,MaximumEventAgeInSeconds:900,DestinationConfig:{OnFailure:{Destination:<TopicsCritical>}}}
      NotifyAlarmEventsAllowEventRuleCertMarshalNotify35996822 {Principal:events.amazonaws.com,SourceArn:<NotifyAlarmEvents>}
      NotifyDaily {ScheduleExpression:cron(0 7 * * ? *),ScheduleExpressionTimezone:UTC,Target:{Arn:<Notify>,Input:{daily:true},RetryPolicy:{MaximumEventAgeInSeconds:3600,MaximumRetryAttempts:2},RoleArn:<SchedulerRole>}}
      LanedefaultSweepLogs {RetentionInDays:365,DeletionPolicy:Retain}
      LanedefaultSweep {MemorySize:1024,Timeout:55,Environment:{Variables:{SWEEP_ROLE_ARN:<SweepRole>,SNAPSHOT_BUCKET:<AuditHistory>,JOURNAL_BUCKET:<Journal>,STATE_BUCKET:<State>,LANE:default,HUB_ACCOUNT:999900001111,HUB_PARTITION:aws,UV_THREADPOOL_SIZE:64}}}
      PlanLogs {RetentionInDays:365,DeletionPolicy:Retain}
      Plan {MemorySize:1024,Timeout:30,Environment:{Variables:{STATE_BUCKET:<State>,HUB_ACCOUNT:999900001111,HUB_PARTITION:aws,LANE_FUNCTIONS:{default:CertMarshal-sweep-default}}}}
      ReportLogs {RetentionInDays:365,DeletionPolicy:Retain}
      Report {MemorySize:1536,Timeout:55,Environment:{Variables:{STATE_BUCKET:<State>,HUB_ACCOUNT:999900001111,HUB_PARTITION:aws,LANES:[default]}}}
      TickLogs {RetentionInDays:30,DeletionPolicy:Delete}
      TickSchedule {ScheduleExpression:rate(1 minute),ScheduleExpressionTimezone:Etc/UTC,Target:{Arn:<TickMachine>,Input:{tick:<aws.scheduler.scheduled-time>},RetryPolicy:{MaximumEventAgeInSeconds:60,MaximumRetryAttempts:0},RoleArn:<SchedulerRole>}}"
    `);
  });

  it('sets them so for everything', () => {
    expect(more(settingsOf).join('\n')).toMatchInlineSnapshot(`
      "LanedefaultSweep {MemorySize:1024,Timeout:55,ReservedConcurrentExecutions:20,Environment:{Variables:{SWEEP_ROLE_ARN:<SweepRole>,SNAPSHOT_BUCKET:<AuditHistory>,JOURNAL_BUCKET:<Journal>,STATE_BUCKET:<State>,LANE:default,HUB_ACCOUNT:999900001111,HUB_PARTITION:aws,UV_THREADPOOL_SIZE:64}}}
      LanedefaultSweepEventInvokeConfig {MaximumRetryAttempts:0,MaximumEventAgeInSeconds:60}
      LaneonpremSweepLogs {RetentionInDays:365,DeletionPolicy:Retain}
      LaneonpremSweep {MemorySize:1024,Timeout:55,ReservedConcurrentExecutions:20,VpcConfig:{SecurityGroupIds:[sg-0a1b2c3d4e5f60718],SubnetIds:[subnet-0a1b2c3d4e5f60718,subnet-1b2c3d4e5f607182a]},Environment:{Variables:{SWEEP_ROLE_ARN:<SweepRole>,SNAPSHOT_BUCKET:<AuditHistory>,JOURNAL_BUCKET:<Journal>,STATE_BUCKET:<State>,LANE:onprem,HUB_ACCOUNT:999900001111,HUB_PARTITION:aws,UV_THREADPOOL_SIZE:64}}}
      LaneonpremSweepEventInvokeConfig {MaximumRetryAttempts:0,MaximumEventAgeInSeconds:60}
      Plan {MemorySize:1024,Timeout:30,Environment:{Variables:{STATE_BUCKET:<State>,HUB_ACCOUNT:999900001111,HUB_PARTITION:aws,LANE_FUNCTIONS:{default:CertMarshal-sweep-default,onprem:CertMarshal-sweep-onprem}}}}
      Report {MemorySize:1536,Timeout:55,Environment:{Variables:{STATE_BUCKET:<State>,HUB_ACCOUNT:999900001111,HUB_PARTITION:aws,LANES:[default,onprem]}}}
      HintsWebhookWebhookLogs {RetentionInDays:365,DeletionPolicy:Retain}
      HintsWebhook {MemorySize:256,Timeout:5,ReservedConcurrentExecutions:2,Environment:{Variables:{KEY_SECRET_ARN:<HintsWebhookKey>,LANE_FUNCTIONS:{default:CertMarshal-sweep-default,onprem:CertMarshal-sweep-onprem}}}}
      HintsWebhookinvokefunctionurl {Principal:*,FunctionUrlAuthType:NONE}
      HintsWebhookinvokefunction {Principal:*}"
    `);
  });

  it('has these alarms for the fleet that ships', () => {
    expect(alarmsOf(ships).join('\n')).toMatchInlineSnapshot(`
      "certmarshal-plan-heartbeat (certmarshal-critical): SampleCount Dispatched of plan < 1, 3 of 5 times 60 s, breaching without data
      certmarshal-report-heartbeat (certmarshal-critical): SampleCount OutcomesFolded of report < 1, 3 of 5 times 60 s, breaching without data
      certmarshal-oldest-sweep (certmarshal-critical): Maximum OldestSweep of report >= 300, 3 of 5 times 60 s, breaching without data
      certmarshal-executions-failed (certmarshal-warning): Sum ExecutionsFailed of <TickMachine> >= 1, 1 of 1 times 60 s
      certmarshal-executions-timed-out (certmarshal-warning): Sum ExecutionsTimedOut of <TickMachine> >= 1, 1 of 1 times 60 s
      certmarshal-executions-throttled (certmarshal-warning): Sum ExecutionThrottled of <TickMachine> >= 1, 1 of 1 times 60 s
      certmarshal-sweep-timeout-default (certmarshal-warning): Maximum Duration of <LanedefaultSweep> >= 52250, 3 of 5 times 60 s
      certmarshal-function-errors-notify (certmarshal-warning): Sum Errors of <Notify> >= 1, 3 of 5 times 60 s
      certmarshal-notifications-failed-critical (certmarshal-critical): Sum NumberOfNotificationsFailed of <TopicsCritical> >= 1, 1 of 60 times 60 s
      certmarshal-notifications-failed-warning (certmarshal-critical): Sum NumberOfNotificationsFailed of <TopicsWarning> >= 1, 1 of 60 times 60 s
      certmarshal-notifications-failed-pager (certmarshal-critical): Sum NumberOfNotificationsFailed of <TopicsIncidents> >= 1, 1 of 60 times 60 s
      certmarshal-notifications-failed-chat (certmarshal-critical): Sum NumberOfNotificationsFailed of <TopicsChat> >= 1, 1 of 60 times 60 s
      certmarshal-notifications-failed-fallback (certmarshal-critical): Sum NumberOfNotificationsFailed of <TopicsPager> >= 1, 1 of 60 times 60 s
      certmarshal-alarm-undelivered (certmarshal-critical): Sum FailedInvocations of <NotifyAlarmEvents> >= 1, 1 of 60 times 60 s
      certmarshal-discovery-problems (certmarshal-warning): Maximum DiscoveryProblems of report >= 1, 10 of 15 times 60 s
      certmarshal-snapshots-unwritten (certmarshal-warning): Sum SnapshotsUnwritten of sweep >= 1, 1 of 30 times 60 s
      certmarshal-journal-unwritten (certmarshal-warning): Sum JournalUnwritten of sweep >= 1, 1 of 1 times 60 s
      certmarshal-cluster-unreadable (certmarshal-critical): MAX(UnreadableFor) by Cluster >= 600, 2 of 3 times 60 s
      certmarshal-cluster-never-read (certmarshal-warning): MAX(NeverReadFor) by Cluster >= 1800, 2 of 3 times 60 s
      certmarshal-cluster-incomplete (certmarshal-warning): MAX(IncompleteFor) by Cluster >= 1800, 2 of 3 times 60 s
      certmarshal-audit-stale (certmarshal-warning): MAX(AuditAge) by Cluster >= 7200, 2 of 3 times 60 s
      certmarshal-certificate-critical (certmarshal-critical): MAX(CertificatesCritical) by Cluster, Class >= 1, 2 of 3 times 60 s
      certmarshal-certificate-warning (certmarshal-warning): MAX(CertificatesWarning) by Cluster, Class >= 1, 2 of 3 times 60 s
      certmarshal-kubelet-overdue (certmarshal-warning): MAX(KubeletsOverdue) by Cluster >= 1, 2 of 3 times 60 s
      certmarshal-coverage-lost (certmarshal-critical): MAX(CoverageLost) by Cluster >= 1, 2 of 3 times 60 s
      certmarshal-coverage-gap (certmarshal-warning): MAX(CoverageGapHours) by Cluster >= 1, 2 of 3 times 60 s
      certmarshal-requests-stuck (certmarshal-critical): MAX(RequestsStuck) by Cluster >= 1, 2 of 3 times 60 s
      certmarshal-requests-waiting (certmarshal-warning): MAX(RequestsWaiting) by Cluster >= 1, 2 of 3 times 60 s
      certmarshal-impersonation-attempt (certmarshal-critical): MAX(RequestsHostile) by Cluster >= 1, 1 of 1 times 60 s
      certmarshal-issued-names-another (certmarshal-critical): MAX(IssuedNamesAnother) by Cluster >= 1, 2 of 3 times 60 s
      certmarshal-issued-unproven (certmarshal-warning): MAX(IssuedUnproven) by Cluster >= 1, 2 of 3 times 60 s
      certmarshal-slo-fast-burn (certmarshal-critical): IF(late60 >= 3, late60 / (issued60 + late60) / 0.001, 0) >= 14.4, 1 of 1 times 3600 s
      certmarshal-slo-slow-burn (certmarshal-warning): IF(late360 >= 1, late360 / (issued360 + late360) / 0.001, 0) >= 6, 1 of 1 times 21600 s
      certmarshal-rollout-held (certmarshal-critical): MAX(RolloutsHeld) by Cluster >= 1, 2 of 3 times 60 s
      certmarshal-rollout-needed (certmarshal-warning): MAX(RolloutsNeeded) by Cluster >= 1, 2 of 3 times 60 s
      certmarshal-recovery-mode-open (certmarshal-warning): MAX(RecoveriesOpen) by Cluster >= 1, 2 of 3 times 60 s"
    `);
  });

  it('has these alarms besides for everything', () => {
    expect(more(alarmsOf).join('\n')).toMatchInlineSnapshot(`
      "certmarshal-sweep-timeout-onprem (certmarshal-warning): Maximum Duration of <LaneonpremSweep> >= 52250, 3 of 5 times 60 s
      certmarshal-function-errors-webhook (certmarshal-warning): Sum Errors of <HintsWebhook> >= 1, 3 of 5 times 60 s"
    `);
  });

  it('has these outputs', () => {
    const outputsOf = (template: Template) => Object.keys(template.toJSON()['Outputs']);
    expect(outputsOf(ships).join('\n')).toMatchInlineSnapshot(`
      "DashboardName
      CriticalTopicArn
      WarningTopicArn
      PagerTopicArn
      ChatTopicArn
      FallbackTopicArn
      DeadLetterQueueArn
      JournalBucketName
      FleetBucketName
      SnapshotBucketName
      SweepRoleArn
      DispatchRoleArn"
    `);
    expect(more(outputsOf).join('\n')).toMatchInlineSnapshot(`
      "WebhookUrl
      WebhookKeyArn"
    `);
  });
});
