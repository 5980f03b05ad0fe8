import type { SweepOrder } from '../contracts/order.ts';
import type { Problem } from '../contracts/problem.ts';
import type { JournalEntry } from '../journal/journal.ts';
import { type ProcessorBudget, ProcessorTimeError } from '../processor-time.ts';
import type { Connection, OpenTarget } from './connect/connect.ts';

/** The current minute of a cluster. */
export interface Minute {
  readonly order: SweepOrder;
  readonly connection: Connection;
  /** By `performance.now()`. */
  readonly endsAt: number;
  readonly budget: ProcessorBudget;
  /** Ends everything; later than the signal of a stage, so that results can be recorded. */
  readonly last: AbortSignal;
}

/** Results of the approvals for later stages. */
export interface Known {
  /** The clients of the approvals; absent if there are none. */
  readonly open?: OpenTarget | undefined;
  /** Why nothing may be written to the cluster. */
  readonly held?: string | undefined;
  readonly trouble?: Problem | undefined;
}

export interface StageContext<Due> extends Known, Pick<Minute, 'order' | 'connection' | 'last'> {
  readonly due: Due;
  /** Absent also if too little time is left to call the cluster. */
  readonly open: OpenTarget | undefined;
  /** Ends the stage. */
  readonly signal: AbortSignal;
}

export interface Done<Result> {
  readonly result?: Result;
  /** Reported first, even before a bug. */
  readonly notices?: readonly Problem[];
  readonly problems: readonly Problem[];
  readonly decisions?: readonly JournalEntry[] | undefined;
  /** A bug of certmarshal after something was done. */
  readonly bug?: { readonly error: unknown } | undefined;
}

/** One stage of the minute. Problems outside of certmarshal are results; only a bug rejects. */
export type Stage<Due, Result> = (context: StageContext<Due>) => Promise<Done<Result>>;

export type StageName = 'approval' | 'audit' | 'rollout';

/** Bugs of certmarshal, for the log. Other stages are not affected. */
export interface StageFailure {
  readonly stage: StageName;
  readonly error: unknown;
}

/** The result of a stage, even after a failure. */
export interface StageEnd<Result> extends Pick<Done<Result>, 'result' | 'problems' | 'decisions'> {
  readonly failures: readonly StageFailure[];
}

/** The abort reason of a stage when the time of its order is over. */
export class OverdueError extends Error {
  override readonly name = 'OverdueError';
}

/** Undefined while processor time is left. */
export function spentProblem(object: string, { reason }: AbortSignal): Problem | undefined {
  if (!(reason instanceof ProcessorTimeError)) return undefined;
  return { kind: 'timeout', object, message: reason.message, remedy: reason.remedy };
}
