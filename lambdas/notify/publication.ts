import { printable } from '../printable.ts';
import type { Notification, NotificationDocument } from './message.ts';

/** What SNS is given. */
export interface Publication {
  readonly subject: string;
  /** JSON with a text for each protocol. */
  readonly message: string;
  /** For filter policies of subscriptions. */
  readonly attributes: Readonly<Record<string, string>>;
}

/** Events in a message; EventBridge gets them all. */
const MOST_EVENTS = 50;
/** Bytes of the document, which is in the message four times, each at most twice as long for its quotation marks: SNS takes 262,144 in all. */
const LARGEST_DOCUMENT = 28_000;
/** Characters. Source: SNS API Reference, Publish: a longer one is sent as several. */
const LONGEST_SMS = 140;

/**
 * People read text in an e-mail and on a phone; what subscribes over HTTPS, SQS, Lambda or Firehose gets the same and the events as JSON. Pure.
 * Source: SNS API Reference, Publish, MessageStructure; the keys are the protocols of subscriptions.
 */
export function publicationOf(notification: Notification): Publication {
  const { human, severity, state, events } = notification;
  const [first = ''] = human.text.split('\n', 1);
  const document = JSON.stringify(documentOf(notification));
  const [event] = events;
  const clusters = new Set(events.flatMap(({ cluster }) => cluster ?? []));
  const [cluster] = clusters;
  return {
    subject: human.subject,
    message: JSON.stringify({
      default: human.text,
      sms: ascii(first, LONGEST_SMS),
      https: document,
      sqs: document,
      lambda: document,
      firehose: document,
    }),
    attributes: {
      severity,
      state,
      ...(event === undefined || state === 'digest' ? {} : { alarm: event.alarm }),
      ...(cluster !== undefined && clusters.size === 1 && state !== 'digest'
        ? { cluster: printable(cluster, 310) }
        : {}),
    },
  };
}

function documentOf({ severity, state, human, events, digest }: Notification): NotificationDocument {
  const { subject, text } = human;
  const all = {
    version: 1,
    severity,
    state,
    subject,
    text,
    eventCount: events.length,
    ...(digest === undefined ? {} : { digest }),
  } as const;
  let room = LARGEST_DOCUMENT - Buffer.byteLength(JSON.stringify(all));
  const first = events.slice(0, MOST_EVENTS).filter((event) => {
    room -= Buffer.byteLength(JSON.stringify(event)) + 1;
    return room >= 0;
  });
  return { ...all, events: first };
}

function ascii(text: string, most: number): string {
  const plain = text.replaceAll(/[^ -~]/g, '?');
  return plain.length <= most ? plain : `${plain.slice(0, most - 3)}...`;
}
