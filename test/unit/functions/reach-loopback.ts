import { cp, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** What the sweep function says of where API servers may be. */
const DEPLOYED = /\baddresses:\s*"cluster"/g;

/**
 * Lets a bundle of the sweep function reach API servers of this machine, which no configuration can: a copy of its directory, in which the one rule of its code
 * is the other one.
 *
 * @param bundle path of the `index.mjs`
 * @returns that of the copy.
 * @throws Error when the bundle does not have that rule exactly once.
 */
export async function reachingLoopback(bundle: string): Promise<string> {
  const copy = `${dirname(bundle)}-loopback`;
  await cp(dirname(bundle), copy, { recursive: true });
  await letReachLoopback(copy);
  return join(copy, 'index.mjs');
}

/** The same in place. */
export async function letReachLoopback(directory: string): Promise<void> {
  let rules = 0;
  for (const name of await readdir(directory, { recursive: true })) {
    if (!name.endsWith('.mjs')) continue;
    const code = await readFile(join(directory, name), 'utf8');
    const found = code.match(DEPLOYED)?.length ?? 0;
    rules += found;
    if (found > 0) await writeFile(join(directory, name), code.replaceAll(DEPLOYED, 'addresses:"local"'));
  }
  if (rules !== 1) throw new Error(`the bundle in ${directory} has ${rules} rules of where API servers may be`);
}
