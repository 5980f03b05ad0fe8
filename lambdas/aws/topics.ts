import { PublishCommand, SNSClient } from '@aws-sdk/client-sns';
import { printable } from '../printable.ts';
import { callAws } from './call.ts';

/** A message with a text for each protocol of a subscription. */
export interface TopicMessage {
  /** ASCII, under 100 characters; e-mails have it. */
  readonly subject: string;
  /** A JSON object with texts by protocol, and `default`; 262,144 bytes at most, with the attributes. */
  readonly message: string;
  /** For filter policies of subscriptions. Values are not empty. */
  readonly attributes: Readonly<Record<string, string>>;
}

/**
 * Publishes one message.
 *
 * @throws AwsError
 */
export type Publish<Topic> = (topic: Topic, message: TopicMessage, signal: AbortSignal) => Promise<void>;

/** @param arns of the topics */
export function createPublisher<Topic extends string>(
  arns: Readonly<Record<Topic, string>>,
  client = new SNSClient(),
): Publish<Topic> {
  return async (topic, { subject, message, attributes }, signal) => {
    const topicArn = arns[topic];
    const command = new PublishCommand({
      TopicArn: topicArn,
      Subject: subject,
      Message: message,
      MessageStructure: 'json',
      MessageAttributes: Object.fromEntries(
        Object.entries(attributes).map(([name, value]) => [name, { DataType: 'String', StringValue: value }]),
      ),
    });
    const object = `sns:Publish to ${printable(topicArn.slice(topicArn.lastIndexOf(':') + 1))}`;
    await callAws({ object }, signal, (abortSignal) => client.send(command, { abortSignal }));
  };
}
