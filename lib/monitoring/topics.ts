import { type IRole, PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { RemovalPolicy, Stack } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import { acknowledgeWildcards } from '../acknowledge-wildcards.ts';
import { AlarmTopic } from '../constructs/alarm-topic.ts';

/**
 * The topics of the hub, all under one key:
 *
 * - `alarms`: state changes of every alarm, for notify only.
 * - `critical` and `warning`: messages of notify for people. `critical` also gets alarms that notify could not send.
 * - `pager` and `chat`: single incidents, opened and closed by notify, for a paging service and a chat.
 * - `fallback`: one incident for each level, opened and closed by CloudWatch without any function of ours.
 */
export class Topics extends Construct {
  public readonly alarms: AlarmTopic;
  public readonly critical: AlarmTopic;
  public readonly warning: AlarmTopic;
  public readonly pager: AlarmTopic;
  public readonly chat: AlarmTopic;
  public readonly fallback: AlarmTopic;

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
    this.alarms = new AlarmTopic(this, 'Alarms', { displayName: 'certmarshal alarms', key, fromAlarms: true });
    this.critical = new AlarmTopic(this, 'Critical', { displayName: 'certmarshal critical', key, fromAlarms: true });
    this.warning = new AlarmTopic(this, 'Warning', { displayName: 'certmarshal warning', key });
    this.pager = new AlarmTopic(this, 'Incidents', { displayName: 'certmarshal pager', key });
    this.chat = new AlarmTopic(this, 'Chat', { displayName: 'certmarshal chat', key });
    // It was called pager before: its subscribers, perhaps with a filter on names of composite alarms, still get
    // exactly these.
    this.fallback = new AlarmTopic(this, 'Pager', { displayName: 'certmarshal fallback', key, fromAlarms: true });
  }

  /** Lets a role publish to people. */
  allowTelling(role: IRole): void {
    for (const topic of [this.critical, this.warning, this.pager, this.chat]) topic.grantPublish(role);
    acknowledgeWildcards(role, 'Forms of one permission on the one key of the topics.', [
      'Action::kms:GenerateDataKey*',
    ]);
  }
}
