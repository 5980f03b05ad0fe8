import * as z from 'zod/mini';
import { type Contract, type Reading, readJson } from './contract.ts';
import { Instant } from './values.ts';

/** Bytes. */
const MAX_MESSAGE_SIZE = 1_000;

/**
 * Sent by dispatch to report once a tick: report now. Delayed in a queue until the sweeps of the tick have had their
 * time.
 */
const ReportStart = z.object({
  /** The minute that dispatch ran for, in milliseconds since the epoch. */
  tick: Instant,
});
export type ReportStart = Contract<typeof ReportStart>;

export function encodeReportStart({ tick }: ReportStart): string {
  return JSON.stringify({ tick });
}

/** Reads what {@link encodeReportStart} makes. Never throws. */
export function decodeReportStart(body: string): Reading<ReportStart> {
  return readJson(ReportStart, body, MAX_MESSAGE_SIZE);
}
