import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { runbookName } from '../../lambdas/command.ts';
import { didYouMean } from '../../lambdas/did-you-mean.ts';
import { EXIT_HELP, type Register, withNames } from '../command.ts';
import { EXIT, UsageError } from '../exit-codes.ts';
import { type Io, PROCESS } from '../io.ts';
import { arePlain, type ClusterNames } from '../target.ts';

/** Two folders up in a clone, one in an installed package. */
const FOLDERS = ['../../docs/runbooks', '../docs/runbooks'].map((path) => join(import.meta.dirname, path));

export const register: Register = (command, { program: name, run }) => {
  const own = command.argument('[name]', 'name from a message, a finding or a check; default: lists all');
  withNames(own.optionsGroup('Which cluster its commands name; nothing is read:'))
    .addHelpText('after', `\nExample:\n  ${name} runbook certificate-expired --context berlin\n${EXIT_HELP}`)
    .action(run((page: string | undefined, names: ClusterNames) => runbookCommand(page, names, PROCESS)));
};

/** Prints a page, or a section of `rollouts.md` after the head of that page. @returns the exit status */
export function runbookCommand(page: string | undefined, names: ClusterNames, { stdout, stderr }: Io): number {
  const folder = FOLDERS.find((path) => existsSync(path));
  if (folder === undefined) throw new UsageError('docs/runbooks is missing. Install certmarshal again.');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).toSorted();
  const texts = new Map<string, string>();
  for (const file of files.filter((path) => /(?<!README)\.md$/.test(path))) {
    const [name, text] = [basename(file, '.md'), readFileSync(join(folder, file), 'utf8')];
    texts.set(name, [texts.get(name) ?? [], text].flat().join('\n'));
  }
  if (page === undefined) {
    for (const [name, text] of texts) stdout.write(`${name}: ${/^# (?:\w+: )?(.*)/.exec(text)?.[1]}\n`);
    return EXIT.done;
  }
  const [head = '', ...sections] = (texts.get('rollouts') ?? '').split(/^## /m);
  for (const section of sections) texts.set(section.split('\n', 1)[0] ?? '', `${head}## ${section.trimEnd()}\n`);
  const text = texts.get(runbookName(page));
  if (text === undefined) {
    const meant = didYouMean(runbookName(page), [...texts.keys()]);
    const hint = meant === undefined ? 'certmarshal runbook lists all.' : `Did you mean ${meant}?`;
    throw new UsageError(`There is no runbook ${JSON.stringify(page.slice(0, 100))}. ${hint}`);
  }
  if (!arePlain(names))
    stderr.write('The commands keep their examples: a name has characters that a shell interprets.\n');
  stdout.write(withNamesIn(text, names));
  return EXIT.done;
}

/** `kubectl` with a kubeconfig of its own runs on a node. */
const KUBECTL = /(?<=^ *|[`|;&({] ?|xargs )kubectl(?= [^\s`]+ [^\s`])(?! (?:config )?--kubeconfig)/gm;
const CLUSTER = /(?<=certmarshal .*) --cluster "\$CLUSTER"/g;

/** Where a page has an example for an option, and what stands there for NAME. */
const EXAMPLES: readonly (readonly [option: keyof ClusterNames, example: RegExp, by: string])[] = [
  ['kubeconfig', /^((?:export )?KUBECONFIG=)\S+$/gm, '$1NAME'],
  ['context', /(?<=certmarshal .* --kubeconfig "\$KUBECONFIG")/g, ' --context NAME'],
  ['context', KUBECTL, '$& --context NAME'],
  ['managementKubeconfig', /^(MANAGEMENT=)\S+$/gm, '$1NAME'],
  ['managementContext', /(?<=certmarshal .* --management-kubeconfig "\$MANAGEMENT")/g, ' --management-context NAME'],
  ['managementContext', /(?<=kubectl --kubeconfig "\$MANAGEMENT")/g, ' --context NAME'],
  ['managementContext', /(?<=clusterctl .* --kubeconfig "\$MANAGEMENT")/g, ' --kubeconfig-context NAME'],
  ['cluster', /^(CLUSTER=)\S+$/gm, '$1NAME'],
];
/** Examples that are left out where the first option is not given and the second is. */
const UNUSED: readonly (readonly [missing: keyof ClusterNames, given: keyof ClusterNames, example: RegExp])[] = [
  ['kubeconfig', 'context', /(?<=certmarshal .*) --kubeconfig "\$KUBECONFIG"|^(?:export )?KUBECONFIG=\S+\n/gm],
  ['managementKubeconfig', 'managementContext', / --(?:management-)?kubeconfig "\$MANAGEMENT"/g],
  ['cluster', 'context', CLUSTER],
  ['cluster', 'kubeconfig', CLUSTER],
];

/** The page with the names in its commands. Only plain words are put in: others could be commands of their own. */
export function withNamesIn(page: string, names: ClusterNames): string {
  if (!arePlain(names)) return page;
  let text = page;
  for (const [option, example, by] of EXAMPLES)
    if (names[option] !== undefined) text = text.replaceAll(example, by.replace('NAME', names[option]));
  for (const [missing, given, example] of UNUSED)
    if (names[missing] === undefined && names[given] !== undefined) text = text.replaceAll(example, '');
  return text;
}
