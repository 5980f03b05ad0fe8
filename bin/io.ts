import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { draw, type Lines, screenOf } from './terminal/draw.ts';
import type { ProgressStream } from './terminal/progress.ts';

/** Output, environment and clock of every command. Commands extend it; tests pass their own. */
export interface Io {
  readonly stdout: ProgressStream;
  readonly stderr: ProgressStream;
  readonly env: NodeJS.ProcessEnv;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** Rejects when the signal aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

export const PROCESS: Io = {
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  clock: () => Date.now(),
  sleep: (ms, signal) => delay(ms, undefined, { signal }),
};

export function print({ stdout, env }: Io, lines: Lines): void {
  stdout.write(`${draw(lines, screenOf(stdout, env))}\n`);
}

/** Prints a document for programs, on one line. */
export function printJson({ stdout }: Io, document: object): void {
  stdout.write(`${JSON.stringify(document)}\n`);
}

/** Prints documents for programs, one per line, no faster than they are read. */
export async function printJsonLines({ stdout }: Io, documents: Iterable<object>): Promise<void> {
  for (const document of documents) if (!stdout.write(`${JSON.stringify(document)}\n`)) await once(stdout, 'drain');
}
