import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { withNamesIn } from '../../../bin/commands/runbook.ts';
import type { ClusterNames } from '../../../bin/target.ts';
import { recordCommands } from '../../support/page-shell.ts';

const FOLDER = 'docs/runbooks';
const pages = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.md'));
const textOf = (file: string) => readFileSync(`${FOLDER}/${file}`, 'utf8');

/** What bash would run of all pages. */
function commandsWith(names: ClusterNames) {
  return pages.map((file) => {
    const blocks = [...withNamesIn(textOf(file), names).matchAll(/^```sh\n([^]*?)^```$/gm)];
    return recordCommands(blocks.map(([, text = '']) => ({ heading: file, text })));
  });
}

const CONTEXT = 'arn:aws:eks:eu-central-1:111122223333:cluster/oslo';
/** The value of an option; without it the first word. */
const after = (words: readonly string[], option: string) => words[words.indexOf(option) + 1];
const ownOf = (words: readonly string[]) => words[0] === 'certmarshal' && words.includes('--context');

describe('the commands of a runbook', () => {
  it('stay as they are where nothing is given', () => {
    for (const file of pages) expect(withNamesIn(textOf(file), {})).toBe(textOf(file));
  });

  it.each([
    "it's; touch $(x)",
    'prod;kubectl get x;touch PWNED;#',
    'my certmarshal audit ctx',
    'certmarshal',
    'a/certmarshal',
    '--kubeconfig "$MANAGEMENT"',
    '-x',
    '$KUBECONFIG',
    'a\nb',
    'a\u001B[2Jb',
    '`x`',
    '',
  ])('stay as they are where a name is no plain word: %j', (name) => {
    for (const option of ['kubeconfig', 'context', 'managementKubeconfig', 'managementContext', 'cluster']) {
      const names = { context: 'oslo', [option]: name };
      for (const file of pages) expect(withNamesIn(textOf(file), names)).toBe(textOf(file));
    }
  });

  it('stay as they are for another namespace, which they do not name', () => {
    for (const file of pages)
      expect(withNamesIn(textOf(file), { context: 'oslo', namespace: 'team-a' })).toBe(textOf(file));
  });

  it('name contexts as one word, and no kubeconfig', () => {
    const commands = commandsWith({ context: CONTEXT, managementContext: 'mgmt', cluster: 'oslo' }).flatMap((one) => {
      expect(one.problems.filter((problem) => !problem.includes('command not found'))).toEqual([]);
      return one.commands;
    });
    expect(commands.filter(ownOf).length).toBeGreaterThan(80);
    for (const words of commands.filter(ownOf)) {
      expect(after(words, '--context')).toBe(CONTEXT);
      expect(words).not.toContain('--kubeconfig');
      expect(words).not.toContain('--management-kubeconfig');
      expect(['mgmt', words[0]]).toContain(after(words, '--management-context'));
      expect(['oslo', words[0]]).toContain(after(words, '--cluster'));
    }
    const kubectl = commands.filter(([tool]) => tool === 'kubectl');
    expect(kubectl.length).toBeGreaterThan(150);
    expect(kubectl.filter((words) => ![CONTEXT, 'mgmt'].includes(after(words, '--context') ?? ''))).toEqual([]);
  });

  it('name files by their variables, with their contexts', () => {
    const names = {
      kubeconfig: '/tmp/a+b.yaml',
      context: 'oslo',
      managementKubeconfig: 'm.yaml',
      managementContext: 'mgmt',
    };
    const page = withNamesIn(textOf('source-unread.md'), names);
    expect(page).toMatch(/^export KUBECONFIG=\/tmp\/a\+b\.yaml\n(?:#.*\n)?MANAGEMENT=m\.yaml$/m);
    expect(page).toContain(
      'certmarshal audit --kubeconfig "$KUBECONFIG" --context oslo --management-kubeconfig "$MANAGEMENT" --management-context mgmt\n',
    );
    const replace = withNamesIn(textOf('replace-node.md'), names);
    expect(replace).toContain('kubectl --kubeconfig "$MANAGEMENT" --context mgmt -n eksa-system get ');
    expect(replace).toContain('-n eksa-system --kubeconfig "$MANAGEMENT" --kubeconfig-context mgmt\n');
    expect(replace).toContain('kubectl --context oslo drain "$NODE"');
  });

  it('leave the management cluster an example where only the cluster is given', () => {
    const page = withNamesIn(textOf('san-not-owned.md'), { context: 'oslo' });
    expect(page).toContain('certmarshal explain "$CSR" --context oslo --management-kubeconfig "$MANAGEMENT"\n');
    expect(page).toContain('MANAGEMENT=management.yaml\n');
    expect(page).not.toMatch(/^(?:export )?KUBECONFIG=/m);
  });

  it('that run on a machine keep its own kubeconfig', () => {
    const page = withNamesIn(textOf('recovery.md'), { context: 'oslo' });
    expect(page).toContain('    SERVER=$(kubectl --kubeconfig "$KUBECONFIG" config view --minify ');
    expect(page).toContain('    kubectl config --kubeconfig=bootstrap-kubelet.conf use-context bootstrap\n');
    expect(page).toContain('| kubectl --context oslo apply -f -\n');
  });
});
