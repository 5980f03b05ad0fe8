import type { Problem } from '../contracts/problem.ts';
import type { CollectedDecisions } from '../journal/decisions.ts';
import type { JournalEntry } from '../journal/journal.ts';
import { appendDecisions, type Journaled, type SweepJournal } from '../journal/sweep-journal.ts';
import type { Minute } from './stage.ts';

/** Time to record decisions after the minute is over. Milliseconds. */
const SHORTEST_MS = 3_000;
/**
 * A failing journal must not delay other clusters of the batch: the log has its lines. Milliseconds.
 */
const LONGEST_MS = 10_000;

/** The result of recording decisions. */
export interface Kept {
  readonly problems: readonly Problem[];
  /** Absent without decisions. */
  readonly journaled?: Journaled;
}

/**
 * Writes decisions into the journal. It may outlast the minute: writes to the cluster must be on record. Never rejects.
 */
export async function keepDecisions(
  journal: SweepJournal | undefined,
  decisions: readonly (CollectedDecisions<JournalEntry> | undefined)[],
  { order, endsAt, last }: Minute,
): Promise<Kept> {
  const collected = decisions.filter((one) => one !== undefined);
  const entries = collected.flatMap((one) => one.entries);
  if (journal === undefined || entries.length === 0) return { problems: [] };
  const leftOut = collected.reduce((sum, one) => sum + one.leftOut, 0);
  const end = new AbortController();
  const stop = (): void => end.abort();
  const timers = [setTimeout(stop, Math.min(Math.max(endsAt - performance.now(), SHORTEST_MS), LONGEST_MS))];
  const hurry = (): void => void timers.push(setTimeout(stop, SHORTEST_MS));
  if (last.aborted) hurry();
  else last.addEventListener('abort', hurry, { once: true });
  try {
    const journaled = await appendDecisions(journal, order.target.id, { entries, leftOut }, end.signal);
    return { problems: journaled.problem === undefined ? [] : [journaled.problem], journaled };
  } finally {
    last.removeEventListener('abort', hurry);
    timers.forEach(clearTimeout);
  }
}
