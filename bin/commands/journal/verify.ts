import type { ChainEnd } from '../../../lambdas/journal/chain.ts';
import { parseJournalKey } from '../../../lambdas/journal/keys.ts';
import { verifyJournal } from '../../../lambdas/journal/verify.ts';
import { printable } from '../../../lambdas/printable.ts';
import { EXIT, UsageError } from '../../exit-codes.ts';
import { type Io, print, printJson } from '../../io.ts';
import { quote } from '../../target.ts';
import { dayOf } from '../../terminal/words.ts';
import { type JournalOptions, readJournal } from './read.ts';
import { type JournalSource, sinceOf } from './source.ts';
import { verificationLines } from './view.ts';

export interface JournalVerifyOptions extends JournalOptions {
  readonly since?: string;
  readonly expect?: readonly string[];
  readonly output: 'table' | 'json';
}

/**
 * Verifies the chains of a journal.
 *
 * @returns the exit status: 1 if a chain is broken or unreadable
 * @throws UsageError
 */
export async function journalVerifyCommand(
  options: JournalVerifyOptions,
  signal: AbortSignal,
  io: Io,
): Promise<number> {
  const expected = expectedLines(options.expect ?? []);
  const since = options.since === undefined ? undefined : dayOf(sinceOf(options.since, io.clock()));
  const { cluster, program } = options;
  return readJournal(
    options,
    {
      read: (store, onObject) => verifyJournal(store, { cluster, since, expected, onObject }, signal),
      at(key) {
        const { day = '', cluster: id = '' } = parseJournalKey(key) ?? {};
        return `${day}, ${printable(id, 100)}`;
      },
      // The only problem is the missing head.
      isEmpty: ({ chains: [only] }) => only?.objects === 0 && only.lines === 0 && only.problemCount === 1,
      show(result, journal) {
        const broken = result.chains.some(({ problemCount }) => problemCount > 0) || result.strayCount > 0;
        if (options.output === 'json') printJson(io, { version: 1, journal, unbroken: !broken, since, ...result });
        else print(io, verificationLines(result, { since, cluster, source: sourceArgument(options), program }));
        return broken ? EXIT.incomplete : EXIT.done;
      },
    },
    signal,
    io,
  );
}

/** The journal as an option, for a command to paste. */
function sourceArgument({ bucket, directory }: JournalSource): string {
  return bucket === undefined ? `--directory ${quote(printable(directory ?? ''))}` : `--bucket ${bucket}`;
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
