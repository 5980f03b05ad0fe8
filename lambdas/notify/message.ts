import type { AlarmId, AlarmSeverity } from '../health/alarms.ts';

/** What a person gets on a phone. */
export interface HumanMessage {
  /** ASCII, under 100 characters, no line break. Source: SNS API Reference, Publish, Subject. */
  readonly subject: string;
  /** The first line is the whole story. */
  readonly text: string;
}

/** Told to people, and to EventBridge as `detail`. `schema/event.schema.json` is published for it. */
export interface AlarmEvent {
  readonly version: 1;
  readonly alarm: AlarmId;
  readonly severity: AlarmSeverity;
  readonly state: 'opened' | 'closed';
  /** Absent where the alarm is about certmarshal itself, or nobody knows which cluster it is about. */
  readonly cluster?: string;
  /** What it is about, where there are several: a function or queue of certmarshal; of a cluster a class of certificate, a node. */
  readonly part?: string;
  readonly story: string;
  /** RFC 3339, as all times. */
  readonly since?: string;
  readonly due?: string;
  readonly at: string;
  readonly command: string;
  /** Path in the repository. */
  readonly runbook: string;
}

/** The state of the fleet, once a day; `detail` of `certmarshal digest`. */
export interface DigestEvent {
  readonly version: 1;
  readonly at: string;
  /** The first line of what people get. */
  readonly story: string;
  /** Absent, as all that follows, where nothing is known of the fleet. */
  readonly counts?: Readonly<Record<string, number>>;
  /** Ids of clusters, the first 100 of each. */
  readonly critical?: readonly string[];
  readonly warning?: readonly string[];
  /** Unwell since the last digest. */
  readonly opened?: readonly string[];
  /** No longer unwell since the last digest. */
  readonly mended?: readonly string[];
  readonly objective?: { readonly promised: number; readonly attainment?: number; readonly budgetLeft: number };
}

/** One message to one topic, with what machines get of it. */
export interface Notification {
  /** Of the topic. */
  readonly severity: AlarmSeverity;
  readonly state: 'opened' | 'closed' | 'digest';
  readonly human: HumanMessage;
  /** Of an alarm that certmarshal does not know there are none. */
  readonly events: readonly AlarmEvent[];
  readonly digest?: DigestEvent;
}

/** What subscribers over HTTPS, SQS, Lambda and Firehose get as the message. */
export interface NotificationDocument {
  readonly version: 1;
  readonly severity: AlarmSeverity;
  readonly state: Notification['state'];
  readonly subject: string;
  readonly text: string;
  /** The first ones of `eventCount`; EventBridge gets them all. */
  readonly events: readonly AlarmEvent[];
  readonly eventCount: number;
  readonly digest?: DigestEvent;
}
