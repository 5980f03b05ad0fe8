import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parseFleet } from '../../../lambdas/config/load-fleet.ts';
import { EVERYTHING_DEPLOYED, lastingResources } from './lasting-resources.ts';
import { stacksOf } from './stacks.ts';

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8');
/** Of dc0bc06a, by write-deployed-resources.ts. */
const DEPLOYED: Readonly<Record<'fleet.yaml' | 'everything', Readonly<Record<string, string>>>> = JSON.parse(
  read('deployed-resources.json'),
);
/** What an upgrade replaces or deletes all the same: `FLEET: STACK/LOGICAL-ID`, and why that loses nothing that people need. */
const LOST: Readonly<Record<string, string>> = {};

// As docs/upgrade.md says: the bucket was made with Object Lock.
const everything = EVERYTHING_DEPLOYED.replace('days: 90 }', 'days: 90, atCreation: true }');

it('replaces and deletes nothing that holds something or is named outside of the stacks', () => {
  const lost = Object.entries({ 'fleet.yaml': read('../../../fleet.yaml'), everything }).flatMap(([name, text]) => {
    const parsed = parseFleet(text, name);
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
    const resources = lastingResources(stacksOf(parsed.fleet, parsed.fleet.hub));
    return Object.entries(DEPLOYED[name as keyof typeof DEPLOYED])
      .filter(([id, resource]) => resources[id] !== resource)
      .map(([id, resource]) => [`${name}: ${id}`, resource, resources[id] ?? 'deleted']);
  });
  expect(lost.filter(([id = '']) => !(id in LOST))).toEqual([]);
  expect(Object.keys(LOST).filter((id) => !lost.some(([one]) => one === id))).toEqual([]);
});
