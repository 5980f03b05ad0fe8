import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SweepCluster } from '../../lambdas/cluster/minute.ts';
import { swept } from '../unit/fleet/values.ts';
import { captureStdout } from '../unit/telemetry/capture-stdout.ts';
import { startSimulatedAws } from './aws/simulated-aws.ts';
import { steppedClock } from './clock.ts';
import { type AroundCall, aroundEach, findingsOf, type Hub, startHub } from './hub/hub.ts';
import { fleetOf, MINUTE, START } from './hub/world.ts';

const SECRET = 'arn:aws:secretsmanager:eu-central-1:111122223333:secret:certmarshal/berlin-Ab12Cd';
const namesOf = (count: number, prefix = 'cluster'): readonly string[] =>
  Array.from({ length: count }, (_, n) => `${prefix}-${n}`);

interface Options {
  readonly clusters: readonly string[];
  /** Whether Lambda ends the process of this sweep, before it has written an outcome. */
  readonly kills?: (ids: readonly string[]) => boolean;
  /** Milliseconds that the sweep of a cluster takes, and whether it reads the cluster. @default none, and it does */
  readonly takes?: (id: string) => number | undefined;
}

/** A hub of clusters that are not there: what counts is which of them are swept together. */
async function startShards({ clusters, kills = () => false, takes = () => undefined }: Options) {
  const clock = steppedClock(START);
  const aws = await startSimulatedAws({ clock });
  const fleet = fleetOf(
    `version: 1\nclusters:\n${clusters
      .map((name) => `  - { name: ${name}, provider: eks-anywhere, kubeconfigSecret: '${SECRET}' }`)
      .join('\n')}`,
  );
  const lastSwept = new Map(clusters.map((id) => [id, START]));
  const sweepOne: SweepCluster = async ({ target: { id }, deadlineMs }) => {
    const startedAt = new Date(clock.now()).toISOString();
    const ms = Math.min(takes(id) ?? 0, deadlineMs);
    if (ms > 0) await clock.sleep(ms);
    lastSwept.set(id, clock.now());
    const readable = ms === 0;
    const server = `${id}.example.com:6443`;
    const outcome = swept({ id, name: id, startedAt, durationMs: ms, readable, complete: readable, server });
    return { outcome, failures: [], journaled: [] };
  };
  const aroundCall: AroundCall = async (name, call, item) => {
    if (name === 'sweep' && item !== undefined && kills(hub.clustersOf(item)))
      throw Object.assign(new Error('Runtime exited with error: signal: killed'), { name: 'Lambda.Unknown' });
    return call();
  };
  const hub: Hub = startHub({
    aws,
    clock,
    fleet,
    audits: false,
    aroundCall,
    around: () => sweepOne,
    // Sweeps take the time of the clock, and the disk none.
    duringSweep: async (work) => work,
    aroundState: (state) => aroundEach(state, async (call) => clock.during(call())),
  });
  let finished = 0;
  const running: Promise<unknown>[] = [];
  return {
    hub,
    clock,
    /** Minutes of which report has run. */
    reports: () => finished,
    /** For each cluster, how long it was not swept at most. Milliseconds. */
    async gaps(minutes: number): Promise<ReadonlyMap<string, number>> {
      const longest = new Map(clusters.map((id) => [id, 0]));
      for (let minute = 0; minute < minutes; minute += 1) {
        running.push(hub.minute().finally(() => (finished += 1)));
        await clock.advance(MINUTE);
        for (const [id, at] of lastSwept) longest.set(id, Math.max(longest.get(id) ?? 0, clock.now() - at));
      }
      return longest;
    },
    async [Symbol.asyncDispose]() {
      await clock.advance(MINUTE);
      await Promise.all(running);
      await hub[Symbol.asyncDispose]();
      await aws[Symbol.asyncDispose]();
    },
  };
}

const longestOf = (gaps: ReadonlyMap<string, number>, but: string): number =>
  Math.max(...[...gaps].filter(([id]) => id !== but).map(([, ms]) => ms)) / MINUTE;
const hubFindings = (hub: Hub): readonly string[] =>
  findingsOf(hub.index()).flatMap(({ of, kind, object }) => (of === 'hub' ? [`${kind} ${object}`] : []));

describe('a sweep whose process Lambda ends', () => {
  let output: ReturnType<typeof captureStdout>;
  beforeAll(() => {
    output = captureStdout();
  });
  afterAll(() => output.restore());

  it('every fifth minute costs 63 neighbours of its cause at most six minutes, then none for an hour', async () => {
    const clusters = [...namesOf(63), 'killer'];
    let minute = 0;
    await using world = await startShards({
      clusters,
      kills: (ids) => minute >= 3 && minute % 5 === 0 && ids.includes('killer'),
    });
    let lost = 0;
    let last = 0;
    for (; minute < 95; minute += 1) {
      const gap = longestOf(await world.gaps(1), 'killer');
      if (gap <= 1) continue;
      lost += 1;
      last = minute;
    }
    expect(lost).toBeGreaterThan(0);
    // Half of the shard each time: 64, 32, 16, 8, 4, 2.
    expect(lost).toBeLessThanOrEqual(6);
    expect(last).toBeLessThanOrEqual(5 * 6);
    const { apart = {}, problems = [] } = world.hub.index() ?? {};
    expect(apart['killer']?.part).toBeDefined();
    expect(Object.entries(apart).filter(([, { part }]) => part === apart['killer']?.part)).toHaveLength(1);
    expect(problems.map(({ kind }) => kind)).not.toContain('lane-silent');
  });

  it('in every shard of a lane, as after a bad deploy, halves nothing and names the lane once', async () => {
    let isBroken = false;
    await using world = await startShards({ clusters: namesOf(64 * 4), kills: () => isBroken });
    await world.gaps(3);
    isBroken = true;
    expect(longestOf(await world.gaps(10), '')).toBeGreaterThanOrEqual(10);
    expect(hubFindings(world.hub)).toEqual(['lane-silent lane default']);
    expect(world.hub.index()?.apart).toEqual({});
    isBroken = false;
    await world.gaps(1);
    expect(longestOf(await world.gaps(2), '')).toBe(1);
    expect(hubFindings(world.hub)).toEqual([]);
  });
});

describe('500 clusters that do not answer', () => {
  let output: ReturnType<typeof captureStdout>;
  beforeAll(() => {
    output = captureStdout();
  });
  afterAll(() => output.restore());

  it('keep no other from its minute, and report runs each time', async () => {
    const good = namesOf(60, 'good');
    await using world = await startShards({
      clusters: [...good, ...namesOf(500, 'silent')],
      takes: (id) => (id.startsWith('silent') ? 45_000 : undefined),
    });
    // Found, then tried for the full time, beside the good ones.
    await world.gaps(3);
    const gaps = await world.gaps(20);
    expect(Math.max(...good.map((id) => gaps.get(id) ?? Infinity))).toBeLessThanOrEqual(MINUTE);
    expect(Math.max(...gaps.values())).toBeLessThan(2 * MINUTE);
    expect(world.reports()).toBe(23);
    expect(hubFindings(world.hub)).toEqual([]);
  });
});
