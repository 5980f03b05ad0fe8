import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NotificationDocument } from '../../lambdas/contracts/event.ts';
import type { Account } from './account.ts';
import { logsOf } from './function-logs.ts';
import { ACCOUNT, REGION } from './ministack.ts';

/** An alarm of one plain metric, which the emulator evaluates; those over all clusters are Metrics Insights, which it does not know. */
const ALARM = { name: 'certmarshal-journal-unwritten', metric: 'JournalUnwritten', service: 'sweep' } as const;
const QUEUE = 'certmarshal-rehearsal-people';
const TOLD_WITHIN_MS = 60_000;

/** Topics of the hub that people subscribe to. */
export interface PeopleTopics {
  readonly warning: string;
  readonly pager: string;
  readonly fallback: string;
}

/**
 * Makes an alarm ring and end, and waits for what people and the pager are told: alarm, internal topic, the deployed notify function, topic, queue; and for the
 * composite alarm on the fallback topic.
 *
 * A stand-in for CloudWatch puts the one datum: the emulator makes no metrics of logs. That it is over is said through the API, as CloudWatch would a minute later.
 *
 * @returns the first line of the message of notify
 */
export async function expectTold({ calls }: Pick<Account, 'calls'>, topics: PeopleTopics): Promise<string> {
  const arn = `arn:aws:sqs:${REGION}:${ACCOUNT}:${QUEUE}`;
  const statement = {
    Effect: 'Allow',
    Principal: { Service: 'sns.amazonaws.com' },
    Action: 'sqs:SendMessage',
    Resource: arn,
  };
  const Policy = JSON.stringify({ Version: '2012-10-17', Statement: [statement] });
  const { QueueUrl } = await calls.json('sqs', 'AmazonSQS.CreateQueue', { QueueName: QUEUE, Attributes: { Policy } });
  const monitoring = (action: string, parameters: Readonly<Record<string, string>>) =>
    calls.query('monitoring', '2010-08-01', action, parameters);
  try {
    for (const TopicArn of Object.values(topics))
      await calls.query('sns', '2010-03-31', 'Subscribe', {
        TopicArn: String(TopicArn),
        Protocol: 'sqs',
        Endpoint: arn,
        'Attributes.entry.1.key': 'RawMessageDelivery',
        'Attributes.entry.1.value': 'true',
      });
    await monitoring('PutMetricData', {
      Namespace: 'certmarshal',
      'MetricData.member.1.MetricName': ALARM.metric,
      'MetricData.member.1.Value': '1',
      'MetricData.member.1.Unit': 'Count',
      'MetricData.member.1.Dimensions.member.1.Name': 'service',
      'MetricData.member.1.Dimensions.member.1.Value': ALARM.service,
    });
    const rings = await received(
      calls,
      String(QueueUrl),
      ({ people, pager, fallback }) => people !== undefined && pager !== undefined && fallback !== undefined,
    );
    await monitoring('SetAlarmState', { AlarmName: ALARM.name, StateValue: 'OK', StateReason: 'no datapoint' });
    const over = await received(
      calls,
      String(QueueUrl),
      ({ pager, fallback }) => pager !== undefined && fallback !== undefined,
    );
    assert.deepEqual([rings.pager?.NewStateValue, over.pager?.NewStateValue], ['ALARM', 'OK'], 'the pager');
    assert.equal(rings.pager?.AlarmName, over.pager?.AlarmName, 'the key of the incident');
    assert.deepEqual([rings.fallback?.NewStateValue, over.fallback?.NewStateValue], ['ALARM', 'OK'], 'the fallback');
    assert.deepEqual([rings.people?.severity, rings.people?.state], ['warning', 'opened'], 'what people are told');
    return String(rings.people?.text.split('\n', 1)[0]);
  } finally {
    await calls.json('sqs', 'AmazonSQS.DeleteQueue', { QueueUrl });
  }
}

interface Received {
  readonly people?: NotificationDocument;
  readonly pager?: AlarmBody;
  readonly fallback?: AlarmBody;
}

interface AlarmBody {
  readonly AlarmName: string;
  readonly NewStateValue: string;
}

/** The last messages of notify and of the composite alarm, in any order. */
async function received(
  calls: Account['calls'],
  QueueUrl: string,
  isEnough: (found: Received) => boolean,
): Promise<Received> {
  const deadline = Date.now() + TOLD_WITHIN_MS;
  let found: Received = {};
  while (!isEnough(found)) {
    if (Date.now() > deadline) {
      const logs = [...(await logsOf(calls))].find(([group]) => group.includes('Notify'))?.[1] ?? '';
      throw new Error(`not told within ${TOLD_WITHIN_MS} ms, but ${JSON.stringify(found)}; notify logged: ${logs}`);
    }
    const { Messages } = await calls.json('sqs', 'AmazonSQS.ReceiveMessage', { QueueUrl, MaxNumberOfMessages: 10 });
    for (const { Body, ReceiptHandle } of Array.isArray(Messages) ? Messages : []) {
      const body = JSON.parse(String(Body));
      if (!('AlarmName' in body)) found = { ...found, people: body };
      // Incidents have names of their own.
      else if (String(body.AlarmName).startsWith('certmarshal-')) found = { ...found, fallback: body };
      else found = { ...found, pager: body };
      await calls.json('sqs', 'AmazonSQS.DeleteMessage', { QueueUrl, ReceiptHandle });
    }
    await sleep(200);
  }
  return found;
}
