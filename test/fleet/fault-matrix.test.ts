import { beforeAll, describe, expect, it } from 'vitest';
import { parseFleet } from '../../lambdas/config/load-fleet.ts';
import { BAD_INPUT, type BadInput } from './hub/bad-input.ts';
import { approvedIn } from './hub/clusters.ts';
import { type HeardWorld, startHeardWorld } from './hub/heard-world.ts';
import { findingsOf } from './hub/hub.ts';
import { HUB, SPOKE } from './hub/places.ts';
import { IDS, type World, type WorldClusterName } from './hub/world.ts';

const NAMES = Object.keys(IDS) as WorldClusterName[];
/** Minutes before anything is wrong. */
const WELL = 4;

type Results = Readonly<Record<string, unknown>>;

function ofEach(names: readonly WorldClusterName[], what: (name: WorldClusterName) => unknown): Results {
  return Object.fromEntries(names.map((name) => [name, what(name)]));
}

/** What is known of a cluster in the end, and everything in it; but for its audit, which tells of certificates that each run makes anew. */
function resultOf({ hub, clusters }: World, name: WorldClusterName): string {
  const { api } = clusters[name].server;
  const { audit: _, ...known } = hub.index()?.clusters[IDS[name]] ?? {};
  const stores = [api.csrs, api.nodes, api.machines, api.clusters].map((store) => store?.all() ?? []);
  return masked(JSON.stringify([known, stores], undefined, 1));
}

/** What the kernel and the random generator choose. Times are not masked: all runs have the same. */
function masked(text: string): string {
  return text
    .replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:port')
    .replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'uid');
}

/** All is well at first; from the first minute with the fault on every cluster has something new to approve. */
async function begin(bad?: BadInput): Promise<HeardWorld> {
  const world = await startHeardWorld(bad?.options?.());
  for (let minute = 0; minute < WELL; minute += 1) await world.minute();
  bad?.spoil(world);
  for (const name of NAMES) {
    world.clusters[name].addNode(2);
    world.clusters[name].ask(2);
  }
  await world.hub.webhook(IDS.zurich);
  return world;
}

describe('bad input', () => {
  /** Without any fault: results by minutes, findings, and what is approved in the end. */
  const expected = new Map<number, Results>();
  let findingsWithout: readonly unknown[];
  let approvedWithout: Results;

  beforeAll(async () => {
    await using world = await begin();
    for (let minute = 1; minute <= 10; minute += 1) {
      await world.minute();
      expected.set(
        minute,
        ofEach(NAMES, (name) => resultOf(world, name)),
      );
    }
    findingsWithout = findingsOf(world.hub.index());
    approvedWithout = ofEach(NAMES, (name) => approvedIn(world.clusters[name]));
  });

  it('is not there when all is well', () => {
    expect(findingsWithout).toEqual([]);
    expect(approvedWithout).toEqual(ofEach(NAMES, () => [expect.any(String), expect.any(String)]));
  });

  it.each(BAD_INPUT)(
    '$name: is found, touches no other cluster, and nothing that is said has a secret',
    async (bad) => {
      const { concerns, findings, minutes = 8, happened = () => true } = bad;
      await using world = await begin(bad);
      for (let minute = 0; minute < minutes; minute += 1) await world.minute();

      expect(happened(world)).toBe(true);
      const found = findingsOf(world.hub.index());
      const shapes = findings.map(({ of, kind, object, remedy }) =>
        expect.objectContaining({
          of,
          kind,
          object: expect.stringContaining(object),
          message: expect.stringMatching(/\S/),
          remedy: expect.stringContaining(remedy),
        }),
      );
      expect(found).toEqual(expect.arrayContaining(shapes));
      expect(found).toHaveLength(shapes.length);
      // What happened is one thing, what to do is another.
      expect(found.filter(({ message, remedy }) => message.includes(remedy))).toEqual([]);

      const others = NAMES.filter((name) => !concerns.includes(name));
      expect(ofEach(others, (name) => resultOf(world, name))).toEqual(
        ofEach(others, (name) => expected.get(minutes)?.[name]),
      );
      // Whatever is wrong: nothing is approved that is not approved when all is well.
      const approved = ofEach(NAMES, (name) => approvedIn(world.clusters[name]));
      expect(approvedWithout).toEqual(ofEach(NAMES, (name) => expect.arrayContaining(approved[name] as string[])));
      world.expectNoSecretSaid();
    },
  );

  it.each([
    ['an account', `discovery:\n  - accounts: ['${SPOKE}', '${SPOKE}']`, 'discovery[0].accounts'],
    ['an account in two entries', `discovery:\n  - accounts: ['${SPOKE}']\n  - accounts: ['${SPOKE}']`, 'discovery[1]'],
    ['a cluster', `clusters:\n${listed('berlin', 'a')}\n${listed('berlin', 'b')}`, 'clusters[1]'],
  ])('%s that fleet.yaml lists twice is refused before it is deployed', (_, text, path) => {
    const parsed = parseFleet(
      `version: 1\n${text}\nhub: { account: '${HUB.account}', region: ${HUB.region} }\n`,
      'fleet.yaml',
    );
    if (parsed.ok) throw new Error('it is taken');
    expect(parsed.problems).toMatchObject([{ message: expect.stringContaining(path) }]);
  });
});

function listed(name: string, secret: string): string {
  const arn = `arn:aws:secretsmanager:eu-central-1:111122223333:secret:${secret}-Ab12Cd`;
  return `  - { name: ${name}, provider: eks-anywhere, kubeconfigSecret: '${arn}' }`;
}
