import { type AlarmId, type AlarmSeverity, runbookPlace } from '../tables/alarms.ts';

/** What people get, before a service shows it in its own form. Texts from clusters are inert. */
export interface Message {
  readonly state: 'opened' | 'closed' | 'daily';
  readonly severity: AlarmSeverity;
  /** Of the incident: the same when it opens and when it closes. */
  readonly key: string;
  /** RFC 3339. */
  readonly at: string;
  /** Of the alarm in CloudWatch. */
  readonly name?: string;
  readonly alarm?: AlarmId | undefined;
  readonly cluster?: string | undefined;
  /** Class of the certificates, or part of certmarshal. */
  readonly what?: string | undefined;
  readonly title: string;
  readonly lines: readonly string[];
  readonly command?: string | undefined;
}

export interface Links {
  /** To the report page. */
  readonly report: string | undefined;
  /** The URL at which the runbooks are published. */
  readonly runbooks: string | undefined;
}

/** The lines below the title. */
export function linesOf({ lines, command, alarm }: Message, { report, runbooks }: Links): readonly string[] {
  return [
    ...lines,
    ...(command === undefined ? [] : [`First: ${command}`]),
    ...(alarm === undefined ? [] : [`Runbook: ${runbookPlace(alarm, runbooks)}`]),
    ...(report === undefined ? [] : [`Report: ${report}`]),
  ];
}
