import type { JournalEntry } from './entry.ts';
import type { Journal } from './journal.ts';

/** Entries of one cluster that wait; the log has every one. */
const MOST_WAITING = 1_000;
const MOST_CLUSTERS = 100;

/**
 * A journal that tries again what it could not keep, with the next append of the same cluster, also an empty one, for as long as this process lives. Until then the append
 * fails, so that somebody is told.
 */
export function tryingAgain(journal: Journal): Journal {
  const waiting = new Map<string, readonly JournalEntry[]>();
  return {
    async append(cluster, entries, signal) {
      const all = [...(waiting.get(cluster) ?? []), ...entries];
      if (all.length === 0) return 0;
      try {
        const added = await journal.append(cluster, all, signal);
        waiting.delete(cluster);
        return added;
      } catch (error) {
        if (waiting.has(cluster) || waiting.size < MOST_CLUSTERS) waiting.set(cluster, all.slice(0, MOST_WAITING));
        throw error;
      }
    },
  };
}
