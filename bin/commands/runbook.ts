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
import { EXIT_HELP, type Register, withNames } from '../command.ts';
import { EXIT, UsageError } from '../exit-codes.ts';
import { type Io, PROCESS, print } from '../io.ts';
import { arePlain, type ClusterNames, repeatNames } from '../target.ts';
import { draw, hang, type Lines, screenOf, table } from '../terminal/draw.ts';
import { markdownLines } from '../terminal/markdown.ts';
import { strong } from '../terminal/paint.ts';
import { CODE, examplesIn, withNames as withNamesOf } from './runbook-values.ts';

/** Two folders up in a clone, one in an installed package. */
const FOLDERS = ['../../docs/runbooks/', '../docs/runbooks/'];

export const register: Register = (command, { program: name, run }) => {
  const own = command
    .argument('[name]', 'name from a message, a finding or a check')
    .optionsGroup('Which cluster its commands name; nothing is read:');
  withNames(own)
    .addHelpText(
      'after',
      `
Without a name it lists all but the checks and holds of rollouts: these are in ${name} runbook rollouts.

Examples:
  ${name} runbook certificate-critical
  ${name} runbook san-not-owned
  ${name} runbook no-hold
  ${name} runbook certificate-expired --context berlin
${EXIT_HELP}`,
    )
    .action(
      run((page: string | undefined, given: ClusterNames) =>
        runbookCommand(page, { ...given, program: name }, PROCESS),
      ),
    );
};

/**
 * Prints a runbook as Markdown, wrapped on a terminal, or the names. A section of `rollouts.md` is a runbook, too, printed with the head of
 * its page.
 *
 * @returns the exit status
 * @throws UsageError for an unknown name
 */
export async function runbookCommand(
  page: string | undefined,
  { program, ...names }: ClusterNames & { readonly program: string },
  io: Io,
): Promise<number> {
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
  if (!arePlain(names))
    io.stderr.write(
      'The commands keep their examples: a name has characters that a shell interprets. Put it in by hand, in quotes.\n',
    );
  const given = arePlain(names) ? names : {};
  const named = withNamesOf(texts.join('\n'), given);
  const text = named.replaceAll(CODE, (code) => pasteable(code, program));
  const hints = hintsOf(named, given);
  const told = hints.length === 0 ? text : text.replace(/^# .*\n/, (title) => `${title}\n${hints.join('')}`);
  const { width, colours = false } = screenOf(io.stdout, io.env);
  if (width === undefined) io.stdout.write(told);
  else io.stdout.write(`${draw(markdownLines(told), { width: Math.min(width, MAX_WIDTH), colours })}\n`);
  return EXIT.done;
}

/** Columns: longer lines are hard to read. */
const MAX_WIDTH = 100;

const IN_CONTEXT =
  'If your kubeconfig has the cluster, --context NAME replaces --kubeconfig and --cluster of certmarshal; a cluster that manages\nitself needs no --management-kubeconfig.\n';
const IN_FILE = 'eksctl takes no context: MANAGEMENT is a file whose current context is the management cluster.\n';

function hintsOf(page: string, given: ClusterNames): readonly string[] {
  const examples = examplesIn(page, given);
  const names = repeatNames(given) === '' ? 'NAME=…' : examples.map((name) => `${name}=…`).join(', ');
  const isServerGiven = given.kubeconfig !== undefined || given.context !== undefined;
  return [
    ...(examples.length > 0 ? [`The values in the commands (${names}) are examples: put in your own.\n`] : []),
    ...(!isServerGiven && /certmarshal .*--kubeconfig "\$KUBECONFIG"/.test(page) ? [IN_CONTEXT] : []),
    ...(given.managementContext !== undefined && page.includes('" eksctl ') ? [IN_FILE] : []),
  ];
}

const ROLLOUTS = 'rollouts.md';

/** Blocks and spans: in prose the name of the program is no command. */

/** The README of a folder has the name of the folder. */
function nameOf(file: string): string {
  return file.replace(/\/?README\.md$/, '').replace(/^.*\/|\.md$/g, '') || 'runbooks';
}

/** Sections by heading, each with what it needs of the head of the page. */
function sectionsOf(page: string): ReadonlyMap<string, string> {
  const [head = '', ...sections] = page.split(/^## /m);
  return new Map(
    sections.map((section) => [
      section.slice(0, section.indexOf('\n')),
      `${headFor(section, head)}## ${section.trimEnd()}\n`,
    ]),
  );
}

/** Without the parts that set only what the section does not use. If it uses none of them, all are printed. */
function headFor(section: string, head: string): string {
  const parts = head.split(/^(?=### )/m);
  const isUsed = (part: string) => namesIn(part, parts).some((name) => usesOf(section).has(name));
  const left = parts.filter((part) => namesIn(part, parts).length === 0 || isUsed(part));
  return parts.some(isUsed) ? left.join('') : head;
}

/** The functions and variables that only this part sets. */
function namesIn(part: string, parts: readonly string[]): readonly string[] {
  const others = new Set(parts.filter((other) => other !== part).flatMap(setIn));
  return setIn(part).filter((name) => !others.has(name));
}

function setIn(part: string): readonly string[] {
  return [...part.matchAll(/^(\w+)(?:=|\(\) \{)/gm)].map(([, name = '']) => name);
}

/** Commands and variables. */
function usesOf(section: string): ReadonlySet<string> {
  const blocks = (section.match(/^```sh\n[^]*?^```$/gm) ?? []).join('\n');
  return new Set([...blocks.matchAll(/(?:^|\| )([a-z_]+)|\$\{?([A-Z_]+)/gm)].flatMap(([, ...names]) => names));
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
