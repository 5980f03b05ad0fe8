import * as z from 'zod/mini';
import { type Contract, lossyRecord } from './contract.ts';

/** A line of the journal with its fields in order; a later version may have other fields. */
export const JournalObject = z.record(z.string(), z.unknown());

/** Fields of every line besides its entry. */
export const JournalLine = z.object({
  /** Starts at 1, without gaps in a cluster. */
  seq: z.int().check(z.gte(1)),
  /** `hash` of the previous line; 64 zeros for the first one. */
  previous: z.string(),
  /** Id in the fleet. */
  cluster: z.string(),
  /** RFC 3339. */
  at: z.string().check(z.refine((at) => !Number.isNaN(Date.parse(at)))),
});

/**
 * The end of a cluster's chain. It is written before the object that it names, and contains all of it: after any
 * interruption the lines are in one of the two, and the next writer completes the other.
 */
export const JournalHead = z.object({
  version: z.literal(1),
  cluster: z.string(),
  /** Number of the last line; 0 for an empty chain. */
  seq: z.number(),
  hash: z.string(),
  /** Key of the object with the last lines. */
  key: z.string(),
  /** What is in it. */
  body: z.string(),
  /** Recently written entries, by a hash of the entry: seconds since the epoch. */
  recent: z.catch(lossyRecord(z.number(), 1_000_000, /^[0-9a-f]{16}$/), {}),
});
export type JournalHead = Contract<typeof JournalHead>;
