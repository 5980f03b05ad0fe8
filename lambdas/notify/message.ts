import type { AlarmId, AlarmSeverity } from '../health/alarms.ts';

/** What a person gets on a phone. */
export interface HumanMessage {
  /** ASCII, up to 100 characters, no line break. Source: SNS API Reference, Publish, Subject. */
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
  /** Absent where the alarm is about certmarshal itself. */
  readonly cluster?: string;
  readonly story: string;
  /** RFC 3339, as all times. */
  readonly since?: string;
  readonly due?: string;
  readonly at: string;
  readonly command: string;
  readonly runbook: string;
}
