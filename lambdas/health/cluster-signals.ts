import { sawSomething } from '../audit/summary.ts';
import { word } from '../command.ts';
import type { Finding } from '../contracts/fleet-index.ts';
import type { VerdictLine } from '../contracts/outcome.ts';
import { printable } from '../printable.ts';
import { CLASS_SIGNALS, MAX_STORY, type Signal } from '../tables/signals.ts';
import { CLOCKS_DIFFER_MS } from '../time.ts';
import { messageOf, nextOf } from '../words/findings.ts';
import { ownerWords, verdictSentence } from '../words/verdict-words.ts';
import { compare } from '../words.ts';
import { type FindingGroup, findingGroups, gapHours } from './finding-groups.ts';
import { commandFor, doctorCommand, type KnownCluster, wordsFor } from './known-cluster.ts';
import { isJustRebuilt } from './rebuilt.ts';
import { recoveryOpen, rolloutHeld, rolloutNeeded } from './rollout-signals.ts';

/** Grace period of a new cluster or a late sweep. Seconds. */
const FIRST_SECONDS = 120;
/** How long a hostile request fires the alarm. Milliseconds. */
const HOSTILE_MS = 25 * 60_000;

/** The signals of a cluster that are above 0, in no order. Pure. */
export function clusterSignals(known: KnownCluster, now: number): readonly Signal[] {
  return [
    readSignal(known, now),
    incomplete(known, now),
    sweepAge(known, now),
    auditAge(known, now),
    ...findingGroups(known.indexed?.audit).map((group) => findingSignal(group, known, now)),
    hostileRequests(known, now),
    rolloutHeld(known, now),
    rolloutNeeded(known, now),
    recoveryOpen(known),
  ].flatMap((signal) => (signal !== undefined && signal.value > 0 ? [signal] : []));
}

/**
 * Whether its requests can be listed. A cluster that is no longer swept has {@link sweepAge} instead: its last known
 * state was good. A cluster that lost its target cannot be swept, and only this signal says so.
 */
function readSignal(known: KnownCluster, now: number): Signal | undefined {
  const { registered, indexed, rebuiltAt } = known;
  const { id, foundAt, target, problem } = registered;
  const readableAt = sinceFound(indexed?.readableAt, foundAt) ?? readBefore(known);
  const finding = indexed?.findings.find(({ ofRecovery }) => !ofRecovery);
  // The kind is the word by which the runbook decides.
  const unread = finding && `${finding.kind}: ${finding.message}`;
  const reason = (target === undefined ? problem?.message : undefined) ?? unread;
  const why = reason === undefined ? '' : `: ${printable(reason, MAX_STORY)}`;
  const command = doctorCommand(id);
  if (readableAt === undefined) {
    const value = secondsSince(foundAt, now);
    if (isJustRebuilt(rebuiltAt.index, now) || value <= FIRST_SECONDS) return undefined;
    return {
      id: 'NeverReadFor',
      value,
      story: `certmarshal could never read its certificate requests${why}`,
      since: foundAt,
      command,
    };
  }
  if (indexed?.readable && target !== undefined) return undefined;
  // EKS says that it is being deleted, or could not be asked yet.
  if (target === undefined && (problem?.kind === 'passing' || isJustRebuilt(rebuiltAt.registry, now))) return undefined;
  return {
    id: 'UnreadableFor',
    // It is unreadable now, however recent the last good read.
    value: Math.max(1, secondsSince(readableAt, now)),
    story: `certmarshal cannot read its certificate requests${why}`,
    since: readableAt,
    command,
  };
}

/** An audit read the cluster, and the index lost when it was read last: it counts as read until then. */
function readBefore({ registered: { foundAt }, indexed, rebuiltAt }: KnownCluster): string | undefined {
  return indexed?.audit !== undefined && sawSomething(indexed.audit) ? sinceFound(rebuiltAt.index, foundAt) : undefined;
}

/** Findings that explain best why a sweep is incomplete: nothing at all is written to the cluster. */
const WORST_KINDS: readonly string[] = ['held', 'forbidden'];

/**
 * Whether all listed requests are also judged and written. An unreadable cluster has {@link readSignal}; decisions that
 * mode `observe` does not write are not findings.
 */
function incomplete(
  { registered: { id, foundAt, target }, indexed, rebuiltAt }: KnownCluster,
  now: number,
): Signal | undefined {
  if (indexed === undefined || !indexed.readable || indexed.complete || target === undefined) return undefined;
  const { findings, findingCount } = indexed;
  const counting = findings.filter(isInTheWay);
  // A truncated finding may be one that counts.
  if (findings.length > 0 && counting.length === 0 && findings.length >= findingCount) return undefined;
  const [worst] = counting.toSorted((a, b) => rankOf(a) - rankOf(b));
  // The first successful sweep writes nothing yet, however long ago the cluster was found.
  const never = worst?.kind === 'held' ? later(foundAt, worst.since) : foundAt;
  const completeAt = sinceFound(indexed.completeAt, foundAt);
  if (completeAt === undefined && isJustRebuilt(rebuiltAt.index, now)) return undefined;
  const since = completeAt ?? never;
  const value = secondsSince(since, now);
  if (value <= FIRST_SECONDS) return undefined;
  const why = worst === undefined ? '' : `: ${printable(`${worst.object}: ${worst.message}`, MAX_STORY)}`;
  return {
    id: 'IncompleteFor',
    value,
    story: `its sweeps have been incomplete for ${minutes(value)}${why}`,
    since,
    command: doctorCommand(id),
  };
}

/** How a sweep got in, and the rollout beside it, have their own signals. */
function isInTheWay({ kind, ofRecovery }: Finding): boolean {
  return kind !== 'held-back' && kind !== 'rollout-ledger' && !ofRecovery;
}

function rankOf({ kind }: Finding): number {
  const rank = WORST_KINDS.indexOf(kind);
  return rank === -1 ? WORST_KINDS.length : rank;
}

function later(a: string, b: string): string {
  return Date.parse(b) > Date.parse(a) ? b : a;
}

function sweepAge(
  { registered: { id, target, foundAt }, indexed, rebuiltAt }: KnownCluster,
  now: number,
): Signal | undefined {
  const triedAt = sinceFound(indexed?.triedAt, foundAt);
  if (triedAt === undefined && isJustRebuilt(rebuiltAt.index, now)) return undefined;
  const since = triedAt ?? foundAt;
  const value = secondsSince(since, now);
  if (target === undefined || value <= FIRST_SECONDS) return undefined;
  return {
    id: 'SweepAge',
    value,
    story: since === foundAt ? 'it was never swept' : `it has not been swept for ${minutes(value)}`,
    since,
    command: doctorCommand(id),
  };
}

/** A single audit may fail. A cluster that cannot be swept is not audited either: {@link readSignal} covers it. */
function auditAge(known: KnownCluster, now: number): Signal | undefined {
  const { registered, indexed, auditEveryMinutes, rebuiltAt } = known;
  const { target, foundAt } = registered;
  const auditedAt = sinceFound(indexed?.audit?.auditedAt, foundAt);
  const since = auditedAt ?? foundAt;
  const value = secondsSince(since, now);
  // A stored snapshot, all that is known then, may be older than the last audit.
  if (isJustRebuilt(rebuiltAt.index, now) || target === undefined || value <= 2 * auditEveryMinutes * 60)
    return undefined;
  return {
    id: 'AuditAge',
    value,
    story: auditedAt === undefined ? 'it was never audited' : `it has not been audited for ${minutes(value)}`,
    since,
    command: commandFor('audit', known),
  };
}

/** Findings of an old audit stay true until disproved. */
function findingSignal(
  { id, tally, shown: [worst, ...others] }: FindingGroup,
  known: KnownCluster,
  now: number,
): Signal {
  const count = sumOf(tally.map((entry) => entry.count));
  const classes = Object.fromEntries(
    [...Map.groupBy(tally, ({ what }) => what ?? 'unknown')].map(([what, same]) => [
      what,
      sumOf(same.map((entry) => entry.count)),
    ]),
  );
  const sentence = worst === undefined ? undefined : printable(messageOf(worst, now), MAX_STORY);
  const more = Math.max(count - 1, others.length);
  const audit = known.indexed?.audit;
  const value =
    id === 'CoverageGapHours' && audit !== undefined
      ? Math.max(...[worst, ...others].flatMap((gap) => (gap === undefined ? [] : [gapHours(gap, audit)])))
      : count;
  const codes = [...new Set(tally.map(({ code }) => code))].join(', ');
  return {
    id,
    value,
    classes: CLASS_SIGNALS.has(id) ? classes : undefined,
    story: sentence === undefined ? `${value} times ${codes}` : `${sentence}${more > 0 ? `, and ${more} more` : ''}`,
    since: worst?.since,
    due: worst?.due,
    command: worst === undefined ? commandFor('audit', known) : nextOf(worst, wordsFor(known)),
  };
}

function hostileRequests(known: KnownCluster, now: number): Signal | undefined {
  const hostile = (known.indexed?.verdicts ?? [])
    .filter((line) => line.hostile && Math.abs(now - Date.parse(line.at)) <= HOSTILE_MS)
    .toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at) || compare(a.csr, b.csr));
  const newest = hostile.at(-1);
  if (newest === undefined) return undefined;
  const nodes = [...new Set(hostile.toReversed().map(({ node }) => printable(node, 253)))];
  return {
    id: 'RequestsHostile',
    value: nodes.length,
    story: `${hostileStory(newest)}; not approved${nodes.length > 1 ? `, and ${nodes.length - 1} more` : ''}`,
    since: hostile[0]?.at,
    command: commandFor(`explain ${word(newest.csr, 'REQUEST')}`, known),
  };
}

function hostileStory({ node, facts }: VerdictLine): string {
  const story =
    facts.cause === 'of-another'
      ? `${node} asked for ${facts.name.value}, which belongs to ${ownerWords(facts.owner)}`
      : `a request of ${node} is hostile: ${verdictSentence(facts)}`;
  return printable(story, MAX_STORY);
}

/** Undefined without a time, and for a time before the cluster was found: it had left the fleet and starts afresh. */
export function sinceFound(at: string | undefined, foundAt: string): string | undefined {
  if (at === undefined || Number.isNaN(Date.parse(at))) return undefined;
  return Date.parse(at) < Date.parse(foundAt) - CLOCKS_DIFFER_MS ? undefined : at;
}

/** Whole seconds; 0 for a future time, because clocks differ. */
function secondsSince(at: string, now: number): number {
  const seconds = Math.round((now - Date.parse(at)) / 1_000);
  return Number.isFinite(seconds) ? Math.max(0, seconds) : 0;
}

function minutes(seconds: number): string {
  return seconds < 2 * 3_600 ? `${Math.round(seconds / 60)} minutes` : `${Math.round(seconds / 3_600)} hours`;
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}
