import type { FleetIndex } from '../contracts/fleet-index.ts';
import { COUNTED_BACK_MS, type CsrCounts, type SweepOutcome } from '../contracts/outcome.ts';
import { entryOf } from '../tables/keys.ts';
import { isAhead } from '../time.ts';

/** New counts of one cluster. */
export interface NewCounts extends Pick<CsrCounts, 'to' | 'issued' | 'late' | 'notProvable'> {
  /** The part of the time in which it was not swept that lies too far back. Milliseconds. */
  readonly notCountedMs: number;
}

/**
 * The counts of these outcomes that the index does not have yet, by cluster. An outcome counts only if it begins where
 * the index ends: so repeated ticks, and late outcomes, count each CSR once. What is discarded is counted by the next
 * sweep, which begins there too. Pure.
 *
 * @param now milliseconds since the epoch
 */
export function newCounts(
  index: FleetIndex | undefined,
  outcomes: readonly SweepOutcome[],
  now: number,
): ReadonlyMap<string, NewCounts> {
  const counts = new Map<string, NewCounts>();
  const counted = outcomes.flatMap((outcome) =>
    outcome.counted !== undefined ? [{ id: outcome.id, ...outcome.counted }] : [],
  );
  for (const { id, from, to, issued, late, notProvable } of counted.toSorted((a, b) => a.to - b.to)) {
    const before = counts.get(id);
    const countedTo = before?.to ?? entryOf(index?.clusters, id)?.countedTo;
    if (from !== countedTo || to <= (from ?? 0) || isAhead(to, now)) continue;
    counts.set(id, {
      to,
      issued: issued + (before?.issued ?? 0),
      late: late + (before?.late ?? 0),
      notProvable: notProvable + (before?.notProvable ?? 0),
      notCountedMs: Math.max(0, to - COUNTED_BACK_MS - (from ?? to)) + (before?.notCountedMs ?? 0),
    });
  }
  return counts;
}
