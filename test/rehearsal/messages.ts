import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { alarmEvent, contributorEvent } from '../unit/notify/values.ts';
import type { Account } from './account.ts';
import { logsOf } from './function-logs.ts';
import { ACCOUNT, REGION } from './ministack.ts';

/** An alarm of one plain metric, which the emulator evaluates; those over all clusters are Metrics Insights, which it does not know. */
const ALARM = { id: 'JournalUnwritten', name: 'certmarshal-journal-unwritten', service: 'sweep' } as const;
const QUEUE = 'certmarshal-rehearsal-people';
const WITHIN_MS = 60_000;

/** Topics of the hub that people subscribe to. */
export interface PeopleTopics {
  readonly warning: string;
  readonly pager: string;
  readonly fallback: string;
}

/**
 * Makes an alarm fire and end, and waits for what people and the pager get: rule, the deployed notify function, topic, queue; and for the composite alarm on the
 * fallback topic.
 *
 * The emulator makes no metrics of logs, and no events of alarms: one datum is put, and the documented events are matched with the deployed rule and handed to its
 * target. That the alarm is over is said through the API, as CloudWatch would a minute later.
 *
 * @returns the first line of the message
 */
export async function expectMessages({ calls }: Pick<Account, 'calls'>, topics: PeopleTopics): Promise<string> {
  const arn = `arn:aws:sqs:${REGION}:${ACCOUNT}:${QUEUE}`;
  const statement = {
    Effect: 'Allow',
    Principal: { Service: 'sns.amazonaws.com' },
    Action: 'sqs:SendMessage',
    Resource: arn,
  };
  const Policy = JSON.stringify({ Version: '2012-10-17', Statement: [statement] });
  const { QueueUrl } = await calls.json('sqs', 'AmazonSQS.CreateQueue', { QueueName: QUEUE, Attributes: { Policy } });
  const queue = String(QueueUrl);
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
    const time = new Date().toISOString();
    await monitoring('PutMetricData', {
      Namespace: 'certmarshal',
      'MetricData.member.1.MetricName': ALARM.id,
      'MetricData.member.1.Value': '1',
      'MetricData.member.1.Unit': 'Count',
      'MetricData.member.1.Dimensions.member.1.Name': 'service',
      'MetricData.member.1.Dimensions.member.1.Value': ALARM.service,
    });
    await handOver(calls, alarmEvent(ALARM.id, 'ALARM', { time }));
    const opened = await received(calls, queue, ({ people, pager, fallback }) => Boolean(people && pager && fallback));
    await monitoring('SetAlarmState', { AlarmName: ALARM.name, StateValue: 'OK', StateReason: 'no datapoint' });
    await handOver(calls, alarmEvent(ALARM.id, 'OK', { time }));
    const closed = await received(calls, queue, ({ people, pager, fallback }) => Boolean(people && pager && fallback));
    const statesOf = ({ people, pager, fallback }: Received) => [
      people?.state,
      people?.key,
      pager?.NewStateValue,
      pager?.AlarmName,
      fallback?.NewStateValue,
    ];
    assert.deepEqual(statesOf(opened), ['opened', ALARM.id, 'ALARM', ALARM.id, 'ALARM']);
    assert.deepEqual(statesOf(closed), ['closed', ALARM.id, 'OK', ALARM.id, 'OK']);
    await handOver(calls, contributorEvent('ClusterNeverRead', 'ALARM', { Cluster: 'nowhere' }, time));
    const { pager } = await received(calls, queue, (found) => found.pager !== undefined && found.people !== undefined);
    assert.equal(pager?.AlarmName, 'ClusterNeverRead nowhere', 'the key of a contributor');
    return String(opened.people?.title);
  } finally {
    await calls.json('sqs', 'AmazonSQS.DeleteQueue', { QueueUrl });
  }
}

/** As EventBridge does it: to every target of the rule that the event matches. */
async function handOver(calls: Account['calls'], event: object): Promise<void> {
  const { Rules } = await calls.json('events', 'AWSEvents.ListRules');
  const matching: string[] = [];
  for (const { Name, EventPattern } of Array.isArray(Rules) ? Rules : []) {
    const test = { EventPattern, Event: JSON.stringify(event) };
    const { Result } = await calls.json('events', 'AWSEvents.TestEventPattern', test);
    if (Result === true) matching.push(String(Name));
  }
  assert.equal(matching.length, 1, 'the rules that match');
  const { Targets } = await calls.json('events', 'AWSEvents.ListTargetsByRule', { Rule: matching[0] });
  const [target] = Array.isArray(Targets) ? Targets : [];
  const name = String(target?.Arn).split(':').at(-1);
  await calls.post('lambda', `/2015-03-31/functions/${name}/invocations`, event);
}

interface Received {
  readonly people?: { readonly state: string; readonly key: string; readonly title: string };
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
  const deadline = Date.now() + WITHIN_MS;
  let found: Received = {};
  while (!isEnough(found)) {
    if (Date.now() > deadline) {
      const logs = [...(await logsOf(calls))].find(([group]) => group.includes('Notify'))?.[1] ?? '';
      throw new Error(`not within ${WITHIN_MS} ms, but ${JSON.stringify(found)}; notify logged: ${logs}`);
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
