import { once } from 'node:events';
import { fstatSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { printable } from '../lambdas/printable.ts';
import { EXIT, UsageError } from './exit-codes.ts';
import type { Io } from './io.ts';
import { type Line, readLines } from './lines.ts';
import { systemErrorWords } from './system-error.ts';

/** Evidence has a few kB per node: enough for thousands of nodes in a line. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;

const EXPECTED = 'Give it a file or a pipe with one JSON object per line.';

export interface InputIo extends Io {
  readonly stdin: Readable & { readonly isTTY?: boolean; readonly fd?: number };
}

/** How a record is answered. */
export interface Answering {
  /** Longest line. Bytes. @default 16 MiB */
  readonly maxLineBytes?: number;
  /** Identifies an invalid record in its answer. */
  readonly named: (record: unknown) => object;
  /** The answer; a string says why there is none. */
  readonly answer: (record: unknown) => object | string;
}

/**
 * Answers the records on standard input, one JSON object per line, while reading and in order. An invalid record gets
 * an answer with `error`; the others are not affected.
 *
 * @param command our command, for messages
 * @returns the exit status
 * @throws UsageError if standard input cannot be read at all, or has no record
 */
export async function answerStandardInput(
  { stdin, stdout, stderr }: InputIo,
  command: string,
  answering: Answering,
): Promise<number> {
  // Node.js reads a directory as an empty stream.
  if (stdin.fd !== undefined && fstatSync(stdin.fd).isDirectory())
    throw new UsageError(`Standard input is a directory. ${EXPECTED}`);
  if (stdin.isTTY === true) stderr.write('Reading records from the keyboard, one JSON object per line; Ctrl-D ends.\n');
  const lines = readLines(stdin, answering.maxLineBytes ?? MAX_LINE_BYTES);
  const count = { lines: 0, answers: 0, errors: 0 };
  for (;;) {
    let next: IteratorResult<Line>;
    try {
      next = await lines.next();
    } catch (failure) {
      const message = `Standard input cannot be read: ${systemErrorWords(failure)}.`;
      if (count.lines === 0) throw new UsageError(`${message} ${EXPECTED}`);
      stderr.write(`${message} The lines up to ${count.lines} were judged.\n`);
      return EXIT.incomplete;
    }
    if (next.done === true) break;
    count.lines += 1;
    if (next.value.ok && next.value.text.trim() === '') continue;
    const answer = answerTo(next.value, count.lines, answering);
    count.answers += 1;
    if ('error' in answer) count.errors += 1;
    if (!stdout.write(`${JSON.stringify(answer)}\n`)) await once(stdout, 'drain');
  }
  if (count.answers === 0)
    throw new UsageError(
      `There is no record on standard input. ${EXPECTED} certmarshal ${command} --help shows the format of a line.`,
    );
  return count.errors === 0 ? EXIT.done : EXIT.incomplete;
}

function answerTo(line: Line, number: number, { named, answer }: Answering): object {
  const refuse = (problem: string, record?: unknown) => ({
    ...named(record),
    line: number,
    error: `line ${number}${problem}`,
  });
  if (!line.ok) return refuse(` ${line.problem}`);
  let record: unknown;
  try {
    record = JSON.parse(line.text);
  } catch (error) {
    return refuse(` is not JSON: ${error instanceof Error ? printable(error.message) : ''}`);
  }
  const answered = answer(record);
  return typeof answered === 'string' ? refuse(`: ${answered}`, record) : answered;
}
