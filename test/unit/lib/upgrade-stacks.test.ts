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
/** Why an upgrade that replaces or deletes these all the same loses nothing that people need: logical ids. */
const LOST: Readonly<Record<string, readonly string[]>> = {
  'Orders, outcomes and hints of the last minutes; the next tick makes new ones.': [
    'LanedefaultShards68C60B89',
    'LaneonpremShardsDF44BDD4',
    'OutcomesQueue0A989C3B',
    'OutcomesStarts5BE913DA',
    'HintsWaiting9CE48088',
  ],
  'Plan and report took their place; only the stack names them.': [
    'DispatchDB0A2E2F',
    'OutcomesReport700CAFAA',
    'OutcomesReportRole7F78A6C6',
    'HintsHint4AF5B40D',
    'HintsHintRoleB223A13B',
  ],
  'One role took their place, which only the stack names.': [
    'SchedulerRoleForTarget43c003DFB6666A',
    'SchedulerRoleForTarget46ebde10CEF4B4',
  ],
  'The group itself stays, as long as its lines do.': [
    'DispatchLogsD81576BD',
    'OutcomesReportLogs2DF331F8',
    'HintsHintLogs694F7081',
  ],
  'Only alarms published to it, and only notify read it.': ['TopicsAlarms8451E380'],
  'It has a name now, which policies name.': ['LanedefaultSweepEA59283F', 'LaneonpremSweepDC0A9100'],
};

// As docs/upgrade.md says: the bucket was made with Object Lock.
const everything = EVERYTHING_DEPLOYED.replace('days: 90 }', 'days: 90, atCreation: true }');

it('replaces and deletes nothing that holds something or is named outside of the stacks', () => {
  const lost = Object.entries({ 'fleet.yaml': read('../../../fleet.yaml'), everything }).flatMap(([name, text]) => {
    const parsed = parseFleet(text, name);
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
    const resources = lastingResources(stacksOf(parsed.fleet, parsed.fleet.hub));
    return Object.entries(DEPLOYED[name as keyof typeof DEPLOYED])
      .filter(([id, resource]) => resources[id] !== resource)
      .map(([id, resource]) => [id.replace(/^CertMarshal\//, ''), resource, resources[id] ?? 'deleted']);
  });
  const excused = Object.values(LOST).flat();
  expect(lost.filter(([id = '']) => !excused.includes(id))).toEqual([]);
  expect(excused.filter((id) => !lost.some(([one]) => one === id))).toEqual([]);
});
