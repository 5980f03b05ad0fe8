import { Rule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction } from 'aws-cdk-lib/aws-events-targets';
import { ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { SqsEventSource } from 'aws-cdk-lib/aws-lambda-event-sources';
import { FilterPattern, LogGroup, SubscriptionFilter } from 'aws-cdk-lib/aws-logs';
import { LambdaDestination } from 'aws-cdk-lib/aws-logs-destinations';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { ArnFormat, CfnOutput, Duration, Stack, Validations } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import type { Fleet } from '../../lambdas/config/fleet.ts';
import { fleetOfTargets } from '../../lambdas/fleet/fits-fleet.ts';
import { HUB_SIZES } from '../../lambdas/hub-sizes.ts';
import type { FleetState } from './fleet-state.ts';
import { HubFunction } from './hub-function.ts';
import type { SweepLane } from './lane.ts';
import { onlyBy } from './only-by.ts';
import { encryptedBy } from './queue-encryption.ts';
import { Webhook } from './webhook.ts';

export interface HintsProps {
  readonly fleet: Fleet;
  readonly lanes: readonly SweepLane[];
  /** JSON: URL of the queue of orders by name of the lane. */
  readonly laneQueues: string;
  readonly state: FleetState;
  readonly key?: IKey | undefined;
  /** EKS clusters of this account and Region whose audit log is in CloudWatch Logs. */
  readonly auditedClusters: readonly string[];
}

/**
 * Sweeps between two ticks. With `hub.hints`, when the audit log of a cluster shows a new request, or Auto Scaling a
 * new instance; only in the hub's own account and Region: another account would need a log destination and an event
 * bus. With `hub.webhook`, when the API server of any cluster calls.
 */
export class Hints extends Construct {
  public readonly hint: HubFunction;
  /** The URL for hints of clusters. */
  public readonly webhook: HubFunction | undefined;

  constructor(scope: Construct, id: string, { fleet, lanes, laneQueues, state, key, auditedClusters }: HintsProps) {
    super(scope, id);
    const { account, partition } = Stack.of(this);
    // A standard queue: FIFO queues have no delay for each message. The queue of the lane deduplicates.
    const waiting = new Queue(this, 'Waiting', {
      ...encryptedBy(key),
      enforceSSL: true,
      // The longest delay of a message is 15 minutes.
      retentionPeriod: Duration.minutes(20),
      visibilityTimeout: Duration.seconds(60),
    });
    Validations.of(waiting).acknowledge({
      id: 'AwsSolutions-SQS3',
      reason: 'A hint that is lost costs at most the time to the next tick.',
    });
    const hint = new HubFunction(this, 'Hint', {
      handlerFile: 'hint',
      description: 'Orders a sweep when an audit log or Auto Scaling shows a new node',
      timeout: Duration.seconds(HUB_SIZES.hint.timeoutSeconds),
      memorySize: HUB_SIZES.hint.memoryMiB,
      environment: {
        STATE_BUCKET: state.bucketName,
        LANE_QUEUE_URLS: laneQueues,
        WAITING_QUEUE_URL: waiting.queueUrl,
        HUB_ACCOUNT: account,
        HUB_PARTITION: partition,
      },
      files: { 'policies.json': fleet.policies, 'fleet.json': fleetOfTargets(fleet) },
      architecture: fleet.hub.architecture,
      key,
    });
    this.hint = hint;
    state.allow(hint.role, { read: ['registry', 'index'], write: [] });
    waiting.grantSendMessages(hint);
    for (const { orders } of lanes) orders.grantSendMessages(hint);
    hint.addEventSource(new SqsEventSource(waiting, { batchSize: 10, maxConcurrency: 2 }));
    if (fleet.hub.hints) this.takeEvents(auditedClusters);
    if (fleet.hub.webhook)
      this.webhook = new Webhook(this, 'Webhook', { waiting, architecture: fleet.hub.architecture, key }).webhook;
    // A message says when it is due: others could order more sweeps than a hint may.
    const senders = [hint.role, ...(this.webhook === undefined ? [] : [this.webhook.role])];
    waiting.addToResourcePolicy(onlyBy(senders, { actions: ['sqs:SendMessage'], resources: [waiting.queueArn] }));
  }

  private takeEvents(auditedClusters: readonly string[]): void {
    const { hint } = this;
    new Rule(this, 'Launches', {
      description: 'certmarshal: a new instance will ask for a certificate',
      eventPattern: { source: ['aws.autoscaling'], detailType: ['EC2 Instance Launch Successful'] },
      targets: [new LambdaFunction(hint, { retryAttempts: 0, maxEventAge: Duration.minutes(1) })],
    });

    hint.addPermission('AuditLogs', {
      principal: new ServicePrincipal('logs.amazonaws.com'),
      sourceAccount: Stack.of(this).account,
      sourceArn: Stack.of(this).formatArn({
        service: 'logs',
        resource: 'log-group',
        resourceName: '/aws/eks/*/cluster:*',
        arnFormat: ArnFormat.COLON_RESOURCE_NAME,
      }),
    });
    for (const cluster of auditedClusters)
      new SubscriptionFilter(this, `AuditLog-${cluster}`, {
        logGroup: LogGroup.fromLogGroupName(this, `LogGroup-${cluster}`, `/aws/eks/${cluster}/cluster`),
        filterPattern: NEW_REQUESTS,
        destination: new LambdaDestination(hint, { addPermissions: false }),
      }).node.addDependency(hint.node.findChild('AuditLogs'));
    new CfnOutput(Stack.of(this), 'HintFunctionArn', {
      value: hint.functionArn,
      description: 'Destination for subscription filters of your own on audit logs',
    });
  }
}

/** Audit events of created certificate requests, one event each. */
const NEW_REQUESTS = FilterPattern.all(
  FilterPattern.stringValue('$.objectRef.resource', '=', 'certificatesigningrequests'),
  FilterPattern.stringValue('$.verb', '=', 'create'),
  FilterPattern.stringValue('$.stage', '=', 'ResponseComplete'),
  FilterPattern.notExists('$.objectRef.subresource'),
);
