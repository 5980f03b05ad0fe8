import { once } from 'node:events';
import { fstatSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { EXIT, UsageError } from './exit-codes.ts';
import { type Line, readLines } from './lines.ts';
import { systemErrorWords } from './system-error.ts';

/** Evidence is a few kB a node: room for thousands of nodes in a line. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;

const EXPECTED = 'Give it a file or a pipe with one JSON object a line.';

/** The standard streams of a process. */
export interface Streams {
  readonly stdin: Readable & { readonly isTTY?: boolean; readonly fd?: number };
  readonly stdout: Writable;
  readonly stderr: Writable;
}

/** How a line is answered. An answer with `error` is one of a line that could not be judged. */
export interface Answering {
  /** The longest line. @default 16 MiB */
  readonly maxLineBytes?: number;
  /** @param number of the line, from 1 */
  answer(line: string, number: number): object;
  /** The answer to a line that is none. */
  refuse(number: number, error: string): object;
}

/**
 * Answers the records on standard input, one JSON object a line.
 *
 * @param command of ours, for the messages
 * @returns the exit status
 * @throws UsageError when standard input cannot be read at all
 */
export async function answerStandardInput(
  { stdin, stdout, stderr }: Streams,
  command: string,
  answering: Answering,
): Promise<number> {
  // Node.js takes a directory for an empty stream.
  if (stdin.fd !== undefined && fstatSync(stdin.fd).isDirectory())
    throw new UsageError(`Standard input is a directory. ${EXPECTED}`);
  if (stdin.isTTY === true) stderr.write('Reading records from the keyboard, one JSON object a line; Ctrl-D ends.\n');
  const read = await answerLines(stdin, stdout, answering);
  const { failure, lines, answers } = read;
  if (failure !== undefined) {
    const message = `Standard input cannot be read: ${systemErrorWords(failure)}.`;
    if (lines === 0) throw new UsageError(`${message} ${EXPECTED}`);
    stderr.write(`${message} The lines up to ${lines} are judged.\n`);
    return EXIT.incomplete;
  }
  if (answers === 0)
    stderr.write(`no record on standard input; certmarshal ${command} --help shows what one looks like\n`);
  return read.errors === 0 ? EXIT.done : EXIT.incomplete;
}

/** How far a stream of records was judged. */
export interface Answered {
  readonly lines: number;
  readonly answers: number;
  /** Lines that could not be judged. */
  readonly errors: number;
  /** What ended the input before its end. */
  readonly failure?: unknown;
}

/** Reads one JSON object a line and writes one answer a line, in order, while reading. */
export async function answerLines(input: Readable, output: Writable, answering: Answering): Promise<Answered> {
  const count = { lines: 0, answers: 0, errors: 0 };
  // An error of the output is not one of the input.
  const write = async (answer: object) => {
    count.answers += 1;
    if ('error' in answer) count.errors += 1;
    if (!output.write(`${JSON.stringify(answer)}\n`)) await once(output, 'drain');
  };
  const lines = readLines(input, answering.maxLineBytes ?? MAX_LINE_BYTES);
  for (;;) {
    let next: IteratorResult<Line>;
    try {
      next = await lines.next();
    } catch (failure) {
      return { ...count, failure };
    }
    if (next.done === true) return count;
    count.lines += 1;
    const line = next.value;
    if (!line.ok) await write(answering.refuse(count.lines, `line ${count.lines} ${line.problem}`));
    else if (line.text.trim() !== '') await write(answering.answer(line.text, count.lines));
  }
}
