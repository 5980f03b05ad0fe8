import type { AlarmEvent, DigestEvent } from '../contracts/event.ts';
import type { AlarmSeverity } from '../tables/alarms.ts';

/** What a person gets on a phone. */
export interface HumanMessage {
  /** ASCII, under 100 characters, no line break. Source: SNS API Reference, Publish, Subject. */
  readonly subject: string;
  /** The first line is the whole story. */
  readonly text: string;
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
