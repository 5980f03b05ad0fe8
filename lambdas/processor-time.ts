import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Steps } from './steps.ts';

/** How long one piece of work holds the thread: then other clusters in this process, and deadlines, get their turn. Milliseconds. */
const TURN_MS = 20;

/**
 * What one sweep of one cluster may take of the thread, for approvals, audit and rollout together. Milliseconds. A sweep in
 * which 5,000 nodes ask at once, as many as Kubernetes supports, took 2.5 s on a core that others loaded. What is left when it is spent waits for the next sweep.
 */
export const PROCESSOR_MS = 5_000;

/** One piece of work that cannot be interrupted, of a cluster that is from then on swept alone. Milliseconds. The largest answers that certmarshal reads take a tenth of it. */
const HOLD_MS = 1_000;

/** The reason of a signal that ended a sweep because its cluster took too much of the thread. */
export class ProcessorTimeError extends Error {
  override readonly name = 'ProcessorTimeError';
  /** What happened, without a full stop. */
  readonly problem: string;
  readonly remedy =
    'Find out who makes so many or so large objects: CertificateSigningRequests, Machines, Nodes, Secrets. What is left waits for the next sweep.';

  constructor(limitMs: number) {
    const problem = `to read and judge it took over ${limitMs / 1000} s of processor time, which is all that one sweep of a cluster gets`;
    super(problem);
    this.problem = problem;
  }
}

/** The processor time of one sweep. What it does in pieces is counted; what it waits for is not. */
export interface ProcessorBudget {
  /** Aborts once it is spent; its reason is then a {@link ProcessorTimeError}. */
  readonly signal: AbortSignal;
  /** It is spent, or one piece of the work held the thread for over a second. */
  readonly isHeavy: () => boolean;
  /** All work below it is on this budget, also what it begins and does not wait for. */
  run<T>(work: () => Promise<T>): Promise<T>;
}

/** Charges what a piece of work took, in milliseconds. */
type Charge = (ms: number) => void;

const budgets = new AsyncLocalStorage<{ readonly cpuMs: () => number; readonly charge: Charge }>();

/** @param cpuMs what the thread took of the processor so far: what other processes take on a loaded machine is not charged. Milliseconds. */
export function createProcessorBudget({
  limitMs = PROCESSOR_MS,
  cpuMs = threadCpuMs,
}: {
  readonly limitMs?: number;
  readonly cpuMs?: () => number;
} = {}): ProcessorBudget {
  const over = new AbortController();
  let spentMs = 0;
  let longestMs = 0;
  const charge: Charge = (ms) => {
    spentMs += ms;
    longestMs = Math.max(longestMs, ms);
    if (spentMs > limitMs && !over.signal.aborted) over.abort(new ProcessorTimeError(limitMs));
  };
  const isHeavy = () => over.signal.aborted || longestMs > HOLD_MS;
  return { signal: over.signal, isHeavy, run: async (work) => budgets.run({ cpuMs, charge }, work) };
}

function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** Does work that cannot be interrupted, at the expense of the budget that it runs on, if there is one. */
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
 * The results of work on each item, at the expense of the budget. Gives the thread away every 20 ms. Only making the next item and the work on it are
 * charged: the one who takes the results may wait for something.
 *
 * @param now milliseconds of a clock that never goes back
 */
export async function* inTurns<T, R>(
  items: Iterable<T>,
  work: (item: T) => R,
  now: () => number = clock,
): AsyncGenerator<R> {
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

/** Works on each item, as {@link inTurns} does. */
export async function eachInTurns<T>(
  items: Iterable<T>,
  work: (item: T) => void,
  now: () => number = clock,
): Promise<void> {
  const eachAsStep = function* (): Steps<void> {
    for (const item of items) {
      work(item);
      yield;
    }
  };
  await stepsInTurns(eachAsStep(), now);
}

/** Does all of it and gives its result, as {@link inTurns} does. */
export async function stepsInTurns<T>(steps: Steps<T>, now: () => number = clock): Promise<T> {
  const oneTurn = (): { readonly result: T } | 'more' => {
    for (const startedAt = now(); now() - startedAt < TURN_MS; ) {
      const step = steps.next();
      if (step.done === true) return { result: step.value };
    }
    return 'more';
  };
  for (;;) {
    const turn = charged(oneTurn);
    if (turn !== 'more') return turn.result;
    await nextTurn();
  }
}

function clock(): number {
  return performance.now();
}
