import { nameInId } from '../audit/commands.ts';
import type { AlarmEvent } from '../contracts/event.ts';
import { printableName } from '../printable-name.ts';
import { runbookPlace } from '../tables/alarms.ts';
import { dateOf, labelled, unnamedLabel } from './texts.ts';

/** Source: CloudWatch API Reference, PutMetricAlarm, AlarmName. Characters. */
const LONGEST_KEY = 255;

/** One incident of a cluster or of certmarshal, as pager and chat show it. */
export interface Incident {
  /** Unique, and the same when it opens and closes. */
  readonly key: string;
  /** The whole story. */
  readonly title: string;
  /** Due date, start and cluster. */
  readonly facts: string;
  /** `First: …`, `Then: …` */
  readonly commands: readonly string[];
  /** `Runbook: …` */
  readonly runbook: string;
}

/**
 * Pure.
 *
 * @param runbooks the URL at which the runbooks are published
 */
export function incidentOf(event: AlarmEvent, runbooks: string | undefined): Incident {
  const { alarm, command, next } = event;
  return {
    key: incidentKey(event),
    title: `[${signOf(event)}] ${labelled(labelOf(event), overOf(event))}`,
    facts: factsOf(event).join(' '),
    commands: [`First: ${command}`, ...(next === undefined ? [] : [`Then: ${next}`])],
    runbook: `Runbook: ${runbookPlace(alarm, runbooks)}`,
  };
}

/** Alarm, cluster and part. A key that is too long ends in a hash of the whole. Pure. */
export function incidentKey({ alarm, cluster, part }: Pick<AlarmEvent, 'alarm' | 'cluster' | 'part'>): string {
  return printableName([alarm, cluster, part].filter((one) => one !== undefined).join(' '), LONGEST_KEY);
}

function signOf({ state, severity, escalatedTo }: AlarmEvent): string {
  if (state === 'opened') return severity;
  return escalatedTo === undefined ? 'recovered' : 'escalated';
}

function labelOf({ alarm, part, cluster, name }: AlarmEvent): string | undefined {
  return cluster === undefined ? unnamedLabel({ alarm, part }) : (name ?? nameInId(cluster));
}

function overOf({ state, story, escalatedTo, reason }: AlarmEvent): string {
  if (state === 'opened') return story;
  const over = escalatedTo === undefined ? 'resolved' : `now ${escalatedTo}`;
  return `${over}: ${story}${reason === undefined ? '' : ` (${reason})`}`;
}

function factsOf(event: AlarmEvent): readonly string[] {
  const { state, at, due, since, cluster } = event;
  const times =
    state === 'closed'
      ? [`Resolved ${dateOf(at)}.`, ...(since === undefined ? [] : [`Opened ${dateOf(since)}.`])]
      : [
          ...(due === undefined ? [] : [`Due ${dateOf(due)}.`]),
          since === undefined ? `Opened ${dateOf(at)}.` : `Since ${dateOf(since)}.`,
        ];
  return [...times, ...(cluster === undefined || cluster === labelOf(event) ? [] : [`Id ${cluster}.`])];
}
