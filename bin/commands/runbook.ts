import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pasteable, readRunbook, runbookName } from '../../lambdas/command.ts';
import { didYouMean } from '../../lambdas/did-you-mean.ts';
import { FINDING_CODES } from '../../lambdas/tables/finding-codes.ts';
import { keysOf } from '../../lambdas/tables/keys.ts';
import { REASONS } from '../../lambdas/tables/reasons.ts';
import { compare } from '../../lambdas/words.ts';
import { EXIT_HELP, type Register } from '../command.ts';
import { EXIT, UsageError } from '../exit-codes.ts';
import { type Io, PROCESS, print } from '../io.ts';
import { hang, type Lines, table } from '../terminal/draw.ts';
import { strong } from '../terminal/paint.ts';

/** Two folders up in a clone, one in an installed package. */
const FOLDERS = ['../../docs/runbooks/', '../docs/runbooks/'];

export const register: Register = (command, { program: name, run }) => {
  command
    .argument('[name]', 'name from a message, a finding or a check')
    .addHelpText(
      'after',
      `
Without a name it lists all but the checks and holds of rollouts: these are in ${name} runbook rollouts.

Examples:
  ${name} runbook certificate-critical
  ${name} runbook san-not-owned
  ${name} runbook no-hold
${EXIT_HELP}`,
    )
    .action(run((page?: string) => runbookCommand(page, name, PROCESS)));
};

/**
 * Prints a runbook as Markdown, or the names. A section of `rollouts.md` is a runbook, too, printed with the head of
 * its page.
 *
 * @returns the exit status
 * @throws UsageError for an unknown name
 */
export async function runbookCommand(page: string | undefined, program: string, io: Io): Promise<number> {
  const folder = FOLDERS.map((path) => fileURLToPath(new URL(path, import.meta.url))).find((path) => existsSync(path));
  if (folder === undefined) throw new UsageError('docs/runbooks is missing. Install certmarshal again.');
  const files = (await readdir(folder, { recursive: true }))
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => file.endsWith('.md'))
    .toSorted(compare);
  const read = (file: string) => readFile(`${folder}${file}`, 'utf8');
  const sections = sectionsOf(await read(ROLLOUTS));
  if (page === undefined) {
    const titled = await Promise.all(files.map(async (file) => [file, titleOf(await read(file))] as const));
    print(io, listLines(titled, program));
    return EXIT.done;
  }
  const asked = runbookName(page);
  const shown = files.filter((file) => nameOf(file) === asked);
  const section = sections.get(asked);
  if (shown.length === 0 && section === undefined) {
    const meant = didYouMean(asked, [...files.map(nameOf), ...sections.keys()].toSorted(compare));
    const hint = meant === undefined ? `${program} runbook lists all.` : `Did you mean ${meant}?`;
    throw new UsageError(`There is no runbook ${JSON.stringify(page.slice(0, 100))}. ${hint}`);
  }
  const texts =
    shown.length === 0
      ? [withCommands(section ?? '', ROLLOUTS, files)]
      : await Promise.all(shown.map(async (file) => withCommands(await read(file), file, files)));
  const text = texts.join('\n').replaceAll(CODE, (code) => pasteable(code, program));
  const hints = [...(VARIABLE.test(text) ? [EXAMPLES] : []), ...(KUBECONFIG.test(text) ? [CONTEXT] : [])];
  io.stdout.write(hints.length === 0 ? text : text.replace(/^# .*\n/, (title) => `${title}\n${hints.join('')}`));
  return EXIT.done;
}

/** A line of a block that sets a variable. */
const VARIABLE = /^(?:export )?[A-Z]+=/m;
const EXAMPLES = 'The values in the commands (NAME=…) are examples: put in your own.\n';
const KUBECONFIG = /certmarshal .*--kubeconfig "\$KUBECONFIG"/;
const CONTEXT =
  'If your kubeconfig has the cluster, --context NAME replaces --kubeconfig and --cluster of certmarshal; a cluster that manages\nitself needs no --management-kubeconfig.\n';

const ROLLOUTS = 'rollouts.md';

/** Blocks and spans: in prose the name of the program is no command. */
const CODE = /```[^]*?```|`[^`\n]+`/g;

/** The README of a folder has the name of the folder. */
function nameOf(file: string): string {
  return file.replace(/\/?README\.md$/, '').replace(/^.*\/|\.md$/g, '') || 'runbooks';
}

/** Sections by heading, each with the head of the page. */
function sectionsOf(page: string): ReadonlyMap<string, string> {
  const [head = '', ...sections] = page.split(/^## /m);
  return new Map(
    sections.map((section) => [section.slice(0, section.indexOf('\n')), `${head}## ${section.trimEnd()}\n`]),
  );
}

const LINK = /\[(?<label>[^\]]+)\]\((?<path>[\w./-]*\.md)?(?:#(?<anchor>[\w-]+))?\)/g;

/** Links to runbooks as the commands that print them, links to other pages as their files in a clone. */
function withCommands(text: string, file: string, files: readonly string[]): string {
  return text.replaceAll(LINK, (_link: string, label: string, path: string | undefined, anchor: string | undefined) => {
    const linked = path === undefined ? file : posix.join(posix.dirname(file), path);
    if (!files.includes(linked)) {
      const page = posix.join('docs/runbooks', linked);
      return label.endsWith('.md') ? page : `${label} (${page})`;
    }
    // Of the others, a section is printed with its page.
    const name = linked === ROLLOUTS && anchor !== undefined ? anchor : nameOf(linked);
    const command = `\`${readRunbook(name)}\``;
    return label.endsWith('.md') || runbookName(label) === name ? command : `${label} (${command})`;
  });
}

/** `# SanNotOwned: a node asks for …` → `a node asks for …` */
function titleOf(page: string): string {
  return (page.split('\n', 1)[0] ?? '').replace(/^# (?:[^:]*: )?/, '');
}

/**
 * Grouped by what names them; a README is for readers of its folder. An alarm with the name of a finding is printed with
 * it.
 */
function listLines(pages: readonly (readonly [file: string, title: string])[], program: string): Lines {
  const codes = new Set([...keysOf(FINDING_CODES), ...keysOf(REASONS)].map(runbookName));
  const groupOf = (file: string) => {
    if (file.startsWith('alarms/')) return codes.has(nameOf(file)) ? undefined : 'Alarms';
    return codes.has(nameOf(file)) ? CODES : 'Procedures';
  };
  const groups = Map.groupBy(
    pages.filter(([file]) => !file.endsWith('README.md')),
    ([file]) => groupOf(file),
  );
  return [
    hang('', `${program} runbook NAME; the message or the finding has the name.`),
    ([CODES, 'Alarms', 'Procedures'] as const).map((group) => [
      '',
      strong(group),
      table((groups.get(group) ?? []).map(([file, title]) => [nameOf(file), title])),
    ]),
  ];
}

const CODES = 'Findings and verdicts';
