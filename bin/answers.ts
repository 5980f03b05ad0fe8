import { once } from 'node:events';
import { fstatSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { printable } from '../lambdas/printable.ts';
import { EXIT, UsageError } from './exit-codes.ts';
import type { Io } from './io.ts';
import { type Line, readLines } from './lines.ts';
import { systemErrorWords } from './system-error.ts';

/** Evidence is a few kB a node: room for thousands of nodes in a line. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;

const EXPECTED = 'Give it a file or a pipe with one JSON object a line.';

/** What a command that reads standard input takes. */
export interface InputIo extends Io {
  readonly stdin: Readable & { readonly isTTY?: boolean; readonly fd?: number };
}

/** How a record is answered. */
export interface Answering {
  /** The longest line. @default 16 MiB */
  readonly maxLineBytes?: number;
  /** How the answer to a record that cannot be judged says which one it is. */
  readonly named: (record: unknown) => object;
  /** The answer, or a sentence that says why it is missing. */
  readonly answer: (record: unknown) => object | string;
}

/**
 * Answers the records on standard input, one JSON object a line, while reading and in order. One that cannot be judged gets an answer with `error`, and the
 * others are not affected.
 *
 * @param command of ours, for the messages
 * @returns the exit status
 * @throws UsageError when standard input cannot be read at all, or has no record
 */
export async function answerStandardInput(
  { stdin, stdout, stderr }: InputIo,
  command: string,
  answering: Answering,
): Promise<number> {
  // Node.js takes a directory for an empty stream.
  if (stdin.fd !== undefined && fstatSync(stdin.fd).isDirectory())
    throw new UsageError(`Standard input is a directory. ${EXPECTED}`);
  if (stdin.isTTY === true) stderr.write('Reading records from the keyboard, one JSON object a line; Ctrl-D ends.\n');
  const lines = readLines(stdin, answering.maxLineBytes ?? MAX_LINE_BYTES);
  const count = { lines: 0, answers: 0, errors: 0 };
  for (;;) {
    let next: IteratorResult<Line>;
    try {
      next = await lines.next();
    } catch (failure) {
      const message = `Standard input cannot be read: ${systemErrorWords(failure)}.`;
      if (count.lines === 0) throw new UsageError(`${message} ${EXPECTED}`);
      stderr.write(`${message} The lines up to ${count.lines} are judged.\n`);
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
      `There is no record on standard input. ${EXPECTED} certmarshal ${command} --help shows what one looks like.`,
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
