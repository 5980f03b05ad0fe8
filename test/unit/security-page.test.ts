import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Template } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { parseFleet } from '../../lambdas/config/load-fleet.ts';
import { DEFAULT_ROLLOUT_POLICY } from '../../lambdas/rollout/policy.ts';
import { stacksOf } from './lib/stacks.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const page = readFileSync(`${ROOT}/docs/security.md`, 'utf8');
const section = (title: string) => {
  const start = page.indexOf(`## ${title}`);
  const end = page.indexOf('\n## ', start + 1);
  return page.slice(start, end === -1 ? undefined : end);
};
const EXAMPLES = readdirSync(`${ROOT}/examples`).map((name) => `examples/${name}`);

/** Every action that identity policies of a template allow. */
function actionsIn(template: Template): readonly string[] {
  const documents = ['AWS::IAM::Policy', 'AWS::IAM::ManagedPolicy', 'AWS::IAM::Role'].flatMap((type) =>
    Object.values(template.findResources(type)).flatMap(({ Properties }) => [
      Properties.PolicyDocument,
      ...(Properties.Policies ?? []).map(({ PolicyDocument }: { PolicyDocument: object }) => PolicyDocument),
    ]),
  );
  return documents
    .filter((document) => document !== undefined)
    .flatMap(({ Statement }) => Statement)
    .filter(({ Effect }) => Effect === 'Allow')
    .flatMap(({ Action }) => Action);
}

describe('docs/security.md', () => {
  it.each(['fleet.yaml', ...EXAMPLES])('has every action that the stacks of %s allow', (file) => {
    const parsed = parseFleet(readFileSync(`${ROOT}/${file}`, 'utf8'), file);
    if (!parsed.ok) throw new Error(`${file} has problems`);
    const { fleet } = parsed;
    const clusters = [...fleet.rollouts.clusters, { ...DEFAULT_ROLLOUT_POLICY, clusters: ['*'], nodeGroups: true }];
    const most = { hub: { ...fleet.hub, hints: true, webhook: true }, rollouts: { ...fleet.rollouts, clusters } };
    const { hub, spokes } = stacksOf({ ...fleet, ...most });
    const actions = new Set([hub, ...spokes].flatMap((stack) => actionsIn(Template.fromStack(stack))));
    expect(actions.size).toBeGreaterThan(10);
    const documented = section('Permissions in AWS');
    expect([...actions].filter((action) => !documented.includes(`\`${action}\``))).toEqual([]);
  });

  it.each([
    ['threat', 'Threats', 15],
    ['actor', 'Who can do what', 6],
  ])('names for every %s a test that exists', (kind, title, atLeast) => {
    const rows = section(title)
      .split('\n')
      .filter((line) => line.startsWith('| ') && !line.startsWith(`| ${kind}`));
    expect(rows.length).toBeGreaterThanOrEqual(atLeast);
    for (const row of rows) {
      const paths = [...row.matchAll(/`(?<path>test\/[^`]+)`/g)].map(({ groups }) => groups?.['path'] ?? '');
      expect({ row, tests: paths.length > 0 }).toEqual({ row, tests: true });
      for (const path of paths) expect({ path, exists: existsSync(`${ROOT}/${path}`) }).toEqual({ path, exists: true });
    }
  });
});
