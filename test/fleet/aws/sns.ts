import { randomUUID } from 'node:crypto';
import { AwsFault } from './aws-fault.ts';
import { queryProtocol } from './query-protocol.ts';
import type { Place, Service } from './service.ts';
import { commonFault } from './service-faults.ts';

/** A message that a topic took. */
export interface PublishedMessage {
  readonly topicArn: string;
  readonly subject: string;
  /** What each protocol of a subscription gets; `default` for those that have no text of their own. */
  readonly texts: Readonly<Record<string, string>> & { readonly default: string };
  readonly attributes: Readonly<Record<string, string>>;
}

export interface SimulatedSns {
  /** @returns the ARN */
  createTopic(place: Place, name: string): string;
  /** @param state what it does not take, or that it is not confirmed */
  subscribe(topicArn: string, state?: 'PendingConfirmation' | { readonly FilterPolicy: string }): void;
  /** All that was published, the oldest first. */
  readonly published: readonly PublishedMessage[];
}

/** Bytes of a message with its attributes. */
const MAX_MESSAGE = 262_144;
const protocol = queryProtocol('aws');

/**
 * Publish to a topic, and read subscriptions, two a page. They get nothing: what each protocol would get is kept.
 *
 * Source: Amazon SNS API reference, Publish, ListSubscriptions, GetSubscriptionAttributes.
 */
export function createSns(): SimulatedSns & Service<URLSearchParams> {
  const topics = new Map<string, Place>();
  const published: PublishedMessage[] = [];
  const subscriptions: { TopicArn: string; SubscriptionArn: string; attributes: Readonly<Record<string, string>> }[] =
    [];
  const read = (action: string, input: URLSearchParams, { account, region }: Place) => {
    const [own, from] = [`:${region}:${account}:`, Number(input.get('NextToken') ?? 0)];
    const all = subscriptions.filter(({ TopicArn }) => TopicArn.includes(own));
    if (action === 'ListSubscriptions')
      return protocol.answer(action, {
        Subscriptions: {
          member: all.slice(from, from + 2).map(({ TopicArn, SubscriptionArn }) => ({ TopicArn, SubscriptionArn })),
        },
        NextToken: from + 2 < all.length ? String(from + 2) : undefined,
      });
    const found = all.find(({ SubscriptionArn }) => SubscriptionArn === input.get('SubscriptionArn'));
    if (found === undefined) throw new AwsFault(404, 'NotFound', 'Subscription does not exist');
    const entry = Object.entries(found.attributes).map(([key, value]) => ({ key, value }));
    return protocol.answer(action, { Attributes: { entry } });
  };
  return {
    createTopic(place, name) {
      const arn = `arn:aws:sns:${place.region}:${place.account}:${name}`;
      topics.set(arn, place);
      return arn;
    },
    subscribe(TopicArn, state) {
      const [SubscriptionArn, attributes] =
        state === 'PendingConfirmation' ? [state, {}] : [`${TopicArn}:${randomUUID()}`, state ?? {}];
      subscriptions.push({ TopicArn, SubscriptionArn, attributes });
    },
    published,
    protocol,
    handle(action, input, caller) {
      if (action === 'ListSubscriptions' || action === 'GetSubscriptionAttributes') return read(action, input, caller);
      if (action !== 'Publish') throw new AwsFault(400, 'InvalidAction', `Not simulated: ${action}`);
      const topicArn = input.get('TopicArn') ?? '';
      const topic = topics.get(topicArn);
      if (topic === undefined || topic.region !== caller.region)
        throw new AwsFault(404, 'NotFound', 'Topic does not exist');
      if (topic.account !== caller.account) throw commonFault('sns', 'denied');
      const subject = input.get('Subject') ?? '';
      if (!/^[!-~][ -~]{0,98}$/.test(subject)) throw invalid('Subject');
      const message = input.get('Message') ?? '';
      const attributes = attributesOf(input);
      const size = [message, ...Object.entries(attributes).flat()].reduce(
        (sum, text) => sum + Buffer.byteLength(text),
        0,
      );
      if (message === '' || size > MAX_MESSAGE) throw invalid('Message too long or empty');
      published.push({ topicArn, subject, texts: textsOf(message, input.get('MessageStructure')), attributes });
      return protocol.answer(action, { MessageId: randomUUID() });
    },
  };
}

function textsOf(message: string, structure: string | null): PublishedMessage['texts'] {
  if (structure !== 'json') return { default: message };
  let value: unknown;
  try {
    value = JSON.parse(message);
  } catch {
    throw invalid('Message Structure - JSON message body failed to parse');
  }
  // Values that are no texts are ignored.
  const texts = Object.fromEntries(Object.entries(value ?? {}).filter(([, text]) => typeof text === 'string'));
  const { default: fallback } = texts;
  if (fallback === undefined) throw invalid('Message Structure - No default entry in JSON message body');
  return { ...texts, default: fallback };
}

function attributesOf(input: URLSearchParams): Record<string, string> {
  const attributes: Record<string, string> = {};
  for (let index = 1; ; index += 1) {
    const name = input.get(`MessageAttributes.entry.${index}.Name`);
    if (name === null) return attributes;
    const value = input.get(`MessageAttributes.entry.${index}.Value.StringValue`);
    if (!/^[A-Za-z0-9_.-]{1,256}$/.test(name) || value === null || value === '') throw invalid('MessageAttributes');
    attributes[name] = value;
  }
}

function invalid(what: string): AwsFault {
  return new AwsFault(400, 'InvalidParameter', `Invalid parameter: ${what}`);
}
