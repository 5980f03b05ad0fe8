import type { TopicMessage } from '../aws/topics.ts';
import type { AlarmEvent, DigestEvent, NotificationDocument } from '../contracts/event.ts';
import { printable } from '../printable.ts';
import type { AlarmSeverity } from '../tables/alarms.ts';
import { chatDigest, chatMessage, chatOfMany } from './chat-message.ts';
import { type Incident, incidentOf } from './incident.ts';
import { pagerMessage, type TopicPlace } from './pager-message.ts';
import { subjectOf } from './texts.ts';

/** For a phone. */
export interface HumanMessage {
  /** ASCII, under 100 characters, no line break. Source: SNS API Reference, Publish, Subject. */
  readonly subject: string;
  /** The first line is the whole story. */
  readonly text: string;
}

/** One message to one topic, with its events for programs. */
export interface Notification {
  /** Of the topic. */
  readonly severity: AlarmSeverity;
  readonly state: 'opened' | 'closed' | 'digest';
  readonly human: HumanMessage;
  /** Empty for an unknown alarm. */
  readonly events: readonly AlarmEvent[];
  readonly digest?: DigestEvent;
}

/** Most events in a message; EventBridge gets all. */
const MAX_EVENTS = 50;
/** Message and attributes. SNS accepts 262,144. Bytes. */
const MAX_MESSAGE = 200_000;
/** The document, which is in the message four times, with escaped quotation marks. Bytes. */
const MAX_DOCUMENTS = [28_000, 20_000, 12_000, 6_000] as const;
/** Longest text of a message that is otherwise too large. Characters. */
const SHORTEST_TEXT = 2_000;
/** Characters. Source: SNS API Reference, Publish: longer text messages are sent in parts. */
const MAX_SMS = 140;

/**
 * E-mail and SMS get text; HTTPS, SQS, Lambda and Firehose get the text and the events as JSON. Pure. Source: SNS API
 * Reference, Publish, MessageStructure; the keys are the protocols of subscriptions.
 */
export function publicationOf(notification: Notification): TopicMessage {
  const { human, severity, state, events } = notification;
  const [event] = events;
  const clusters = new Set(events.flatMap(({ cluster }) => cluster ?? []));
  const [cluster] = clusters;
  const attributes = {
    severity,
    state,
    ...(event === undefined || state === 'digest' ? {} : { alarm: event.alarm }),
    ...(cluster !== undefined && clusters.size === 1 && state !== 'digest' ? { cluster: printable(cluster, 310) } : {}),
  };
  return { subject: human.subject, message: fitting(notification), attributes };
}

/** One incident in the shape of a CloudWatch alarm message, for a paging service. Pure. */
export function pagerPublication(event: AlarmEvent, { place, link, runbooks }: PagerContext): TopicMessage {
  const incident = incidentOf(event, runbooks);
  return incidentPublication(event, incident, pagerMessage(event, incident, place, link), link);
}

/** One incident for Slack and Teams. Pure. */
export function chatPublication(event: AlarmEvent, { link, runbooks }: ChatContext): TopicMessage {
  const incident = incidentOf(event, runbooks);
  return incidentPublication(event, incident, chatMessage(event, incident, link), link);
}

/** The incidents above the limit of a chat in one message; also the digest. Pure. */
export function chatSummary(event: readonly AlarmEvent[] | DigestEvent, { link }: ChatContext): TopicMessage {
  const isDigest = 'story' in event;
  const document = isDigest ? chatDigest(event, link) : chatOfMany(event, link);
  const { title, description } = document.content;
  const text = description.startsWith(title) ? description : `${title}\n${description}`;
  const severity = !isDigest && event.some((one) => one.severity === 'critical') ? 'critical' : 'warning';
  const state = isDigest ? 'digest' : (event[0]?.state ?? 'opened');
  return {
    subject: subjectOf(title),
    message: messageOf(text, JSON.stringify(document)),
    attributes: { severity, state },
  };
}

export interface ChatContext {
  readonly link: string | undefined;
  /** The URL at which the runbooks are published. */
  readonly runbooks: string | undefined;
}

export interface PagerContext extends ChatContext {
  readonly place: TopicPlace;
}

/** The text for e-mail and SMS. */
// oxlint-disable-next-line max-params -- internal
function incidentPublication(
  event: AlarmEvent,
  { title, facts, commands, runbook }: Incident,
  document: object,
  link: string | undefined,
): TopicMessage {
  const { severity, state, alarm, cluster } = event;
  const lines = [title, ...facts, ...commands, runbook, ...(link === undefined ? [] : [`Report: ${link}`])];
  return {
    subject: subjectOf(title),
    message: messageOf(lines.join('\n'), JSON.stringify(document)),
    attributes: { severity, state, alarm, ...(cluster === undefined ? {} : { cluster: printable(cluster, 310) }) },
  };
}

/** Shortens lists before the text, which people read. */
function fitting(notification: Notification): string {
  const { human } = notification;
  for (const largest of MAX_DOCUMENTS) {
    const message = messageOf(human.text, JSON.stringify(documentOf(notification, largest)));
    if (Buffer.byteLength(message) <= MAX_MESSAGE) return message;
  }
  const text = `${human.text.slice(0, SHORTEST_TEXT).toWellFormed()}…`;
  return messageOf(text, JSON.stringify(documentOf({ ...notification, human: { ...human, text } }, 0)));
}

/** @param document JSON, for programs */
function messageOf(text: string, document: string): string {
  const [first = ''] = text.split('\n', 1);
  return JSON.stringify({
    default: text,
    sms: ascii(first, MAX_SMS),
    https: document,
    sqs: document,
    lambda: document,
    firehose: document,
  });
}

function documentOf({ severity, state, human, events, digest }: Notification, largest: number): NotificationDocument {
  const { subject, text } = human;
  const all = {
    version: 1,
    severity,
    state,
    subject,
    text,
    eventCount: events.length,
    digest: digest === undefined ? undefined : withinBytes(digest, largest / 2),
  } as const;
  let room = largest - Buffer.byteLength(JSON.stringify(all));
  const first = events.slice(0, MAX_EVENTS).filter((event) => {
    room -= Buffer.byteLength(JSON.stringify(event)) + 1;
    return room >= 0;
  });
  return { ...all, events: first };
}

/** Cuts the lists of a digest to the largest common length that fits; to nothing if necessary. Pure. */
export function withinBytes(digest: DigestEvent, bytes: number): DigestEvent {
  const lists = ['critical', 'warning'] as const;
  let most = Math.max(0, ...lists.map((name) => digest[name]?.length ?? 0));
  for (;;) {
    const cut = {
      ...digest,
      ...Object.fromEntries(lists.flatMap((name) => (digest[name] ? [[name, digest[name].slice(0, most)]] : []))),
    };
    if (most === 0 || Buffer.byteLength(JSON.stringify(cut)) <= bytes) return cut;
    most = Math.floor(most / 2);
  }
}

function ascii(text: string, most: number): string {
  const plain = text.replaceAll(/[^ -~]/g, '?');
  return plain.length <= most ? plain : `${plain.slice(0, most - 3)}...`;
}
