import { GetSubscriptionAttributesCommand, paginateListSubscriptions, SNSClient } from '@aws-sdk/client-sns';
import { callAws } from '../../lambdas/aws/call.ts';
import { HUB_STACK } from '../../lambdas/fleet/role-names.ts';
import type { AwsCalls, AwsConfig } from './aws-calls.ts';
import { type Check, type Fix, failed, passed, warning } from './check.ts';
import { asUser } from './source-checks.ts';

/** CloudFormation names a topic by its stack, its logical id and a random part. */
const TOPIC = new RegExp(`:${HUB_STACK}-Topics(?<id>[A-Z][a-z]{1,20})[0-9A-F]{8}-[^:]{1,100}$`);

/** What is sent to a topic, by its logical id. */
const SENT: Readonly<Record<string, readonly Exclude<keyof Subscriptions, 'unconfirmed'>[]>> = {
  Critical: ['critical'],
  Warning: ['warning'],
  Incidents: ['critical', 'warning'],
  Chat: ['critical', 'warning'],
  Pager: ['fallback'],
  Alarms: [],
};

/** How many confirmed subscriptions get every message of a kind, and how many are not confirmed. */
export type Subscriptions = Readonly<Record<'critical' | 'warning' | 'fallback' | 'unconfirmed', number>>;

/** @throws AwsError */
export async function readSubscriptions(signal: AbortSignal, config: AwsConfig): Promise<Subscriptions | undefined> {
  const client = new SNSClient(config);
  const counts = { critical: 0, warning: 0, fallback: 0, unconfirmed: 0 };
  let isDeployed = false;
  await callAws({ object: 'sns:ListSubscriptions' }, signal, async (abortSignal) => {
    for await (const { Subscriptions = [] } of paginateListSubscriptions({ client }, {}, { abortSignal }))
      for (const { TopicArn = '', SubscriptionArn = '' } of Subscriptions) {
        const kinds = SENT[TOPIC.exec(TopicArn)?.groups?.['id'] ?? ''];
        if (kinds === undefined) continue;
        isDeployed = true;
        if (!SubscriptionArn.startsWith('arn:')) {
          counts.unconfirmed += 1;
          continue;
        }
        const command = new GetSubscriptionAttributesCommand({ SubscriptionArn });
        const { Attributes } = await client.send(command, { abortSignal });
        for (const kind of kinds) if (passes(kinds.length > 1 && kind, Attributes)) counts[kind] += 1;
      }
  });
  return isDeployed ? counts : undefined;
}

/** @param severity false on a topic of Lambda or CloudWatch, whose messages have no attributes: no filter passes them */
function passes(severity: string | false, { FilterPolicy, FilterPolicyScope }: Readonly<Record<string, string>> = {}) {
  const filter: Readonly<Record<string, unknown>> = JSON.parse(FilterPolicy || '{}');
  const keys = Object.keys(filter);
  if (keys.length === 0) return true;
  const { severity: severities } = FilterPolicyScope === 'MessageBody' || keys.length > 1 ? {} : filter;
  return Array.isArray(severities) && severities.includes(severity);
}

/** Checks that someone is notified of each severity, and if certmarshal itself is broken. */
export function subscriptionsCheck(aws: AwsCalls, region: string, isOfHub: boolean): Check {
  const fix: Fix = {
    text: 'List who is notified under monitoring.subscribe in fleet.yaml and deploy, then confirm what SNS sends. It deletes what is not confirmed within 48 hours; subscribe that again:',
    command: `aws sns subscribe --region ${region} --topic-arn TOPIC-ARN --protocol email --notification-endpoint ADDRESS`,
  };
  return {
    id: 'subscriptions',
    title: 'someone is notified',
    object: `sns:ListSubscriptions ${region}`,
    needs: ['aws-credentials'],
    run: asUser(async (signal) => {
      if (!isOfHub)
        return warning('not checked: your credentials are of another account', {
          text: 'Run this with credentials of the account of the hub.',
        });
      const counts = await aws.subscriptions(region, signal);
      if (counts === undefined)
        return warning(`no hub is deployed in ${region}`, { text: 'Run this again after the deploy.' });
      const found = `subscriptions to every message: ${Object.entries(counts)
        .map((count) => count.join(' '))
        .join(', ')}`;
      if (counts.critical === 0 || counts.warning === 0) return failed(found, fix);
      return counts.fallback === 0 || counts.unconfirmed > 0 ? warning(found, fix) : passed(found);
    }),
  };
}
