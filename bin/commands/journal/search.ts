import { parseJournalKey } from '../../../lambdas/journal/keys.ts';
import { searchJournal } from '../../../lambdas/journal/search.ts';
import { printable } from '../../../lambdas/printable.ts';
import { counted } from '../../../lambdas/words.ts';
import { EXIT, UsageError } from '../../exit-codes.ts';
import { type Io, print, printJsonLines } from '../../io.ts';
import { dayOf, joined } from '../../terminal/words.ts';
import { type JournalOptions, readJournal } from './read.ts';
import { sinceOf } from './source.ts';
import { searchCsv, searchLines } from './view.ts';

export interface JournalSearchOptions extends JournalOptions {
  readonly node?: string;
  readonly csr?: string;
  readonly verdict?: 'approve' | 'deny' | 'leave';
  readonly hostile?: boolean;
  readonly since: string;
  readonly limit: string;
  readonly output: 'table' | 'json' | 'csv';
}

const MAX_LINES = 100_000;

/**
 * Searches a journal. JSON is one line per decision, as in the journal with `intact` added, newest first.
 *
 * @returns the exit status
 * @throws UsageError
 */
export async function journalSearchCommand(
  options: JournalSearchOptions,
  signal: AbortSignal,
  io: Io,
): Promise<number> {
  const { stdout, stderr, clock } = io;
  const since = sinceOf(options.since, clock());
  const limit = Number(options.limit);
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LINES)
    throw new UsageError(`--limit takes a number from 1 to ${MAX_LINES}; got ${printable(options.limit)}.`);
  const { cluster, node, csr, verdict, hostile, output, program } = options;
  const query = { cluster, node, csr, verdict, hostile, since: dayOf(since), from: new Date(since).toISOString() };
  return readJournal(
    options,
    {
      read: (store, onObject) => searchJournal(store, query, limit, signal, onObject),
      at: (key) => parseJournalKey(key)?.day ?? '',
      isEmpty: ({ searched, unreadable }) => searched === 0 && unreadable === 0,
      async show(result) {
        const { lines, unreadable } = result;
        if (output === 'csv') stdout.write(searchCsv(lines));
        else if (output === 'json')
          await printJsonLines(
            io,
            lines.map(({ value, intact }) => ({ ...value, intact })),
            harmless,
          );
        else print(io, searchLines(result, describe(options), clock(), program));
        if (unreadable > 0 && output !== 'table')
          stderr.write(
            `${counted(unreadable, 'line or object', 'lines or objects')} could not be read: certmarshal journal verify says which.\n`,
          );
        return unreadable > 0 ? EXIT.incomplete : EXIT.done;
      },
    },
    signal,
    io,
  );
}

function describe({ cluster, node, csr, verdict, hostile, since }: JournalSearchOptions): string {
  return joined([
    node !== undefined && `about node ${printable(node)}`,
    csr !== undefined && `about request ${printable(csr)}`,
    cluster !== undefined && `in cluster ${printable(cluster)}`,
    verdict && `with verdict ${verdict}`,
    hostile === true && 'on a hostile request',
    `in the last ${since}`,
  ]);
}

/** A line not written by certmarshal may contain anything. */
function harmless(_name: string, value: unknown): unknown {
  return typeof value === 'string' ? printable(value, 2_000) : value;
}
