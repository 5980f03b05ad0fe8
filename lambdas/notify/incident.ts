import type { AlarmEvent } from '../contracts/event.ts';
import { nameInId } from '../identifiers.ts';
import { printableName } from '../printable-name.ts';
import { runbookPlace } from '../tables/alarms.ts';
import { closedLine, consequenceOf, dateOf, openedLine, unnamedLabel } from './texts.ts';

/** Source: CloudWatch API Reference, PutMetricAlarm, AlarmName. Characters. */
const LONGEST_KEY = 255;

/** One incident of a cluster or of certmarshal, as pager and chat show it. */
export interface Incident {
  /** Unique, and the same when it opens and closes. */
  readonly key: string;
  /** The whole story. */
  readonly title: string;
  /** A line of what the title does not say: due date, start, id of the cluster, consequence. Or none. */
  readonly facts: readonly string[];
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
  const title = titleOf(event);
  return {
    key: incidentKey(event),
    title,
    facts: factsOf(event, title),
    commands: [`First: ${command}`, ...(next === undefined ? [] : [`Then: ${next}`])],
    runbook: `Runbook: ${runbookPlace(alarm, runbooks)}`,
  };
}

/** Alarm, cluster and part. A key that is too long ends in a hash of the whole. Pure. */
export function incidentKey({ alarm, cluster, part }: Pick<AlarmEvent, 'alarm' | 'cluster' | 'part'>): string {
  return printableName([alarm, cluster, part].filter((one) => one !== undefined).join(' '), LONGEST_KEY);
}

function titleOf(event: AlarmEvent): string {
  const { state, severity, story } = event;
  return state === 'closed'
    ? closedLine(labelOf(event), story, event)
    : openedLine(severity, labelOf(event), story, event);
}

function labelOf({ alarm, part, cluster, name }: AlarmEvent): string | undefined {
  return cluster === undefined ? unnamedLabel({ alarm, part }) : (name ?? nameInId(cluster));
}

/** Without the times that the title has. */
function factsOf(event: AlarmEvent, title: string): readonly string[] {
  const { state, alarm, due, since, cluster, provider, part } = event;
  const times: readonly (readonly [word: string, at: string | undefined])[] =
    state === 'closed'
      ? [['Opened', since]]
      : [
          ['Due', due],
          ['Since', since],
        ];
  const facts = [
    ...times.flatMap(([word, at]) =>
      at === undefined || title.includes(dateOf(at)) ? [] : [`${word} ${dateOf(at)}.`],
    ),
    ...(cluster === undefined || cluster === labelOf(event) ? [] : [`Id ${cluster}.`]),
    ...(state === 'closed' ? [] : consequenceOf(alarm, provider, { what: part, story: event.story })),
  ];
  return facts.length === 0 ? [] : [facts.join(' ')];
}
