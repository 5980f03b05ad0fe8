import type { AlarmEvent, DigestEvent } from '../contracts/event.ts';
import { counted, firstOf } from '../words.ts';
import { type Incident, incidentKey, incidentOf } from './incident.ts';

/**
 * Characters. Amazon Q Developer publishes no limits; Slack takes 150 for a header and 3,000 for a section.
 * Source: Slack, Block Kit reference, Header block, Section block.
 */
const LONGEST = { title: 150, text: 3_000, keyword: 100 } as const;
const TOO_LONG = 'The message is longer than a chat takes: the e-mail of the same minute has all of it.';

/** Source: Amazon Q Developer in chat applications, administrator guide, "Custom notifications", Event schema. */
interface CustomNotification {
  readonly version: '1.0';
  readonly source: 'custom';
  readonly content: {
    readonly textType: 'client-markdown';
    readonly title: string;
    readonly description: string;
    readonly nextSteps?: readonly string[];
    readonly keywords: readonly string[];
  };
  readonly metadata: {
    /** Messages of one thread stand together, where the channel threads notifications. */
    readonly threadId: string;
    readonly summary: string;
    readonly eventType: string;
    readonly relatedResources?: readonly string[];
  };
}

/**
 * An incident for Slack and Teams; its opening and its end are one thread. Pure.
 *
 * @param link to the report page
 */
export function chatMessage(event: AlarmEvent, incident: Incident, link: string | undefined): CustomNotification {
  const { alarm, severity, cluster } = event;
  const { key, title, facts, commands, runbook } = incident;
  const steps = [...commands.map(command), words(runbook)];
  const room = LONGEST.text - [...steps, facts].reduce((sum, { length }) => sum + length, 0);
  const lines = titled(title, words(facts));
  return {
    version: '1.0',
    source: 'custom',
    content: {
      textType: 'client-markdown',
      title: cut(words(title), LONGEST.title),
      description: bounded(lines, LONGEST.text),
      nextSteps: [...steps, ...linked(link, room)],
      keywords: [severity, alarm, ...(cluster === undefined ? [] : [cluster])].map((one) =>
        cut(words(one), LONGEST.keyword),
      ),
    },
    metadata: {
      threadId: key,
      summary: cut(words(title), LONGEST.title),
      eventType: alarm,
      ...(cluster !== undefined && { relatedResources: [words(cluster)] }),
    },
  };
}

/** Many incidents at once, in one message: a chat would drop them. Pure. */
export function chatOfMany(events: readonly AlarmEvent[], link: string | undefined): CustomNotification {
  const alarms = [...new Set(events.map(({ alarm }) => alarm))];
  const count = new Set(events.map(incidentKey)).size;
  const title = `${counted(count, 'more incident')} at once: ${firstOf(alarms)}`;
  const lines = events.map((event) => words(incidentOf(event, undefined).title));
  return several(title, lines, { threadId: `many ${events[0]?.at ?? ''}`, eventType: 'incidents', link });
}

/** The digest. Pure. */
export function chatDigest(
  { story, at, critical = [], warning = [] }: DigestEvent,
  link: string | undefined,
): CustomNotification {
  const lines = [
    ...(critical.length === 0 ? [] : [`Critical: ${words(firstOf(critical, 20))}`]),
    ...(warning.length === 0 ? [] : [`Warning: ${words(firstOf(warning, 20))}`]),
  ];
  return several(story, lines, { threadId: `digest ${at}`, eventType: 'digest', link });
}

function several(
  title: string,
  lines: readonly string[],
  {
    threadId,
    eventType,
    link,
  }: { readonly threadId: string; readonly eventType: string; readonly link: string | undefined },
): CustomNotification {
  const steps = linked(link, LONGEST.text);
  return {
    version: '1.0',
    source: 'custom',
    content: {
      textType: 'client-markdown',
      title: cut(words(title), LONGEST.title),
      description: bounded(titled(title, lines.join('\n')), LONGEST.text),
      ...(steps.length > 0 && { nextSteps: steps }),
      keywords: ['certmarshal'],
    },
    metadata: { threadId, summary: cut(words(title), LONGEST.title), eventType },
  };
}

/** A title that is cut stands whole in the text. */
function titled(title: string, text: string): string {
  const whole = words(title);
  return whole.length > LONGEST.title || text === '' ? [whole, text].filter((line) => line !== '').join('\n') : text;
}

/** Half a link opens nothing. */
function linked(link: string | undefined, room: number): readonly string[] {
  if (link === undefined) return [];
  const step = `Report: ${link}`;
  return step.length <= room
    ? [step]
    : ['Report: its link is too long for a chat; the e-mail of the same minute has it'];
}

function command(line: string): string {
  const [name = '', ...rest] = line.split(': ');
  return `${name}: \`${words(rest.join(': '))}\``;
}

/**
 * Text that comes from a cluster is text: Slack and Teams take what is between < and > for a mention of everybody or a link, and `](` for the middle of one.
 * Source: Slack, "Formatting text for app surfaces"; Amazon Q Developer in chat applications, "Custom notification content guidelines".
 */
function words(text: string): string {
  return text.replaceAll('<', '‹').replaceAll('>', '›').replaceAll('](', '] (').replaceAll('`', "'");
}

function bounded(text: string, most: number): string {
  if (text.length <= most) return text;
  return `${text.slice(0, most - TOO_LONG.length - 2).toWellFormed()}…\n${TOO_LONG}`;
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`;
}
