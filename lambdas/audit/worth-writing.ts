import { canonicalJson } from '../canonical-json.ts';
import type { ExpiryFinding } from '../contracts/finding.ts';
import type { Observation } from '../contracts/observation.ts';
import type { Snapshot } from '../contracts/snapshot.ts';
import { REMEMBERED_SOURCES, RESTING_SOURCES, STORED_MS } from '../tables/audit-sources.ts';

/** No rule looks closer at a clock, and no two answers tell the same. */
const CLOCK_STEP_MS = 60_000;

/**
 * Whether an audit tells something that the stored snapshot does not. Pure.
 *
 * What is left out is only the time of the look, and that only while everything was looked at: an observation that is kept because its source or its place
 * cannot be read says when it was seen last, and must say so exactly. Where such a time is older than the truth, by two hours at most, a source is lost that
 * much sooner; nothing is ever milder, later or gone. The findings of an audit are always its own, whatever is stored.
 *
 * @param previous the stored one, from which `snapshot` was made
 */
export function worthWriting(previous: Snapshot, snapshot: Snapshot): boolean {
  const age = Date.parse(snapshot.auditedAt) - Date.parse(previous.auditedAt);
  // A clock that was set back tells no age.
  if (!(age >= 0 && age < STORED_MS)) return true;
  if (previous.partial !== undefined || snapshot.partial !== undefined) return true;
  if (previous.cluster !== snapshot.cluster || previous.provider !== snapshot.provider) return true;
  if (!sawEverything(snapshot)) return true;
  return (
    !areSame(previous.observations, snapshot.observations, factOf) ||
    !areSame(previous.findings, snapshot.findings, troubleOf)
  );
}

/** Nothing failed but what usually does, and nothing holds from before but what a source shows only for a while. */
function sawEverything({ auditedAt, observations }: Snapshot): boolean {
  const read = new Set(observations.flatMap(({ kind, source }) => (kind === 'read' ? [source] : [])));
  return observations.every((observation) => {
    const { kind, source, observedAt } = observation;
    if (kind === 'unread' && observation.usual !== true && observation.issued === undefined) return false;
    const mayBeOlder = REMEMBERED_SOURCES.has(source) || RESTING_SOURCES.has(source);
    return observedAt >= auditedAt || (mayBeOlder && read.has(source));
  });
}

/** In whatever order, and as often. */
function areSame<T>(before: readonly T[], now: readonly T[], textOf: (one: T) => string): boolean {
  if (before.length !== now.length) return false;
  const counts = new Map<string, number>();
  for (const one of before) {
    const text = textOf(one);
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  return now.every((one) => {
    const text = textOf(one);
    const count = counts.get(text) ?? 0;
    counts.set(text, count - 1);
    return count > 0;
  });
}

/** An observation without its time. What was stored and read again has its fields in another order. */
function factOf(observation: Observation): string {
  const { observedAt: _, ...fact } =
    observation.kind === 'clock'
      ? { ...observation, skewMs: Math.round(observation.skewMs / CLOCK_STEP_MS) }
      : observation;
  return canonicalJson(fact);
}

/** What a finding says without words about the time that is left, which change by themselves; all that an audit reads of those before is in it. */
function troubleOf({ code, object, severity, since, due, lastSeen, places, placeCount }: ExpiryFinding): string {
  return JSON.stringify([code, object, severity, since, due, lastSeen, places, placeCount]);
}
