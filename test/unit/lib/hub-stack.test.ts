/* oxlint-disable vitest/expect-expect -- the assertions of aws-cdk-lib are not those of vitest */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Match, Template } from 'aws-cdk-lib/assertions';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { App, Validations } from 'aws-cdk-lib/core';
import { AwsSolutionsChecks } from 'cdk-nag';
import { afterAll, describe, expect, it } from 'vitest';

import { DEFAULT_POLICY } from '../../../lambdas/approval/policy.ts';
import type { Fleet } from '../../../lambdas/config/fleet.ts';
import { METRIC } from '../../../lambdas/telemetry/metric-names.ts';
import { HubStack } from '../../../lib/hub-stack.ts';

const arnOf = (name: string) => `arn:aws:secretsmanager:eu-central-1:111122223333:secret:certmarshal/${name}-Ab12Cd`;
const FLEET: Fleet = {
  clusters: [
    {
      name: 'berlin',
      provider: 'eks-anywhere',
      kubeconfigSecret: arnOf('berlin'),
      managementKubeconfigSecret: arnOf('hub'),
    },
    { name: 'dublin', provider: 'eks', kubeconfigSecret: arnOf('dublin'), serviceCidrs: ['10.96.0.0/12'] },
  ],
  policies: [DEFAULT_POLICY],
};
const { context }: { context: Record<string, unknown> } = JSON.parse(readFileSync('cdk.json', 'utf8'));

const output = mkdtempSync(join(tmpdir(), 'certmarshal-stack-'));
afterAll(() => rmSync(output, { recursive: true, force: true }));

function hub(fleet: Fleet = FLEET): HubStack {
  const outdir = mkdtempSync(join(output, 'cdk.out-'));
  const app = new App({ outdir, context: { ...context, 'aws:cdk:bundling-stacks': [] } });
  return new HubStack(app, 'CertMarshal', { fleet });
}

const template = Template.fromStack(hub());
const withoutClusters = Template.fromStack(hub({ ...FLEET, clusters: [] }));

/** The resource of a type whose logical id starts with this. */
function resource(type: string, id: string): { readonly id: string; readonly properties: Record<string, unknown> } {
  const found = Object.entries(template.findResources(type)).filter(([name]) => name.startsWith(id));
  const [[name, { Properties: properties }] = ['', {}]] = found;
  if (found.length !== 1) throw new Error(`${found.length} resources of ${type} start with ${id}`);
  return { id: name, properties };
}

describe('the hub stack', () => {
  it('is as it was', () => {
    const stable = JSON.parse(
      JSON.stringify(template.toJSON())
        .replaceAll(/[0-9a-f]{64}/g, 'HASH')
        .replaceAll(/"asset\.[^"]*"/g, '"asset"'),
    );
    expect(stable).toMatchSnapshot();
  });

  it('starts dispatch every minute, and never a second time', () => {
    template.hasResourceProperties('AWS::Scheduler::Schedule', {
      ScheduleExpression: 'rate(1 minute)',
      FlexibleTimeWindow: { Mode: 'OFF' },
      State: 'ENABLED',
      Target: {
        Arn: { 'Fn::GetAtt': [resource('AWS::Lambda::Function', 'Dispatch').id, 'Arn'] },
        Input: '{"scheduledTime":"<aws.scheduler.scheduled-time>"}',
        RetryPolicy: { MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60 },
      },
    });
    template.allResourcesProperties('AWS::Lambda::EventInvokeConfig', {
      MaximumRetryAttempts: 0,
      MaximumEventAgeInSeconds: 60,
    });
  });

  it('queues by cluster, encrypted, and forgets what nobody swept', () => {
    template.hasResourceProperties('AWS::SQS::Queue', {
      FifoQueue: true,
      DeduplicationScope: 'messageGroup',
      FifoThroughputLimit: 'perMessageGroupId',
      SqsManagedSseEnabled: true,
      MessageRetentionPeriod: 120,
    });
  });

  it('unlocks the clusters of a crashed sweep within two minutes, yet not before the sweep must have ended', () => {
    const timeout = Number(resource('AWS::Lambda::Function', 'Sweep').properties['Timeout']);
    const visibility = Number(resource('AWS::SQS::Queue', 'Targets').properties['VisibilityTimeout']);
    expect(visibility).toBeGreaterThan(timeout);
    expect(visibility).toBeLessThanOrEqual(120);
  });

  it('takes ten clusters at once and reports each message by itself', () => {
    template.hasResourceProperties('AWS::Lambda::EventSourceMapping', {
      BatchSize: 10,
      FunctionResponseTypes: ['ReportBatchItemFailures'],
      ScalingConfig: { MaximumConcurrency: 50 },
    });
  });

  it('refuses what does not come over TLS', () => {
    for (const type of ['AWS::SQS::QueuePolicy', 'AWS::SNS::TopicPolicy'])
      template.hasResourceProperties(type, {
        PolicyDocument: {
          Statement: Match.arrayWith([
            Match.objectLike({ Effect: 'Deny', Condition: { Bool: { 'aws:SecureTransport': 'false' } } }),
          ]),
        },
      });
  });

  it('runs every function alike, with a log group that is kept for a year', () => {
    template.resourceCountIs('AWS::Lambda::Function', 2);
    template.allResourcesProperties('AWS::Lambda::Function', {
      Runtime: 'nodejs24.x',
      Architectures: ['arm64'],
      Handler: 'index.handler',
      LoggingConfig: { LogGroup: { Ref: Match.stringLikeRegexp('Logs') } },
    });
    template.resourceCountIs('AWS::Logs::LogGroup', 2);
    template.allResources('AWS::Logs::LogGroup', { Properties: { RetentionInDays: 365 }, DeletionPolicy: 'Retain' });
  });

  describe('alarms', () => {
    it.each([
      ['DispatchHeartbeat', 'dispatch', METRIC.dispatched, 'Sum', 2],
      ['SweepHeartbeat', 'sweep', METRIC.duration, 'SampleCount', 1],
    ])('%s rings when three of five minutes are missing or too low', (id, service, metric, statistic, threshold) => {
      const { properties } = resource('AWS::CloudWatch::Alarm', id);
      const topic = { Ref: resource('AWS::SNS::Topic', 'Alarms').id };
      expect(properties).toMatchObject({
        Namespace: 'certmarshal',
        MetricName: metric,
        // Powertools publishes under this dimension only.
        Dimensions: [{ Name: 'service', Value: service }],
        Statistic: statistic,
        Threshold: threshold,
        ComparisonOperator: 'LessThanThreshold',
        Period: 60,
        EvaluationPeriods: 5,
        DatapointsToAlarm: 3,
        TreatMissingData: 'breaching',
        AlarmActions: [topic],
        OKActions: [topic],
      });
      expect(JSON.stringify(properties['AlarmDescription'])).toContain('First: aws logs tail');
    });

    it('may be published, which the policy of the topic and the key must both say', () => {
      template.hasResourceProperties('AWS::SNS::TopicPolicy', {
        PolicyDocument: {
          Statement: Match.arrayWith([
            Match.objectLike({
              Effect: 'Allow',
              Action: 'sns:Publish',
              Principal: { Service: 'cloudwatch.amazonaws.com' },
              Condition: { ArnLike: { 'aws:SourceArn': Match.anyValue() } },
            }),
          ]),
        },
      });
      template.hasResourceProperties('AWS::KMS::Key', {
        EnableKeyRotation: true,
        KeyPolicy: {
          Statement: Match.arrayWith([
            Match.objectLike({
              Action: ['kms:Decrypt', 'kms:GenerateDataKey*'],
              Principal: { Service: 'cloudwatch.amazonaws.com' },
            }),
          ]),
        },
      });
    });

    it('does not ring for the sweeps of a fleet without clusters', () => {
      expect(Object.keys(withoutClusters.findResources('AWS::CloudWatch::Alarm'))).toEqual([
        expect.stringMatching(/^DispatchHeartbeat/),
      ]);
    });
  });

  describe('permissions', () => {
    /** All that the policies of a role allow, by action. */
    function allowedTo(role: string): Record<string, unknown> {
      const policies = [
        ...Object.values(template.findResources('AWS::IAM::Policy')),
        ...Object.values(template.findResources('AWS::IAM::ManagedPolicy')),
      ].filter(({ Properties }) => JSON.stringify(Properties.Roles).includes(`"${role}`));
      const statements = policies.flatMap(({ Properties }) => Properties.PolicyDocument.Statement);
      return Object.fromEntries(
        statements.flatMap(({ Action, Resource }) => [Action].flat().map((action: string) => [action, Resource])),
      );
    }
    const logs = (id: string) => ({ 'Fn::GetAtt': [resource('AWS::Logs::LogGroup', id).id, 'Arn'] });
    const queue = { 'Fn::GetAtt': [resource('AWS::SQS::Queue', 'Targets').id, 'Arn'] };

    it('lets dispatch send to the queue and write its log', () => {
      expect(allowedTo('DispatchRole')).toEqual({
        'logs:CreateLogStream': logs('DispatchLogs'),
        'logs:PutLogEvents': logs('DispatchLogs'),
        'sqs:GetQueueAttributes': queue,
        'sqs:GetQueueUrl': queue,
        'sqs:SendMessage': queue,
      });
    });

    it('lets a sweep take from the queue, write its log, and read exactly the secrets of the fleet', () => {
      expect(allowedTo('SweepRole')).toEqual({
        'logs:CreateLogStream': logs('SweepLogs'),
        'logs:PutLogEvents': logs('SweepLogs'),
        'sqs:ChangeMessageVisibility': queue,
        'sqs:DeleteMessage': queue,
        'sqs:GetQueueAttributes': queue,
        'sqs:GetQueueUrl': queue,
        'sqs:ReceiveMessage': queue,
        'secretsmanager:GetSecretValue': [arnOf('berlin'), arnOf('dublin'), arnOf('hub')],
      });
    });

    it('uses no policy of AWS', () => {
      expect(JSON.stringify(template.toJSON())).not.toContain(':policy/service-role');
    });
  });

  it('shows the configuration where cdk diff does', () => {
    expect(template.toJSON().Metadata).toMatchObject({
      'Cluster berlin, kubeconfigSecret': arnOf('berlin'),
      'Cluster dublin, serviceCidrs': ['10.96.0.0/12'],
      'Policy default, mode': 'enforce',
    });
  });
});

describe('cdk-nag', () => {
  function check(spoil: (stack: HubStack) => void): () => unknown {
    const stack = hub();
    spoil(stack);
    const app = stack.node.root;
    if (!(app instanceof App)) throw new Error('not an app');
    Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
    return () => app.synth();
  }

  it('finds nothing that is not acknowledged', () => {
    expect(check(() => {})).not.toThrow();
  });

  it('would find something', () => {
    expect(check((stack) => new Queue(stack, 'Careless'))).toThrow('AwsSolutions-SQS4');
  });
});
