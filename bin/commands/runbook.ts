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
  ${name} runbook no-hold
${EXIT_HELP}`,
    )
    .action(run((page?: string) => runbookCommand(page, PROCESS)));
};

/**
 * Prints a runbook, as Markdown, or the names of all. A section of `rollouts.md` is one too, with the head of its page.
 *
 * @returns the exit status
 * @throws UsageError for a name that none has
 */
export async function runbookCommand(page: string | undefined, { stdout }: Pick<Io, 'stdout'>): Promise<number> {
  const folder = FOLDERS.map((path) => fileURLToPath(new URL(path, import.meta.url))).find((path) => existsSync(path));
  if (folder === undefined) throw new UsageError('docs/runbooks is missing. Install certmarshal again.');
  const pages = pagesOf(await readdir(folder, { recursive: true }));
  const sections = sectionsOf(await readFile(`${folder}rollouts.md`, 'utf8'));
  const names = [...pages.keys(), ...sections.keys()].toSorted();
  if (page === undefined) {
    stdout.write(`${names.join('\n')}\n`);
    return EXIT.done;
  }
  // `ClusterUnreadable`, `docs/runbooks/alarms/cluster-unreadable.md`, `docs/runbooks/rollouts.md#no-hold`
  const asked = kebab(page.replace(/^.*[/#]/, '').replace(/\.md$/, ''));
  const file = pages.get(asked);
  const text = file === undefined ? sections.get(asked) : await readFile(`${folder}${file}`, 'utf8');
  if (text === undefined) {
    const meant = didYouMean(asked, names);
    const hint = meant === undefined ? 'certmarshal runbook lists all.' : `Did you mean ${meant}?`;
    throw new UsageError(`There is no runbook ${JSON.stringify(page.slice(0, 100))}. ${hint}`);
  }
  stdout.write(text);
  return EXIT.done;
}

/** By name. The README of a folder has the name of the folder. */
function pagesOf(files: readonly string[]): ReadonlyMap<string, string> {
  const named = files
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => file.endsWith('.md'))
    .map((file) => [file.replace(/\/?README\.md$/, '').replace(/^.*\/|\.md$/g, '') || 'runbooks', file] as const);
  return new Map(named);
}

/** The head of the page and one section of it, by the heading of the section. */
function sectionsOf(page: string): ReadonlyMap<string, string> {
  const [head = '', ...sections] = page.split(/^## /m);
  return new Map(
    sections.map((section) => [section.slice(0, section.indexOf('\n')), `${head}## ${section.trimEnd()}\n`]),
  );
}
