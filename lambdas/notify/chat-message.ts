import type { AlarmEvent, DigestEvent } from '../contracts/event.ts';
import { withoutLinks } from '../printable.ts';
import { counted, firstOf } from '../words.ts';
import { type Incident, incidentKey, incidentOf } from './incident.ts';

/**
 * Characters. Amazon Q Developer publishes no limits; Slack takes 150 for a header and 3,000 for a section.
 * Source: Slack, Block Kit reference, Header block, Section block.
 */
const LONGEST = { title: 150, text: 3_000, keyword: 100 } as const;
/** Longest name that is searched for a dot. Characters. */
const LONGEST_NAME = 1_000;
const TOO_LONG = 'The message is too long for a chat: the e-mail of the same minute has all of it.';

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
    /** Messages of one thread are shown together, in channels that thread notifications. */
    readonly threadId: string;
    readonly summary: string;
    readonly eventType: string;
    readonly relatedResources?: readonly string[];
  };
}

/**
 * An incident for Slack and Teams; opening and closing share a thread. Pure.
 *
 * @param link to the report page
 */
export function chatMessage(event: AlarmEvent, incident: Incident, link: string | undefined): CustomNotification {
  const { alarm, severity, cluster } = event;
  const { key, title, facts, commands, runbook } = incident;
  return notificationOf(title, facts, {
    threadId: key,
    eventType: alarm,
    // The runbook URL comes from fleet.yaml, so it may be a link.
    steps: [...commands.map(command), runbook],
    keywords: [severity, alarm],
    cluster,
    link,
  });
}

/** Many incidents in one message: a chat drops messages above its rate limit. Pure. */
export function chatOfMany(events: readonly AlarmEvent[], link: string | undefined): CustomNotification {
  const alarms = [...new Set(events.map(({ alarm }) => alarm))];
  const count = new Set(events.map(incidentKey)).size;
  const title = `${counted(count, 'more incident')} at once: ${firstOf(alarms)}`;
  const lines = events.map((event) => incidentOf(event, undefined).title);
  return notificationOf(title, lines, { threadId: `many ${events[0]?.at ?? ''}`, eventType: 'incidents', link });
}

/** The digest. Pure. */
export function chatDigest(
  { story, at, critical = [], warning = [] }: DigestEvent,
  link: string | undefined,
): CustomNotification {
  const lines = [
    ...(critical.length === 0 ? [] : [`Critical: ${firstOf(critical, 20)}`]),
    ...(warning.length === 0 ? [] : [`Warning: ${firstOf(warning, 20)}`]),
  ];
  return notificationOf(story, lines, { threadId: `digest ${at}`, eventType: 'digest', link });
}

interface About {
  readonly threadId: string;
  readonly eventType: string;
  /** As they are shown. */
  readonly steps?: readonly string[];
  readonly keywords?: readonly string[];
  readonly cluster?: string | undefined;
  readonly link: string | undefined;
}

/** @param lines below the title */
function notificationOf(
  title: string,
  lines: readonly string[],
  { threadId, eventType, steps = [], keywords = ['certmarshal'], cluster, link }: About,
): CustomNotification {
  const [head, text] = [words(title), lines.map(words).join('\n')];
  const short = cut(head, LONGEST.title);
  // The text repeats a title that was cut.
  const description = head === short && text !== '' ? text : [head, text].filter((line) => line !== '').join('\n');
  const room = LONGEST.text - [...steps, text].reduce((sum, { length }) => sum + length, 0);
  const nextSteps = [...steps, ...linked(link, room)];
  const resources = cluster === undefined ? [] : [words(cluster)];
  return {
    version: '1.0',
    source: 'custom',
    content: {
      textType: 'client-markdown',
      title: short,
      description: bounded(description, LONGEST.text),
      ...(nextSteps.length > 0 && { nextSteps }),
      keywords: [...keywords, ...resources].map((one) => cut(one, LONGEST.keyword)),
    },
    metadata: {
      threadId,
      summary: short,
      eventType,
      ...(resources.length > 0 && { relatedResources: resources }),
    },
  };
}

/** Half a link opens nothing. */
function linked(link: string | undefined, room: number): readonly string[] {
  if (link === undefined) return [];
  const step = `Report: ${link}`;
  return step.length <= room
    ? [step]
    : ['Report: its link is too long for a chat; the e-mail of the same minute has it'];
}

/**
 * A code span: it can be copied, and a chat finds no mention or link in it. Source: CommonMark 0.31.2, 6.1 Code spans.
 */
function command(line: string): string {
  const [name = '', ...rest] = line.split(': ');
  return `${name}: \`${inert(rest.join(': ').replaceAll(/\s+/g, ' '))}\``;
}

/** A dot that may belong to a domain name: no top-level domain begins with a digit. */
const DOMAIN_DOT = /\.(?=[\p{L}\p{M}])/gu;
const NAME = /[\p{L}\p{M}\p{N}.-]+/gu;
/**
 * Names of EC2 instances end in these, and they cannot be registered. Source: ICANN, Board resolution of 29 July 2024
 * (internal); RFC 6762, section 3 (local).
 */
const PRIVATE = /^(?:[a-z0-9]+(?:-+[a-z0-9]+)*\.)+(?:internal|local)$/;
/** Markdown drops the backslash. Source: CommonMark 0.31.2, 2.4 Backslash escapes. */
const ESCAPES = /\\+(?=[!-/:-@[-`{-~])/g;

/**
 * Makes text from a cluster plain: no mention, no link. `https://` becomes `https[:]//`, `example.com` becomes
 * `example[.]com`, and `@` becomes `(at)`.
 * Source: Slack, "Formatting text for app surfaces", Automatic parsing; CommonMark 0.31.2, 6.3 Links.
 */
function words(text: string): string {
  return withoutLinks(inert(text.replaceAll(ESCAPES, '')))
    .replaceAll('&', '＆')
    .replaceAll('@', '(at)')
    .replaceAll('](', '] (')
    .replaceAll(NAME, (name) => (PRIVATE.test(name) ? name : name.replaceAll(DOMAIN_DOT, '[.]')));
}

/** Slack reads text between < and > as a mention or a link, also in code. */
function inert(text: string): string {
  return text.replaceAll('<', '‹').replaceAll('>', '›').replaceAll('`', "'");
}

function bounded(text: string, most: number): string {
  return text.length <= most ? text : `${start(text, most - TOO_LONG.length - 2)}…\n${TOO_LONG}`;
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${start(text, most - 1)}…`;
}

/** Drops a name with dots that is cut in half: the rest could be another domain name. */
function start(text: string, most: number): string {
  const head = text.slice(0, most).toWellFormed();
  const last = /\S*$/.exec(head.slice(-LONGEST_NAME))?.[0] ?? '';
  return last.includes('.') ? head.slice(0, -last.length) : head;
}
