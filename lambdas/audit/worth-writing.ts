import type { ExpiryFinding } from '../contracts/finding.ts';
import type { Observation } from '../contracts/observation.ts';
import type { Snapshot } from '../contracts/snapshot.ts';
import { canonicalJson } from '../same-json.ts';
import { EKS_SOURCES, REMEMBERED_SOURCES, STORED_MS } from '../tables/audit-sources.ts';

/** No rule needs a finer skew, and no two measurements are equal. */
const CLOCK_STEP_MS = 60_000;

/**
 * Whether an audit says something that the stored snapshot does not. Pure.
 *
 * Only the time of observations is ignored, and only if everything was read: an observation that is kept because its
 * source or place cannot be read says when it was last seen, and must be exact. A stored time that is too old, by two
 * hours at most, makes a source count as lost that much sooner; nothing is ever milder, later or gone. The findings of
 * an audit are always its own, whatever is stored.
 *
 * @param previous the stored one, from which `snapshot` was made
 */
export function worthWriting(previous: Snapshot, snapshot: Snapshot): boolean {
  const age = Date.parse(snapshot.auditedAt) - Date.parse(previous.auditedAt);
  // The age is unknown if the clock was set back.
  if (!(age >= 0 && age < STORED_MS)) return true;
  if (previous.partial !== undefined || snapshot.partial !== undefined) return true;
  if (previous.cluster !== snapshot.cluster || previous.provider !== snapshot.provider) return true;
  if (!sawEverything(snapshot)) return true;
  return (
    !areSame(previous.observations, snapshot.observations, factOf) ||
    !areSame(previous.findings, snapshot.findings, troubleOf)
  );
}

/** Nothing failed but what usually does, and only remembered or resting sources have earlier observations. */
function sawEverything({ auditedAt, observations }: Snapshot): boolean {
  const read = new Set(observations.flatMap(({ kind, source }) => (kind === 'read' ? [source] : [])));
  return observations.every((observation) => {
    const { kind, source, observedAt } = observation;
    if (kind === 'unread' && observation.usual !== true && observation.issued === undefined) return false;
    const mayBeOlder = REMEMBERED_SOURCES.has(source) || EKS_SOURCES.has(source);
    return observedAt >= auditedAt || (mayBeOlder && read.has(source));
  });
}

/** The same elements, each as often, in any order. */
function areSame<T extends {}>(before: readonly T[], now: readonly T[], textOf: (one: T) => string): boolean {
  const left = Map.groupBy(before, textOf);
  return before.length === now.length && now.every((one) => left.get(textOf(one))?.pop() !== undefined);
}

/** An observation without its time. Canonical, as a stored one has its fields in another order. */
function factOf(observation: Observation): string {
  const { observedAt: _, ...fact } =
    observation.kind === 'clock'
      ? { ...observation, skewMs: Math.round(observation.skewMs / CLOCK_STEP_MS) }
      : observation;
  return canonicalJson(fact);
}

/** A finding without its message, which changes with the time left. Has everything that the next audit reads of it. */
function troubleOf({ code, object, severity, since, due, lastSeen, places, placeCount }: ExpiryFinding): string {
  return JSON.stringify([code, object, severity, since, due, lastSeen, places, placeCount]);
}
