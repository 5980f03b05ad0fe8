import * as z from 'zod/mini';
import { type Contract, lossyRecord } from './contract.ts';

/** A line of the journal, its fields in the order in which they stand; one of a later version may have any. */
export const JournalObject = z.record(z.string(), z.unknown());

/** What every line has beside its entry. */
export const JournalLine = z.object({
  /** From 1 on, one for each line of the cluster, without a gap. */
  seq: z.int().check(z.gte(1)),
  /** `hash` of the line before it; 64 zeros for the first one. */
  previous: z.string(),
  /** Id in the fleet. */
  cluster: z.string(),
  /** RFC 3339. */
  at: z.string().check(z.refine((at) => !Number.isNaN(Date.parse(at)))),
});

/**
 * Where the chain of a cluster ends. It is written before the object that it names, and holds all of it: whatever is interrupted, the lines are
 * in one of the two, and the next writer completes the other.
 */
export const JournalHead = z.object({
  version: z.literal(1),
  cluster: z.string(),
  /** Of the last line; 0 for a chain without a line. */
  seq: z.number(),
  hash: z.string(),
  /** Of the object with the last lines. */
  key: z.string(),
  /** What is in it. */
  body: z.string(),
  /** What was written lately, by a hash of the entry: seconds since the epoch. */
  recent: z.catch(lossyRecord(z.number(), 1_000_000, /^[0-9a-f]{16}$/), {}),
});
export type JournalHead = Contract<typeof JournalHead>;
