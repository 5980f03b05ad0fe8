import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Steps } from './steps.ts';

/** The longest piece of work before other clusters in this process, and deadlines, get their turn. Milliseconds. */
const TURN_MS = 20;
/**
 * Processor time of one sweep of one cluster. Milliseconds. One with CSRs of 5,000 nodes at once, the limit of
 * Kubernetes, took 2.5 s on a loaded core. Work left when it is spent waits for the next sweep.
 */
export const PROCESSOR_MS = 5_000;
/** A longer piece of work makes its cluster heavy; the largest answers take a tenth of it. Milliseconds. */
const HOLD_MS = 1_000;

/** The abort reason of a sweep whose cluster used too much processor time. */
export class ProcessorTimeError extends Error {
  override readonly name = 'ProcessorTimeError';
  readonly remedy =
    'Find out who creates so many or such large objects: CertificateSigningRequests, Machines, Nodes, Secrets. The rest waits for the next sweep.';

  constructor(limitMs: number) {
    super(
      `reading and judging it took over ${limitMs / 1000} s of processor time, the limit for one sweep of a cluster`,
    );
  }
}

/** The processor time of one sweep. Work is counted, waiting is not. */
export interface ProcessorBudget {
  /** Aborts when it is spent; the reason is a {@link ProcessorTimeError}. */
  readonly signal: AbortSignal;
  /** Whether it is spent, or one piece of work held the thread for over a second. */
  readonly isHeavy: () => boolean;
  /** Charges all work started below it to this budget, also work that is not awaited. */
  readonly run: <T>(work: () => Promise<T>) => Promise<T>;
}

const budgets = new AsyncLocalStorage<{ readonly cpuMs: () => number; readonly charge: (ms: number) => void }>();

/** @param cpuMs processor time of the thread so far, so that no other process is charged. Milliseconds. */
export function createProcessorBudget({ limitMs = PROCESSOR_MS, cpuMs = threadCpuMs } = {}): ProcessorBudget {
  const over = new AbortController();
  let spentMs = 0;
  let longestMs = 0;
  const charge = (ms: number): void => {
    spentMs += ms;
    longestMs = Math.max(longestMs, ms);
    if (spentMs > limitMs && !over.signal.aborted) over.abort(new ProcessorTimeError(limitMs));
  };
  const isHeavy = () => over.signal.aborted || longestMs > HOLD_MS;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- bind() loses the type parameter
  const run = budgets.run.bind(budgets, { cpuMs, charge }) as ProcessorBudget['run'];
  return { signal: over.signal, isHeavy, run };
}

function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** Does uninterruptible work and charges it to the current budget, if any. */
export function charged<T>(work: () => T): T {
  const budget = budgets.getStore();
  if (budget === undefined) return work();
  const startedAt = budget.cpuMs();
  try {
    return work();
  } finally {
    budget.charge(budget.cpuMs() - startedAt);
  }
}

/**
 * Yields the results of work on each item, charged to the budget. Gives the thread away every 20 ms. Only making the
 * items and the work are charged: the consumer may wait for something.
 */
export async function* inTurns<T, R>(items: Iterable<T>, work: (item: T) => R, now = monotonic): AsyncGenerator<R> {
  const iterator = items[Symbol.iterator]();
  let turn = now();
  for (;;) {
    const made = charged(() => {
      const { done, value } = iterator.next();
      return done === true ? undefined : { result: work(value) };
    });
    if (now() - turn >= TURN_MS) {
      await nextTurn();
      turn = now();
    }
    if (made === undefined) return;
    yield made.result;
  }
}

/** Works on each item, like {@link inTurns}. */
export async function eachInTurns<T>(items: Iterable<T>, work: (item: T) => void, now = monotonic): Promise<void> {
  const steps = function* (): Steps<void> {
    for (const item of items) {
      work(item);
      yield;
    }
  };
  await stepsInTurns(steps(), now);
}

/** Runs to the end and returns the result, like {@link inTurns}. */
export async function stepsInTurns<T>(steps: Steps<T>, now = monotonic): Promise<T> {
  for (;;) {
    const turn = charged(() => {
      for (const startedAt = now(); now() - startedAt < TURN_MS; ) {
        const step = steps.next();
        if (step.done === true) return { result: step.value };
      }
      return undefined;
    });
    if (turn !== undefined) return turn.result;
    await nextTurn();
  }
}

const monotonic = (): number => performance.now();
