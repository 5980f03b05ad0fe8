import { HEAD_PREFIX, parseHeadKey } from '../../../lambdas/journal/keys.ts';
import { listObjects } from '../../../lambdas/journal/verify.ts';
import { printable } from '../../../lambdas/printable.ts';
import { quote } from '../../target.ts';
import type { OpenJournal } from './source.ts';

/** Heads that are looked at for a better name. */
const MOST_HEADS = 10_000;

/**
 * What to say where a journal has nothing of a cluster, so that a wrong name does not look like a cluster without decisions.
 *
 * @returns undefined where it has a head or a line
 * @throws AwsError, or an error of the file system
 */
export async function unknownCluster(
  { files, name }: OpenJournal,
  cluster: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const others: string[] = [];
  for await (const { key } of files.objects(HEAD_PREFIX, signal)) {
    const id = parseHeadKey(key);
    if (id === cluster) return undefined;
    if (id !== undefined && others.push(id) === MOST_HEADS) break;
  }
  const line = await listObjects(files, { cluster }, signal).next();
  if (line.done !== true) return undefined;
  const meant = others.filter((id) => id.endsWith(`/${cluster}`)).slice(0, 3);
  const hint =
    meant.length > 0
      ? `Did you mean ${meant.map((id) => `--cluster ${quote(printable(id))}`).join(' or ')}?`
      : 'The id is that of the fleet, as certmarshal journal verify lists it.';
  return `${name} has no line of a cluster ${printable(cluster)}. ${hint}`;
}
