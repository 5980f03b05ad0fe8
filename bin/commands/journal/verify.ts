import type { Writable } from 'node:stream';
import { AwsError } from '../../../lambdas/aws/errors.ts';
import type { ChainEnd } from '../../../lambdas/journal/chain.ts';
import { parseJournalKey } from '../../../lambdas/journal/keys.ts';
import { verifyJournal } from '../../../lambdas/journal/verify.ts';
import { printable } from '../../../lambdas/printable.ts';
import { remedyAtTheKeyboard } from '../../doctor/at-the-keyboard.ts';
import { EXIT, UsageError } from '../../exit-codes.ts';
import { systemErrorWords } from '../../system-error.ts';
import { quote } from '../../target.ts';
import { counted } from '../../terminal/plural.ts';
import { startProgress } from '../../terminal/progress.ts';
import { styleFor } from '../../terminal/style.ts';
import { terminalWidth } from '../../terminal/wrap.ts';
import { unknownCluster } from './cluster.ts';
import { dayOf, type JournalSource, openJournal, sinceOf } from './source.ts';
import { renderVerification } from './view.ts';

export interface JournalVerifyOptions extends JournalSource {
  readonly cluster?: string;
  readonly since?: string;
  readonly expect?: readonly string[];
  readonly output: 'table' | 'json';
  /** How the user starts this program. */
  readonly program?: string;
}

/** The standard streams of a process. */
export interface JournalStreams {
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  readonly stderr: NodeJS.WriteStream;
}

/**
 * Verifies the chains of a journal.
 *
 * @param now milliseconds since the epoch
 * @returns the exit status: 1 when a chain is broken or cannot be read
 * @throws UsageError
 */
export async function journalVerifyCommand(
  options: JournalVerifyOptions,
  { stdout, stderr }: JournalStreams,
  signal: AbortSignal,
  now: () => number = Date.now,
): Promise<number> {
  const expected = expectedLines(options.expect ?? []);
  const since = options.since === undefined ? undefined : dayOf(sinceOf(options.since, now()));
  const { cluster } = options;
  const journal = await openJournal(options);
  const { files, name } = journal;
  const progress = startProgress(stderr);
  let objects = 0;
  const onObject = (key: string): void => {
    objects += 1;
    const { day = '', cluster: id = '' } = parseJournalKey(key) ?? {};
    progress.say(`${counted(objects, 'object')} read; at ${day}, ${printable(id, 100)}`);
  };
  progress.say(`looking what is in ${name}`);
  try {
    const result = await verifyJournal(files, { cluster, since, expected, onObject }, signal).finally(() =>
      progress.done(),
    );
    const [only] = result.chains;
    if (
      cluster !== undefined &&
      only?.objects === 0 &&
      only.lines === 0 &&
      only.problems.every(({ kind }) => kind === 'head-missing')
    ) {
      const unknown = await unknownCluster(journal, cluster, signal);
      if (unknown !== undefined) throw new UsageError(unknown);
    }
    const broken = result.chains.some(({ problemCount }) => problemCount > 0) || result.strayCount > 0;
    if (options.output === 'json')
      stdout.write(`${JSON.stringify({ version: 1, journal: name, unbroken: !broken, since, ...result })}\n`);
    else {
      const view = {
        style: styleFor(stdout, process.env),
        width: terminalWidth(stdout),
        program: options.program ?? 'certmarshal',
      };
      stdout.write(`${renderVerification(result, { since, cluster, source: sourceArgument(options) }, view)}\n`);
    }
    return broken ? EXIT.incomplete : EXIT.done;
  } catch (error) {
    if (error instanceof UsageError) throw error;
    stderr.write(unreadable(name, error, signal, objects));
    return EXIT.incomplete;
  }
}

/** How the journal is named in a command that is to be pasted. */
function sourceArgument({ bucket, directory }: JournalSource): string {
  return bucket === undefined ? `--directory ${quote(printable(directory ?? ''))}` : `--bucket ${bucket}`;
}

/** What kept a journal from being read to its end. */
export function unreadable(name: string, error: unknown, signal: AbortSignal, objects: number): string {
  const far = `after ${counted(objects, 'object')}`;
  if (signal.aborted) return `Stopped ${far} of ${name}: nothing can be said about the journal.\n`;
  if (error instanceof AwsError)
    return `${printable(error.object, 500)}: ${error.problem}, ${far}; nothing can be said about the journal. ${remedyAtTheKeyboard(error)}\n`;
  if (error instanceof Error && 'code' in error)
    return `${name} cannot be read ${far}: ${systemErrorWords(error)}; nothing can be said about the journal.\n`;
  throw error;
}

const EXPECTED = /^(?<cluster>.+)=(?<seq>[1-9]\d{0,11}):(?<hash>[0-9a-f]{64})$/;

function expectedLines(texts: readonly string[]): ReadonlyMap<string, readonly ChainEnd[]> {
  const expected = new Map<string, ChainEnd[]>();
  for (const text of texts) {
    const { cluster, seq, hash } = EXPECTED.exec(text)?.groups ?? {};
    if (cluster === undefined || seq === undefined || hash === undefined)
      throw new UsageError(`--expect takes CLUSTER=SEQ:HASH, as a verification prints it; got ${printable(text)}.`);
    expected.set(cluster, [...(expected.get(cluster) ?? []), { seq: Number(seq), hash }]);
  }
  return expected;
}
