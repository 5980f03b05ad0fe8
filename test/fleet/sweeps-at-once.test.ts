import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { snapshotKey } from '../../lambdas/audit/snapshots.ts';
import { PATIENCE_MS } from '../patience.ts';
import { runs } from '../runs.ts';
import { decodeSnapshot } from '../unit/audit/stored-snapshot.ts';
import { captureStdout } from '../unit/telemetry/capture-stdout.ts';
import { steppedClock } from './clock.ts';
import { approvedIn, type HubCluster } from './hub/clusters.ts';
import { watchFlights } from './hub/flights.ts';
import { createGate } from './hub/gate.ts';
import { type AroundCall, findingsOf } from './hub/hub.ts';
import { SNAPSHOT_BUCKET } from './hub/places.ts';
import { IDS, MINUTE, START, startWorld, type World } from './hub/world.ts';

const LIST = /certificatesigningrequests\?/;
const APPROVAL = /\/approval$/;

/** Status of every approval that was tried, in the order in which they came. */
function writesIn({ server }: HubCluster): readonly (number | undefined)[] {
  return server.requests.filter(({ method }) => method === 'PUT').map(({ status }) => status);
}

/** Each approval was written once, whoever tried. */
function expectNoDoubleWrite({ clusters }: World): void {
  for (const cluster of Object.values<HubCluster>({ ...clusters })) {
    const written = cluster.server.requests.filter(({ method, status }) => method === 'PUT' && status === 200);
    expect(written.map(({ url }) => url).toSorted()).toEqual([...new Set(written.map(({ url }) => url))].toSorted());
    expect(written).toHaveLength(approvedIn(cluster).length);
    const conditions = cluster.server.api.csrs.all().map(({ status }) => status.conditions?.length ?? 0);
    expect(Math.max(...conditions)).toBeLessThanOrEqual(1);
  }
}

describe('two sweeps of one cluster at once', () => {
  let output: ReturnType<typeof captureStdout>;
  beforeAll(() => {
    output = captureStdout();
  });
  afterAll(() => output.restore());

  // Rollouts: rollouts.test.ts.
  it('approve once, and keep one snapshot', async () => {
    const twice: AroundCall = async (name, call) =>
      name === 'sweep' ? Promise.all([call(), call()]).then(([one]) => one) : call();
    await using world = await startWorld({ audits: true, aroundCall: twice });
    for (let minute = 0; minute < 12; minute += 1) await world.minute();
    const { hub, clusters, aws } = world;
    expect(findingsOf(hub.index())).toEqual([]);
    for (const [name, cluster] of Object.entries<HubCluster>({ ...clusters })) {
      expect(approvedIn(cluster)).toHaveLength(1);
      const id = IDS[name as keyof typeof IDS];
      const bytes = aws.s3.read(SNAPSHOT_BUCKET, snapshotKey(id));
      expect(bytes && (await decodeSnapshot(bytes))).toMatchObject({ cluster: id });
      expect(hub.index()?.clusters[id]?.audit?.snapshotProblem).toBeUndefined();
    }
    expectNoDoubleWrite(world);
  });

  it.each([
    ['it lists', LIST, [200]],
    ['it writes', APPROVAL, [200, 409]],
  ])('write once when one hangs while %s, until its task times out and beyond', async (_, path, statuses) => {
    const clock = steppedClock(START);
    const gate = createGate(clock);
    const flights = watchFlights();
    await using world = await startWorld({ clock, duringSweep: gate.during, around: flights.around });
    const { berlin } = world.clusters;
    // The first minute discovers; the second shows which server is behind it, and writes nothing.
    await world.minute();
    await world.minute();
    berlin.server.inject({ fault: gate.fault, path, times: 1 });
    const hung = world.hub.minute();
    await clock.advance(0);
    await gate.reached;
    // The others end meanwhile, their journals too: the clock does not wait for them any more.
    const underWay = () => [...flights.under].flatMap(([id, count]) => (count > 0 ? [id] : []));
    await vi.waitFor(() => expect(underWay()).toEqual(['berlin']), { timeout: PATIENCE_MS });
    // The task of the Map times out; here nothing ends what hangs.
    await clock.advance(MINUTE);
    expect((await hung).flatMap(({ error = 'ended' }) => error)).toContain('States.Timeout');
    await world.minute();
    expect(approvedIn(berlin)).toHaveLength(1);
    const [approved] = berlin.server.api.csrs.all().filter(({ status }) => status.conditions !== undefined);

    await gate.open();
    await world.minute();
    // What came late was refused, read again, and left as it is.
    expect(writesIn(berlin).toSorted((a = 0, b = 0) => a - b)).toEqual(statuses);
    expect(berlin.server.api.csrs.get(approved?.metadata.name ?? '')).toEqual(approved);
    expect(findingsOf(world.hub.index())).toEqual([]);
    expectNoDoubleWrite(world);
  });

  it('write once for any order of ticks, repetitions, webhooks, new CSRs, crashes and cold starts', async () => {
    const step = fc.constantFrom('tick', 'tick twice', 'webhook', 'ask', 'crash', 'cold start', 'wait');
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
        let crashes = 0;
        const aroundCall: AroundCall = async (name, call) => {
          const answer = await call();
          if (name !== 'sweep' || crashes === 0) return answer;
          crashes -= 1;
          throw new Error('the function ended before it could answer');
        };
        await using world = await startWorld({ aroundCall });
        const { hub, clusters, clock } = world;
        let nodes = 1;
        await world.minute();
        for (const next of steps) {
          if (next === 'tick') await world.minute();
          else if (next === 'tick twice') await Promise.all([hub.minute(), hub.minute()]);
          else if (next === 'webhook') await Promise.all([1, 2].map(async () => hub.webhook(IDS.zurich)));
          else if (next === 'crash') crashes += 1;
          else if (next === 'cold start') hub.restart();
          else if (next === 'ask') {
            nodes += 1;
            for (const cluster of [clusters.zurich, clusters.berlin]) {
              cluster.addNode(nodes);
              cluster.ask(nodes);
            }
          } else await clock.advance(MINUTE / 3);
        }
        crashes = 0;
        for (let minute = 0; minute < 5; minute += 1) await world.minute();
        expect(approvedIn(clusters.berlin)).toHaveLength(nodes);
        expect(findingsOf(hub.index())).toEqual([]);
        expectNoDoubleWrite(world);
      }),
      { seed: 4, numRuns: runs(6) },
    );
  });
});
