import type { JournalEntry } from './entry.ts';

/**
 * Where the decisions of the fleet are kept: append-only objects, `journal/<day>/<id of the cluster>/<first seq>.ndjson`, each with the lines of one sweep.
 *
 * A sweep that is repeated, or that judges the same request again with the same result, adds nothing. Two sweeps at once make one chain, no fork.
 */
export interface Journal {
  /**
   * Appends what is new of these entries, all of one cluster. Costs nothing where there are none, and none wait from before.
   *
   * @returns how many were new
   * @throws AwsError when they could not all be kept; appended again, those that were add nothing
   */
  append(cluster: string, entries: readonly JournalEntry[], signal: AbortSignal): Promise<number>;
}
