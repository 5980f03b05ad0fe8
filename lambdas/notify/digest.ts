import type { DigestEvent } from '../contracts/event.ts';
import type { NotificationState, Receiver } from '../contracts/notification-state.ts';
import type { ClusterHealth, FleetHealth } from '../health/fleet-health.ts';
import { printable, printableStory } from '../printable.ts';
import { CERTIFICATE_CLASSES, renewedBy } from '../tables/certificate-classes.ts';
import type { ClusterState } from '../tables/cluster-states.ts';
import { keysOf } from '../tables/keys.ts';
import type { RolloutState } from '../tables/rollout-states.ts';
import { DAY_MS } from '../time.ts';
import { verdictSentence } from '../words/verdict-words.ts';
import { compare, counted, date, span, timeOf } from '../words.ts';
import { isFresh, NOBODY, type NotificationChange, openAlarms } from './notification-state.ts';
import { isOfHub } from './plan.ts';
import { type Notification, withinBytes } from './publication.ts';
import { bounded, LONGEST, labelsOf, subjectOf } from './texts.ts';

/** Most lines of a section. */
const MAX_LINES = 8;
/** Characters, without the link. */
const MAX_TEXT = 6_000;
/** With a command. */
const MAX_LINE = 640;
/** Most ids in an event. */
const MAX_IDS = 100;
/** Of the event. EventBridge accepts 256 KiB. Bytes. */
const MAX_EVENT = 200_000;
/** Age of hostile requests that are reported. Milliseconds. */
const HOSTILE_MS = DAY_MS;
/** Later expiries are not reported every day. Milliseconds. */
const SOON_MS = 30 * DAY_MS;
/** A second digest within this time is a duplicate delivery. Milliseconds. */
const SAME_DIGEST_MS = 10 * 60_000;

export interface DigestInput {
  /** Undefined where the registry or the index cannot be read; `problem` then says why. */
  readonly health: FleetHealth | undefined;
  readonly problem?: string;
  readonly told: NotificationState;
  /** To the report page. */
  readonly link?: string | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export interface Digest {
  /** Undefined for a duplicate. */
  readonly message: Notification | undefined;
  readonly change: NotificationChange;
}

/**
 * The daily digest of the fleet. Also sent when all clusters are healthy or nothing is known: silence must not look
 * like health. Pure.
 */
export function digestOf(input: DigestInput): Digest {
  const { told, now, health } = input;
  const last = timeOf(told.digestAt);
  if (last !== undefined && Math.abs(now - last) < SAME_DIGEST_MS) return { message: undefined, change: {} };
  return health === undefined ? unknownDigest(input) : knownDigest(input, health);
}

function unknownDigest({ problem = 'its state cannot be read', link, now }: DigestInput): Digest {
  const story = 'Fleet: unknown. The state of the clusters could not be read.';
  const at = new Date(now).toISOString();
  const lines = [story, printableStory(problem, MAX_LINE), 'First: certmarshal doctor --fleet fleet.yaml'];
  return {
    message: messageOf(lines, { version: 1, at, story }, link),
    change: { digestAt: at },
  };
}

function knownDigest({ told, link, now }: DigestInput, health: FleetHealth): Digest {
  const at = new Date(now).toISOString();
  const current = health.clusters.filter(({ state }) => state !== 'gone');
  const labels = labelsOf(health.clusters);
  const labelOf = (id: string): string => printable(labels.get(id) ?? id, 120);
  const view: View = { current, labelOf, now };
  const having = (state: ClusterState) => health.clusters.filter((cluster) => cluster.state === state);
  const critical = having('critical');
  const warning = having('warning');
  const { counts } = health;
  const story = storyOf(view, counts);
  const sections = [
    section(
      'Critical',
      critical.map((cluster) => unwellLine(cluster, view)),
    ),
    section(
      'Warning',
      warning.map((cluster) => unwellLine(cluster, view)),
    ),
    section('Certmarshal itself', [...hubLines(told, now), ...unsentLines(told, now)]),
    section('Hostile requests in 24 hours', hostileLines(health.clusters, view)),
    section('Incomplete sweeps', incompleteLines(view)),
    section('Rollouts', rolloutLines(view)),
    section('Due within 30 days', soonLines(view)),
    section('Not seen', unseenLines(view)),
    section(
      'In maintenance',
      having('maintenance').map((cluster) => maintenanceLine(cluster, view)),
    ),
    section(
      'Gone',
      having('gone').map(({ id, goneSince }) => `${labelOf(id)}, since ${dateOf(goneSince)}`),
    ),
    section(
      'Discovery',
      health.problems.map(({ object, message }) => `${object}: ${message}`),
    ),
  ].filter((lines) => lines.length > 0);
  const lines = [story, ...sections.flat()];

  const event: DigestEvent = {
    version: 1,
    at,
    story,
    counts,
    critical: idsOf(critical).slice(0, MAX_IDS),
    warning: idsOf(warning).slice(0, MAX_IDS),
  };
  return { message: messageOf(lines, withinBytes(event, MAX_EVENT), link), change: { digestAt: at } };
}

function idsOf(clusters: readonly ClusterHealth[]): readonly string[] {
  return clusters.map(({ id }) => id);
}

function messageOf(lines: readonly string[], digest: DigestEvent, link: string | undefined): Notification {
  const text = bounded(
    lines.map((line) => printable(line, MAX_LINE)),
    MAX_TEXT,
  );
  return {
    severity: 'warning',
    state: 'digest',
    human: {
      subject: subjectOf(`[digest] ${digest.story}`),
      text: link === undefined ? text : `${text}\nReport: ${link}`,
    },
    events: [],
    digest,
  };
}

const STATE_WORDS: Readonly<Partial<Record<ClusterState, string>>> = {
  noted: 'with a warning that fires no alarm',
  maintenance: 'in maintenance',
};

/** `Fleet: 212 of 214 clusters healthy; 1 critical, 1 warning; next certificate expires in 12 days (berlin-prod, etcd client)` */
function storyOf({ current, labelOf, now }: View, counts: FleetHealth['counts']): string {
  const others = (['critical', 'warning', 'noted', 'new', 'maintenance'] as const)
    .filter((state) => counts[state] > 0)
    .map((state) => `${counts[state]} ${STATE_WORDS[state] ?? state}`);
  const [next] = current
    .flatMap((cluster) =>
      (cluster.audit?.ends ?? []).flatMap(({ what, notAfter }) => {
        const end = timeOf(notAfter);
        return end === undefined || renewsItself(cluster, what) ? [] : [{ id: cluster.id, what, end }];
      }),
    )
    .toSorted((a, b) => a.end - b.end || compare(a.id, b.id));
  const ends =
    next &&
    `${next.end >= now ? `next certificate expires in ${span(next.end - now)}` : `a certificate expired ${span(now - next.end)} ago`} (${labelOf(next.id)}, ${CERTIFICATE_CLASSES[next.what].title})`;
  const head = `Fleet: ${counts.well} of ${counted(current.length, 'cluster')} healthy`;
  return [head, ...(others.length === 0 ? [] : [others.join(', ')]), ...(ends === undefined ? [] : [ends])].join('; ');
}

/** Automatically renewed certificates expire all the time and need no action. */
function renewsItself({ provider = 'eks-anywhere' }: ClusterHealth, what: keyof typeof CERTIFICATE_CLASSES): boolean {
  return renewedBy(what, provider)?.includes('automatically') === true;
}

function section(title: string, lines: readonly string[]): readonly string[] {
  if (lines.length === 0) return [];
  const more = lines.length - MAX_LINES;
  return ['', `${title} (${lines.length})`, ...lines.slice(0, MAX_LINES), ...(more > 0 ? [`and ${more} more`] : [])];
}

function unwellLine({ id, signals }: ClusterHealth, { labelOf }: View): string {
  const [worst] = signals;
  if (worst === undefined) return labelOf(id);
  const more = signals.length > 1 ? `, and ${signals.length - 1} more` : '';
  return `${labelOf(id)}: ${printableStory(worst.story, 100)}${more}. First: ${printable(worst.command, LONGEST.command)}`;
}

/** Open alarms about certmarshal itself. */
function hubLines(told: NotificationState, now: number): readonly string[] {
  return openAlarms(told)
    .filter(({ alarm }) => isOfHub(alarm))
    .map(({ key, openedAt, story }) => {
      const part = key === NOBODY ? '' : `${key}: `;
      return `${part}${story}, reported ${span(now - (timeOf(openedAt) ?? now))} ago`;
    });
}

const RECEIVERS: Readonly<Record<Receiver, string>> = {
  bus: 'EventBridge',
  pager: 'the pager topic',
  chat: 'the chat topic',
};

/** Messages that did not reach every receiver. */
function unsentLines({ unsent }: NotificationState, now: number): readonly string[] {
  return keysOf(RECEIVERS).flatMap((receiver) => {
    const waiting = unsent.filter(({ to, detail }) => to.includes(receiver) && !isFresh(detail.at, now));
    const [oldest] = waiting;
    if (oldest === undefined) return [];
    const since = span(now - (timeOf(oldest.detail.at) ?? now));
    return [
      `${counted(waiting.length, 'message')} could not be sent to ${RECEIVERS[receiver]}, the oldest for ${since}`,
    ];
  });
}

/** Newest first. Includes clusters that are gone: they may only be hidden. */
function hostileLines(clusters: readonly ClusterHealth[], { labelOf, now }: View): readonly string[] {
  return clusters
    .flatMap(({ id, verdicts }) =>
      verdicts.flatMap(({ hostile, at, node, csr, facts }) => {
        const time = timeOf(at);
        if (!hostile || time === undefined || now - time > HOSTILE_MS) return [];
        return [{ id, time, line: `${node ?? 'unknown node'}: ${verdictSentence(facts)} (${csr})` }];
      }),
    )
    .toSorted((a, b) => b.time - a.time || compare(a.id, b.id))
    .map(({ id, time, line }) => `${date(time)} ${labelOf(id)}: ${printableStory(line, 160)}`);
}

/** Findings of readable clusters whose last sweep was incomplete. */
function incompleteLines({ current, labelOf, now }: View): readonly string[] {
  return current
    .filter(({ readable, complete, sweptAt }) => readable && !complete && sweptAt !== undefined)
    .map(({ id, findings: [first, ...others] }) => {
      if (first === undefined) return `${labelOf(id)}: the last sweep did not do everything`;
      const more = others.length > 0 ? `, and ${others.length} more` : '';
      const since = span(Math.max(0, now - (timeOf(first.since) ?? now)));
      return `${labelOf(id)}: ${printableStory(`${first.object}: ${first.message}`, 120)}, for ${since}${more}`;
    });
}

function soonLines({ current, labelOf, now }: View): readonly string[] {
  return current
    .flatMap(({ id, audit }) =>
      (audit?.findings ?? []).flatMap(({ due, severity, message }) => {
        const at = timeOf(due);
        return at === undefined || severity === 'info' || at - now > SOON_MS ? [] : [{ id, at, message }];
      }),
    )
    .toSorted((a, b) => a.at - b.at || compare(a.id, b.id))
    .map(({ id, at, message }) => `${date(at)} ${labelOf(id)}: ${printableStory(message, 120)}`);
}

function unseenLines({ current, labelOf, now }: View): readonly string[] {
  return current.flatMap(({ id, readable, sweptAt, readableAt, audit, state }) => {
    if (sweptAt === undefined) return [`${labelOf(id)}: not swept yet`];
    if (!readable) return [`${labelOf(id)}: requests cannot be listed, ${agoOf(readableAt, now)}`];
    if (audit === undefined) return state === 'new' ? [] : [`${labelOf(id)}: not audited yet`];
    const { unread } = audit.sources;
    return unread.length === 0 ? [] : [`${labelOf(id)}: not read in the last audit: ${unread.slice(0, 4).join(', ')}`];
  });
}

function agoOf(at: string | undefined, now: number): string {
  const time = timeOf(at);
  return time === undefined ? 'and never could' : `for ${span(now - time)}`;
}

function maintenanceLine({ id, maintenance }: ClusterHealth, { labelOf }: View): string {
  const reason = maintenance?.reason === undefined ? '' : ` (${printable(maintenance.reason, 80)})`;
  return `${labelOf(id)}: until ${dateOf(maintenance?.until)}${reason}`;
}

function dateOf(at: string | undefined): string {
  const time = timeOf(at);
  return time === undefined ? 'an unknown time' : date(time);
}

/** What the lines of a digest are made of. */
interface View {
  /** Without clusters that are gone. */
  readonly current: readonly ClusterHealth[];
  readonly labelOf: (id: string) => string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

type Rollout = NonNullable<ClusterHealth['rollout']>;

/** Finished rollouts are reported for a day. Milliseconds. */
const OVER_MS = DAY_MS;

/** What each state is called; those without a word need no line. The order is that of the lines. */
const WORDS: Readonly<Partial<Record<RolloutState, string>>> = {
  held: 'held',
  expired: 'not in time',
  refused: 'needs a person',
  assist: 'needs a person',
  rolling: 'rolls',
  verifying: 'rolls',
  ready: 'due',
  waiting: 'due',
  foreign: 'rolled by someone else',
  done: 'done',
  aborted: 'aborted',
};
const ORDER = Object.keys(WORDS);

/** A line for each cluster that rolls, is due, or has rolled since yesterday: what needs a person first. Pure. */
function rolloutLines({ current, labelOf, now }: View): readonly string[] {
  return current
    .flatMap(({ id, rollout }) => {
      const word = rollout && WORDS[rollout.state];
      if (rollout === undefined || word === undefined || isLongOver(rollout, now)) return [];
      return [{ id, rank: ORDER.indexOf(rollout.state), line: `${labelOf(id)}: ${word}: ${rolloutStory(rollout)}` }];
    })
    .toSorted((a, b) => a.rank - b.rank || compare(a.id, b.id))
    .map(({ line }) => line);
}

function isLongOver({ state, since }: Rollout, now: number): boolean {
  return (state === 'done' || state === 'aborted' || state === 'foreign') && !(now - (timeOf(since) ?? 0) < OVER_MS);
}

function rolloutStory({ state, message, reasons: [reason], progress, durationMs, rollout }: Rollout): string {
  if (state === 'done') {
    const by = rollout?.trigger === 'person' ? 'started by a person' : 'started by the schedule';
    return `${durationMs === undefined ? '' : `in ${span(durationMs)}, `}${by}`;
  }
  if ((state === 'rolling' || state === 'verifying') && progress !== undefined)
    return `${progress.verified} of ${counted(progress.wanted, 'machine')} with a new certificate`;
  return printableStory(state === 'held' && reason !== undefined ? `${reason.message} (${reason.id})` : message, 140);
}
