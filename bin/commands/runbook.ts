import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { didYouMean } from '../../lambdas/did-you-mean.ts';
import { kebab } from '../../lambdas/words.ts';
import { EXIT_HELP, type Register } from '../command.ts';
import { EXIT, UsageError } from '../exit-codes.ts';
import { type Io, PROCESS } from '../io.ts';

/** In a clone they are two folders above; beside what is installed, one. */
const FOLDERS = ['../../docs/runbooks/', '../docs/runbooks/'];

export const register: Register = (command, { program: name, run }) => {
  command
    .argument('[name]', 'as a message, a finding or a check has it')
    .addHelpText(
      'after',
      `
Without a name it lists all.

Examples:
  ${name} runbook certificate-critical
  ${name} runbook san-not-owned
${EXIT_HELP}`,
    )
    .action(run((page?: string) => runbookCommand(page, PROCESS)));
};

/**
 * Prints a runbook, as Markdown, or the names of all.
 *
 * @returns the exit status
 * @throws UsageError for a name that none has
 */
export async function runbookCommand(page: string | undefined, { stdout }: Pick<Io, 'stdout'>): Promise<number> {
  const folder = FOLDERS.map((path) => fileURLToPath(new URL(path, import.meta.url))).find((path) => existsSync(path));
  if (folder === undefined) throw new UsageError('docs/runbooks is missing. Install certmarshal again.');
  const pages = pagesOf(await readdir(folder, { recursive: true }));
  if (page === undefined) {
    stdout.write(`${[...pages.keys()].join('\n')}\n`);
    return EXIT.done;
  }
  // `ClusterUnreadable`, `docs/runbooks/alarms/cluster-unreadable.md`
  const asked = kebab(page.replace(/^.*\//, '').replace(/\.md$/, ''));
  const file = pages.get(asked);
  if (file === undefined) {
    const meant = didYouMean(asked, [...pages.keys()]);
    const hint = meant === undefined ? 'certmarshal runbook lists all.' : `Did you mean ${meant}?`;
    throw new UsageError(`There is no runbook ${JSON.stringify(page.slice(0, 100))}. ${hint}`);
  }
  stdout.write(await readFile(`${folder}${file}`, 'utf8'));
  return EXIT.done;
}

/** By name. The README of a folder has the name of the folder. */
function pagesOf(files: readonly string[]): ReadonlyMap<string, string> {
  const named = files
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => file.endsWith('.md'))
    .map((file) => [file.replace(/\/?README\.md$/, '').replace(/^.*\/|\.md$/g, '') || 'runbooks', file] as const);
  return new Map(named.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
