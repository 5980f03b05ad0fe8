import { once } from 'node:events';
import { parseJournalKey } from '../../../lambdas/journal/keys.ts';
import { searchJournal } from '../../../lambdas/journal/search.ts';
import { printable } from '../../../lambdas/printable.ts';
import { EXIT, UsageError } from '../../exit-codes.ts';
import { counted } from '../../terminal/plural.ts';
import { startProgress } from '../../terminal/progress.ts';
import { styleFor } from '../../terminal/style.ts';
import { terminalWidth } from '../../terminal/wrap.ts';
import { unknownCluster } from './cluster.ts';
import { dayOf, type JournalSource, openJournal, sinceOf } from './source.ts';
import { type JournalStreams, unreadable } from './verify.ts';
import { renderSearch, searchCsv } from './view.ts';

export interface JournalSearchOptions extends JournalSource {
  readonly cluster?: string;
  readonly node?: string;
  readonly csr?: string;
  readonly verdict?: 'approve' | 'deny' | 'leave';
  readonly hostile?: boolean;
  readonly since: string;
  readonly limit: string;
  readonly output: 'table' | 'json' | 'csv';
  /** How the user starts this program. */
  readonly program?: string;
}

const MOST_LINES = 100_000;

/**
 * Searches a journal. JSON is one line a decision, as it stands in the journal with `intact`, the newest first.
 *
 * @param now milliseconds since the epoch
 * @returns the exit status
 * @throws UsageError
 */
export async function journalSearchCommand(
  options: JournalSearchOptions,
  { stdout, stderr }: JournalStreams,
  signal: AbortSignal,
  now: () => number = Date.now,
): Promise<number> {
  const since = sinceOf(options.since, now());
  const limit = Number(options.limit);
  if (!Number.isInteger(limit) || limit < 1 || limit > MOST_LINES)
    throw new UsageError(`--limit takes a number from 1 to ${MOST_LINES}; got ${printable(options.limit)}.`);
  const { cluster, node, csr, verdict, hostile } = options;
  const journal = await openJournal(options);
  const { files, name } = journal;
  const query = { cluster, node, csr, verdict, hostile, since: dayOf(since), from: new Date(since).toISOString() };
  const progress = startProgress(stderr);
  let objects = 0;
  const onObject = (key: string): void => {
    objects += 1;
    progress.say(`${counted(objects, 'object')} read; at ${parseJournalKey(key)?.day ?? ''}`);
  };
  progress.say(`looking what is in ${name}`);
  try {
    const result = await searchJournal(files, query, limit, signal, onObject).finally(() => progress.done());
    if (cluster !== undefined && result.searched === 0 && result.unreadable === 0) {
      const unknown = await unknownCluster(journal, cluster, signal);
      if (unknown !== undefined) throw new UsageError(unknown);
    }
    if (options.output === 'csv') stdout.write(searchCsv(result.lines));
    else if (options.output === 'json') {
      for (const { value, intact } of result.lines)
        if (!stdout.write(`${JSON.stringify({ ...value, intact }, harmless)}\n`)) await once(stdout, 'drain');
    } else {
      const view = {
        style: styleFor(stdout, process.env),
        width: terminalWidth(stdout),
        program: options.program ?? 'certmarshal',
      };
      stdout.write(`${renderSearch(result, { what: describe(options), now: now() }, view)}\n`);
    }
    if (result.unreadable > 0 && options.output !== 'table')
      stderr.write(
        `${counted(result.unreadable, 'line or object', 'lines or objects')} could not be read: certmarshal journal verify says which.\n`,
      );
    return result.unreadable > 0 ? EXIT.incomplete : EXIT.done;
  } catch (error) {
    if (error instanceof UsageError) throw error;
    stderr.write(unreadable(name, error, signal, objects));
    return EXIT.incomplete;
  }
}

function describe({ cluster, node, csr, verdict, hostile, since }: JournalSearchOptions): string {
  return [
    ...(node === undefined ? [] : [`about node ${printable(node)}`]),
    ...(csr === undefined ? [] : [`about request ${printable(csr)}`]),
    ...(cluster === undefined ? [] : [`in cluster ${printable(cluster)}`]),
    ...(verdict === undefined ? [] : [`with verdict ${verdict}`]),
    ...(hostile === true ? ['on a hostile request'] : []),
    `in the last ${since}`,
  ].join(', ');
}

/** A line that somebody else wrote may hold anything. */
function harmless(_name: string, value: unknown): unknown {
  return typeof value === 'string' ? printable(value, 2_000) : value;
}
