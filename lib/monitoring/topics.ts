import { createHash } from 'node:crypto';
import { type IRole, PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { type IKey, Key } from 'aws-cdk-lib/aws-kms';
import { Subscription, SubscriptionFilter, SubscriptionProtocol, Topic } from 'aws-cdk-lib/aws-sns';
import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import { ArnFormat, Duration, RemovalPolicy, Stack, Validations } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import type { FleetMonitoring } from '../../lambdas/config/fleet.ts';
import { acknowledgeWildcards } from '../acknowledge-wildcards.ts';

/**
 * The topics of the hub and their dead-letter queue, all under one key:
 *
 * - `critical` and `warning`: messages of notify for people. `critical` also gets alarms that notify could not send.
 * - `pager` and `chat`: single incidents, opened and closed by notify, for a paging service and a chat.
 * - `fallback`: one incident for each level, opened and closed by CloudWatch without any function of ours.
 */
export class Topics extends Construct {
  public readonly critical: AlarmTopic;
  public readonly warning: AlarmTopic;
  public readonly pager: AlarmTopic;
  public readonly chat: AlarmTopic;
  public readonly fallback: AlarmTopic;
  /** Gets every message that a subscriber did not take. */
  public readonly deadLetters: Queue;

  constructor(scope: Construct, id: string) {
    super(scope, id);
    const key = new Key(this, 'Key', {
      description: 'certmarshal: encrypts the topics of the alarms',
      enableKeyRotation: true,
      // Nothing encrypted with it is kept.
      removalPolicy: RemovalPolicy.DESTROY,
    });
    key.addToResourcePolicy(
      new PolicyStatement({
        principals: [new ServicePrincipal('cloudwatch.amazonaws.com')],
        actions: ['kms:Decrypt', 'kms:GenerateDataKey*'],
        resources: ['*'],
        conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(this).account } },
      }),
    );
    // For the dead-letter queue. The topics themselves are encrypted with the key, so it cannot name them.
    key.addToResourcePolicy(
      new PolicyStatement({
        principals: [new ServicePrincipal('sns.amazonaws.com')],
        actions: ['kms:Decrypt', 'kms:GenerateDataKey'],
        resources: ['*'],
        conditions: { ArnLike: { 'aws:SourceArn': Stack.of(this).formatArn({ service: 'sns', resource: '*' }) } },
      }),
    );
    this.critical = new AlarmTopic(this, 'Critical', { displayName: 'certmarshal critical', key, fromAlarms: true });
    this.warning = new AlarmTopic(this, 'Warning', { displayName: 'certmarshal warning', key });
    this.pager = new AlarmTopic(this, 'Incidents', { displayName: 'certmarshal pager', key });
    this.chat = new AlarmTopic(this, 'Chat', { displayName: 'certmarshal chat', key });
    // It was called pager before: its subscribers, perhaps with a filter on names of composite alarms, still get
    // exactly these.
    this.fallback = new AlarmTopic(this, 'Pager', { displayName: 'certmarshal fallback', key, fromAlarms: true });
    this.deadLetters = new Queue(this, 'DeadLetters', {
      encryption: QueueEncryption.KMS,
      encryptionMasterKey: key,
      dataKeyReuse: Duration.hours(1),
      enforceSSL: true,
      retentionPeriod: Duration.days(14),
    });
    Validations.of(this.deadLetters).acknowledge({
      id: 'AwsSolutions-SQS3',
      reason: 'It is the dead-letter queue of the topics.',
    });
    // For all topics: subscriptions that people make themselves may use it too.
    this.deadLetters.addToResourcePolicy(
      new PolicyStatement({
        principals: [new ServicePrincipal('sns.amazonaws.com')],
        actions: ['sqs:SendMessage'],
        resources: [this.deadLetters.queueArn],
        conditions: { ArnEquals: { 'aws:SourceArn': Object.values(this.all).map(({ topicArn }) => topicArn) } },
      }),
    );
  }

  /** By the name that outputs and alarms have. */
  get all() {
    const { critical, warning, pager, chat, fallback } = this;
    return { critical, warning, pager, chat, fallback };
  }

  subscribe(subscribe: FleetMonitoring['subscribe']): void {
    // By its address: with numbers, an address removed from the list would take away the subscription of the next.
    for (const name of ['critical', 'warning', 'pager', 'fallback'] as const)
      for (const endpoint of subscribe[name] ?? [])
        new Subscription(this, `${name} ${createHash('sha256').update(endpoint).digest('hex').slice(0, 16)}`, {
          topic: this[name],
          endpoint,
          protocol: endpoint.startsWith('https://') ? SubscriptionProtocol.HTTPS : SubscriptionProtocol.EMAIL,
          deadLetterQueue: this.deadLetters,
          ...(name === 'pager' && {
            filterPolicy: { severity: SubscriptionFilter.stringFilter({ allowlist: ['critical'] }) },
          }),
        });
  }

  /** Lets a role publish to people. */
  allowTelling(role: IRole): void {
    for (const topic of [this.critical, this.warning, this.pager, this.chat]) topic.grantPublish(role);
    acknowledgeWildcards(role, 'Forms of one permission on the one key of the topics.', [
      'Action::kms:GenerateDataKey*',
    ]);
  }
}

interface AlarmTopicProps {
  readonly displayName: string;
  /** Its policy must let CloudWatch use it if alarms publish. */
  readonly key: IKey;
  /** Whether the alarms of this account and Region may publish to it. @default false */
  readonly fromAlarms?: boolean;
}

/**
 * A topic for alarms: encrypted, with access over TLS only.
 *
 * CloudWatch must be named in two policies, that of the topic and that of the key. A topic policy replaces the default
 * one that lets the account publish, and the AWS managed key of SNS cannot be opened to CloudWatch. Source: AWS
 * re:Post, "Why didn't I receive an SNS notification for my CloudWatch alarm trigger?".
 */
class AlarmTopic extends Topic {
  constructor(scope: Construct, id: string, { displayName, key, fromAlarms = false }: AlarmTopicProps) {
    super(scope, id, { displayName, masterKey: key, enforceSSL: true });
    if (!fromAlarms) return;
    const alarms = Stack.of(this).formatArn({
      service: 'cloudwatch',
      resource: 'alarm',
      resourceName: '*',
      arnFormat: ArnFormat.COLON_RESOURCE_NAME,
    });
    this.addToResourcePolicy(
      new PolicyStatement({
        principals: [new ServicePrincipal('cloudwatch.amazonaws.com')],
        actions: ['sns:Publish'],
        resources: [this.topicArn],
        conditions: { ArnLike: { 'aws:SourceArn': alarms } },
      }),
    );
  }
}
