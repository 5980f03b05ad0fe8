import { Worker } from 'node:worker_threads';

/** How often Linux gives a process with a quota its share anew. Milliseconds. */
const PERIOD_MS = 20;

const PROGRAM = `
const { workerData: { pid, runs, rests, ended } } = require('node:worker_threads');
const wait = (ms) => Atomics.wait(ended, 0, 0, ms) === 'timed-out';
try {
  while (wait(runs)) {
    process.kill(pid, 'SIGSTOP');
    const more = wait(rests);
    process.kill(pid, 'SIGCONT');
    if (!more) break;
  }
} catch {}
`;

/** A whole core. Source: AWS Lambda Developer Guide, "Configure Lambda function memory". */
const MIB_OF_A_CORE = 1_769;

/** The share of one core that a function has. */
export function shareOfCore(memoryMiB: number): number {
  return Math.min(1, memoryMiB / MIB_OF_A_CORE);
}

/**
 * Lets a process run for a share of each 20 ms only, as Lambda does with a function that has a share of a core. It stops the process also where a quota would not, while
 * that waits for an answer: what takes so long here takes no longer there.
 *
 * @param share of one core, from 0 to 1
 */
export function giveShareOfCore(pid: number, share: number): Disposable {
  const ended = new Int32Array(new SharedArrayBuffer(4));
  const runs = PERIOD_MS * share;
  const worker = new Worker(PROGRAM, { eval: true, workerData: { pid, runs, rests: PERIOD_MS - runs, ended } });
  worker.unref();
  return {
    [Symbol.dispose]() {
      Atomics.store(ended, 0, 1);
      Atomics.notify(ended, 0);
    },
  };
}
