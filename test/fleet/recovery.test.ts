import { expect, it } from 'vitest';
import { DAY_MS } from '../../lambdas/time.ts';
import { journalLines } from '../support/journal-lines.ts';
import { captureStdout } from '../unit/telemetry/capture-stdout.ts';
import { startStory } from './alarms/story.ts';
import { lastsLong } from './alarms/story-clusters.ts';
import { startSimulatedAws } from './aws/simulated-aws.ts';
import { steppedClock } from './clock.ts';
import { UNPLUGGED } from './faults.ts';
import { startAsleepCluster } from './hub/asleep.ts';
import { approvedIn } from './hub/clusters.ts';
import { findingsOf, startHub } from './hub/hub.ts';
import { JOURNAL_BUCKET } from './hub/places.ts';
import { fleetOf, MINUTE, START } from './hub/world.ts';

const CLUSTER = 'berlin';
const HOUR = 60 * MINUTE;

/** @param entry of `recovery`, besides cluster and end */
function fileOf(secret: string, entry: string, untilMs: number): string {
  const until = new Date(START + untilMs).toISOString();
  const recovery = entry === '' ? '' : `recovery: [{ cluster: ${CLUSTER}, until: '${until}', ${entry} }]`;
  return `
version: 1
clusters:
  - { name: ${CLUSTER}, provider: eks-anywhere, kubeconfigSecret: '${secret}' }
${recovery}`;
}

interface Options {
  /** Of `recovery` in fleet.yaml, besides cluster and end. @default none */
  readonly entry?: string;
  /** When the entry ends, after {@link START}. Milliseconds. */
  readonly untilMs?: number;
  readonly certificateNotAfter?: Date;
}

/** A hub with one cluster that slept. */
async function startAsleep({ entry = '', untilMs = 20 * MINUTE, certificateNotAfter }: Options = {}) {
  const output = captureStdout();
  const parts = new AsyncDisposableStack();
  parts.defer(() => output.restore());
  const clock = steppedClock(START);
  const aws = parts.use(await startSimulatedAws({ clock }));
  const certificate = certificateNotAfter && {
    certificateNotAfter,
    certificateNotBefore: new Date(certificateNotAfter.getTime() - DAY_MS),
  };
  const cluster = await startAsleepCluster({ aws, clock }, CLUSTER, certificate);
  const { server, secret, awake } = cluster;
  parts.defer(async () => server.stop());
  const hub = parts.use(startHub({ aws, clock, fleet: fleetOf(fileOf(secret, entry, untilMs)), audits: false }));
  return {
    clock,
    /** Ticks, and all that comes of them. */
    async minutes(count: number) {
      for (let minute = 0; minute < count; minute += 1) {
        awake();
        await hub.minute();
        await clock.advance(MINUTE);
      }
    },
    ask: (node: string, name: string) => cluster.ask(node, name),
    approved: () => approvedIn({ server }),
    kinds: () => [...new Set(findingsOf(hub.index()).map(({ of, kind }) => `${of} ${kind}`))].toSorted(),
    counts: () => hub.index()?.clusters[CLUSTER]?.verdicts?.map(({ csr, node, reason }) => `${csr} ${node} ${reason}`),
    /** Lines of the journal, each once. */
    journal(): readonly string[] {
      const lines = journalLines(aws, JOURNAL_BUCKET).flatMap((line) =>
        line.kind === 'decision' ? [`${line.csr} ${line.reason} ${line.outcome} ${line.policy}`] : [],
      );
      return [...new Set(lines)].toSorted();
    },
    [Symbol.asyncDispose]: async () => parts.disposeAsync(),
  };
}

it('approves, by an entry of fleet.yaml, exactly the named control plane node that slept, twice, until its end', async () => {
  await using world = await startAsleep({ entry: 'nodes: [cp-1, cp-3, worker]' });
  // The first minute discovers.
  await world.minutes(1);
  world.ask('cp-1', 'first');
  world.ask('cp-2', 'not-named');
  world.ask('cp-3', 'awake');
  world.ask('worker', 'worker');
  world.ask('nobody', 'unknown');
  // Nothing is written to a cluster before a sweep has shown its server.
  await world.minutes(1);
  expect(world.approved()).toEqual([]);
  expect(world.kinds()).toContain('berlin recovery-nodes');
  await world.minutes(3);
  expect(world.approved()).toEqual(['first']);
  expect(world.kinds()).toEqual(['berlin recovery-nodes']);

  // No more than two of a node, however many sweeps there are.
  for (const name of ['second', 'third']) {
    world.ask('cp-1', name);
    await world.minutes(2);
  }
  expect(world.approved()).toEqual(['first', 'second']);
  expect(world.journal()).toEqual([
    'awake StillValid none recovery',
    'first Recovered written recovery',
    'not-named NodeNotNamed none recovery',
    'second Recovered written recovery',
    'third ApprovalsSpent none recovery',
    'unknown NodeNotNamed none recovery',
    'worker NotControlPlane none recovery',
  ]);
  expect(world.counts()).toContain('not-named cp-2 NodeNotNamed');

  await world.clock.advance(20 * MINUTE);
  world.ask('cp-3', 'late');
  await world.minutes(3);
  expect(world.approved()).toEqual(['first', 'second']);
  expect(world.kinds()).toEqual([]);
});

it('approves nothing before the last day of an entry', async () => {
  await using world = await startAsleep({ entry: 'nodes: [cp-1]', untilMs: DAY_MS + 5 * MINUTE });
  world.ask('cp-1', 'first');
  await world.minutes(4);
  expect([world.approved(), world.kinds()]).toEqual([[], []]);
  await world.minutes(4);
  expect(world.approved()).toEqual(['first']);
});

it('enters a cluster whose API server has a certificate that ended only where fleet.yaml pins it, and loudly', async () => {
  const certificateNotAfter = new Date(Date.now() - HOUR);
  await using shut = await startAsleep({ certificateNotAfter, entry: 'nodes: [cp-1]' });
  shut.ask('cp-1', 'first');
  await shut.minutes(3);
  expect(shut.kinds()).toEqual(['berlin certificate-expired', 'berlin held', 'berlin recovery-nodes']);
  expect(shut.approved()).toEqual([]);

  await using world = await startAsleep({ certificateNotAfter, entry: 'pin: authority, nodes: [cp-1]' });
  world.ask('cp-1', 'first');
  await world.minutes(4);
  expect(world.approved()).toEqual(['first']);
  expect(world.kinds()).toEqual(['berlin recovery-connection', 'berlin recovery-nodes']);

  await world.clock.advance(20 * MINUTE);
  world.ask('cp-1', 'late');
  await world.minutes(3);
  expect(world.approved()).toEqual(['first']);
  expect(world.kinds()).toContain('berlin certificate-expired');
  expect(world.kinds().join()).not.toContain('recovery');
});

it('approves nothing where an entry pins a certificate, and names no node', async () => {
  await using world = await startAsleep({ entry: 'pin: authority' });
  world.ask('cp-1', 'first');
  await world.minutes(4);
  expect([world.approved(), world.kinds()]).toEqual([[], []]);
});

it('rings RecoveryModeOpen as long as nodes are named, also while the cluster cannot be reached', async () => {
  await using story = await startStory({
    clusters: async (ground) => ({ berlin: await startAsleepCluster(ground, CLUSTER, lastsLong()) }),
    fleetFile: ({ berlin }) => fileOf(berlin.secret, 'nodes: [cp-1]', DAY_MS + 15 * MINUTE),
    audits: false,
  });
  const isRinging = () => story.ringing().includes('recovery-mode-open');
  story.begin();
  await story.until(isRinging, 15);
  expect(story.told()).toEqual([
    expect.stringContaining('client certificates of 1 node of its control plane are approved'),
  ]);
  const plugIn = story.clusters.berlin.server.inject(UNPLUGGED);
  await story.minutes(30);
  expect(isRinging()).toBe(true);
  plugIn();
  await story.clock.advance(DAY_MS);
  await story.until(() => !isRinging(), 40);
});
