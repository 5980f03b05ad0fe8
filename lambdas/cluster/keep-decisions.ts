import type { JournalEntry } from '../journal/journal.ts';
import { appendDecisions, type Journaled, type SweepJournal } from '../journal/sweep-journal.ts';
import type { Minute } from './stage.ts';

/** Time to record decisions after the minute is over. Milliseconds. */
const SHORTEST_MS = 3_000;
/** A failing journal must not delay other clusters of the batch: the log has its lines. Milliseconds. */
const LONGEST_MS = 10_000;

/**
 * Writes decisions into the journal. It may outlast the minute: writes to the cluster must be on record. Never rejects.
 *
 * @returns empty without decisions
 */
export async function keepDecisions(
  journal: SweepJournal | undefined,
  entries: readonly JournalEntry[],
  { order, endsAt, last }: Minute,
): Promise<readonly Journaled[]> {
  if (journal === undefined || entries.length === 0) return [];
  const end = new AbortController();
  const stop = (): void => end.abort();
  const timers = [setTimeout(stop, Math.min(Math.max(endsAt - performance.now(), SHORTEST_MS), LONGEST_MS))];
  const hurry = (): void => void timers.push(setTimeout(stop, SHORTEST_MS));
  if (last.aborted) hurry();
  else last.addEventListener('abort', hurry, { once: true });
  try {
    return [await appendDecisions(journal, order.target.id, entries, end.signal)];
  } finally {
    last.removeEventListener('abort', hurry);
    timers.forEach(clearTimeout);
  }
}
