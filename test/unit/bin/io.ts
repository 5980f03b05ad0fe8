import { Writable } from 'node:stream';
import type { Io } from '../../../bin/io.ts';

interface Sink extends Writable {
  readonly isTTY?: boolean;
  readonly columns?: number;
  text(): string;
}

function sink(more: object = {}): Sink {
  const chunks: string[] = [];
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      chunks.push(chunk.toString());
      done();
    },
  });
  return Object.assign(stream, { text: () => chunks.join(''), ...more });
}

export interface RecordedIo extends Io {
  readonly stdout: Sink;
  readonly stderr: Sink;
}

/** The world of a command that keeps what it printed: no terminal, without `columns`, and nothing takes time. */
export function recordedIo({ now = 0, columns }: { now?: number; columns?: number } = {}): RecordedIo {
  const terminal = columns === undefined ? {} : { isTTY: true, columns };
  return {
    stdout: sink(terminal),
    stderr: sink(terminal),
    env: { NO_COLOR: '1' },
    clock: () => now,
    sleep: async () => {},
  };
}

export interface Outcome {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command to its end. */
export async function outcomeOf(
  { stdout, stderr }: Pick<RecordedIo, 'stdout' | 'stderr'>,
  command: Promise<number>,
): Promise<Outcome> {
  const status = await command;
  return { status, stdout: stdout.text(), stderr: stderr.text() };
}
