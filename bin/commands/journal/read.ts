import { AwsError } from '../../../lambdas/aws/errors.ts';
import { HEAD_PREFIX, parseHeadKey } from '../../../lambdas/journal/keys.ts';
import { listObjects } from '../../../lambdas/journal/verify.ts';
import { printable } from '../../../lambdas/printable.ts';
import { counted } from '../../../lambdas/words.ts';
import { remedyAtTheKeyboard } from '../../doctor/at-the-keyboard.ts';
import { EXIT, UsageError } from '../../exit-codes.ts';
import type { Io } from '../../io.ts';
import { systemErrorWords } from '../../system-error.ts';
import { quote } from '../../target.ts';
import { startProgress } from '../../terminal/progress.ts';
import { type JournalSource, type OpenJournal, openJournal } from './source.ts';

export interface JournalOptions extends JournalSource {
  readonly cluster?: string;
  /** The command that starts this program. */
  readonly program: string;
}

/** How a journal is read and shown. */
export interface JournalReader<T> {
  readonly read: (store: OpenJournal['store'], onObject: (key: string) => void) => Promise<T>;
  /** Progress text for an object. */
  readonly at: (key: string) => string;
  /** Whether the journal has nothing of the cluster: its name may be wrong. */
  readonly isEmpty: (result: T) => boolean;
  /** @returns the exit status */
  readonly show: (result: T, name: string) => number | Promise<number>;
}

/**
 * Reads a whole journal and shows the result, or why it could not be read.
 *
 * @returns the exit status
 * @throws UsageError
 */
export async function readJournal<T>(
  options: JournalOptions,
  { read, at, isEmpty, show }: JournalReader<T>,
  signal: AbortSignal,
  { stderr }: Io,
): Promise<number> {
  const { cluster } = options;
  const journal = await openJournal(options);
  const { store, name } = journal;
  const progress = startProgress(stderr);
  let objects = 0;
  progress.say(`listing ${name}`);
  try {
    const result = await read(store, (key) => {
      objects += 1;
      progress.say(`${counted(objects, 'object')} read; at ${at(key)}`);
    }).finally(() => progress.done());
    if (cluster !== undefined && isEmpty(result)) {
      const unknown = await unknownCluster(journal, cluster, signal);
      if (unknown !== undefined) throw new UsageError(unknown);
    }
    return await show(result, name);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    stderr.write(unreadable(name, error, signal, objects));
    return EXIT.incomplete;
  }
}

/** Why the journal was not read to its end. */
function unreadable(name: string, error: unknown, signal: AbortSignal, objects: number): string {
  const far = `after ${counted(objects, 'object')}`;
  if (signal.aborted) return `Stopped ${far} of ${name}: nothing can be said about the journal.\n`;
  if (error instanceof AwsError)
    return `${printable(error.object, 500)}: ${error.problem}, ${far}; nothing can be said about the journal. ${remedyAtTheKeyboard(error)}\n`;
  if (error instanceof Error && 'code' in error)
    return `${name} cannot be read ${far}: ${systemErrorWords(error)}; nothing can be said about the journal.\n`;
  throw error;
}

/** Heads read to suggest another name. */
const MAX_HEADS = 10_000;

/**
 * The message for a journal without the cluster: a wrong name must not look like a cluster without decisions.
 *
 * @returns undefined if the cluster has a head or a line
 * @throws AwsError, or an error of the file system
 */
async function unknownCluster(
  { store, name }: OpenJournal,
  cluster: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const others: string[] = [];
  for await (const { key } of store.objects(HEAD_PREFIX, signal)) {
    const id = parseHeadKey(key);
    if (id === cluster) return undefined;
    if (id !== undefined && others.push(id) === MAX_HEADS) break;
  }
  const line = await listObjects(store, { cluster }, signal).next();
  if (line.done !== true) return undefined;
  const meant = others.filter((id) => id.endsWith(`/${cluster}`)).slice(0, 3);
  const hint =
    meant.length > 0
      ? `Did you mean ${meant.map((id) => `--cluster ${quote(printable(id))}`).join(' or ')}?`
      : 'The id is that of the fleet, as certmarshal journal verify lists it.';
  return `${name} has no line of a cluster ${printable(cluster)}. ${hint}`;
}
