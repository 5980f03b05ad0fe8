import { gunzipSync } from 'node:zlib';
import { S3Client } from '@aws-sdk/client-s3';
import { describe, expect, it, vi } from 'vitest';
import { snapshotKey } from '../../lambdas/audit/s3-snapshots.ts';
import { decodeSnapshot } from '../../lambdas/audit/snapshot-file.ts';
import { type FleetIndex, parseFleetIndex } from '../../lambdas/contracts/fleet-index.ts';
import { STATE_KEYS } from '../../lambdas/fleet/state-keys.ts';
import { s3JournalStore } from '../../lambdas/journal/journal-store.ts';
import { verifyJournal } from '../../lambdas/journal/verify.ts';
import type { FateCounts } from '../../lambdas/slo/fates.ts';
import { fatesBetween } from '../../lambdas/slo/ledger.ts';
import { DAY_MS } from '../../lambdas/time.ts';
import { startStory, THIS_VERSION, type Version } from '../fleet/alarms/story.ts';
import { twoClusters, twoClustersFile, ZURICH } from '../fleet/alarms/story-clusters.ts';
import { awsClientConfig } from '../fleet/aws/aws-environment.ts';
import { UNPLUGGED } from '../fleet/faults.ts';
import { HOSTILE_CLAIMS } from '../fleet/hostile.ts';
import { approvedIn } from '../fleet/hub/clusters.ts';
import type { HubOptions } from '../fleet/hub/hub.ts';
import { BUCKET, HUB, JOURNAL_BUCKET, SNAPSHOT_BUCKET } from '../fleet/hub/places.ts';
import { MINUTE, START } from '../fleet/hub/world.ts';
import { askFor, type SimulatedNode } from '../fleet/kubelet.ts';
import { startSigner } from '../fleet/signer.ts';
import { DAYS, rememberMonth, startBusyFleet, VENICE } from './upgrade/busy-fleet.ts';
import { loadPrevious, loadRecovering, PREVIOUS, withoutPrevious } from './upgrade/previous-version.ts';

// As in the simulated fleet: nobody waits between tries.
vi.mock('node:timers/promises', async (original) => ({
  ...(await original<object>()),
  setTimeout: async () => undefined,
}));

const missing = await withoutPrevious('the upgrade of a simulated fleet');
const nodeOf = (index: number): SimulatedNode => ({
  name: `rome-${index}`,
  dnsNames: [`rome-${index}`],
  ipAddresses: [`10.1.0.${index}`],
});
const signal = new AbortController().signal;

type AnyStory = Pick<Awaited<ReturnType<typeof startStory>>, 'aws' | 'broken' | 'clock' | 'deploy' | 'hub' | 'minutes'>;

/** The index as S3 has it, read by this version. */
function storedIn({ aws, clock }: AnyStory): FleetIndex | undefined {
  const index = gunzipSync(aws.s3.read(BUCKET, STATE_KEYS.index) ?? Buffer.alloc(0)).toString();
  return parseFleetIndex(JSON.parse(index), clock.now());
}

function fatesOf(story: AnyStory, from: number, until: number): FateCounts {
  const ledger = storedIn(story)?.clusters[ZURICH]?.slo;
  return fatesBetween(ledger === undefined ? [] : [ledger], from, until);
}

/** Those of before the story. */
function monthOf(story: AnyStory): FateCounts {
  return fatesOf(story, START - (DAYS + 1) * DAY_MS, START - DAY_MS / 2);
}

/** A deployment in the middle of a minute: orders and outcomes of the one version meet functions of the other, and for two minutes nothing is swept. */
async function replace(story: AnyStory, version: Version, step?: HubOptions['stepRollout']): Promise<void> {
  const { hub, clock } = story;
  await hub.dispatch();
  await clock.advance(10_000);
  expect(hub.queues.outcomes.depth().messages).toBeGreaterThan(0);
  await story.deploy(version, step && { stepRollout: step });
  await hub.dispatch();
  await clock.advance(MINUTE - 10_000);
  story.broken.add('scheduler');
  await story.minutes(2);
  story.broken.delete('scheduler');
}

describe.skipIf(missing)('a fleet that is upgraded, rolled back, and upgraded again', () => {
  it('in the middle of everything loses nothing and tells nothing twice', async () => {
    const previous = await loadRecovering();
    const { story, rolling, steps, storm, plugIn } = await startBusyFleet(previous);
    await using _ = story;
    const { aws, clock, clusters } = story;
    const { zurich, cairo, rome } = clusters;
    const stored = () => storedIn(story)?.clusters;
    const lasting = () => ({
      month: monthOf(story),
      unreadable: stored()?.['berlin']?.findings,
      rollout: stored()?.[VENICE]?.rollout?.rollout,
    });
    const replaced = () => stored()?.[VENICE]?.rollout?.progress?.replaced;
    const deploy = async (name: keyof typeof steps) =>
      replace(story, name === 'this' ? THIS_VERSION : previous, steps[name]);

    const before = lasting();
    expect(before).toMatchObject({ month: { us: 87_000, missed: 29 }, unreadable: [{ kind: 'unreachable' }] });
    expect([approvedIn(cairo), approvedIn(zurich).length]).toEqual([['first'], 20]);
    const opened = ['opened ClusterUnreadable: berlin', 'opened RecoveryModeOpen: cairo'];
    expect(story.events()).toEqual(opened);

    await deploy('this');
    expect(story.output()).toMatch(/message dropped.*version is not 3/);
    rolling.replaceOne(clock.now());
    await story.minutes(4);
    cairo.ask('cp-1', 'second');
    rome.addNode(1);
    rome.addNode(2);
    askFor(rome.server.api, 'rome-2', HOSTILE_CLAIMS.neighbourName(nodeOf(2), nodeOf(1)));
    await story.minutes(4);
    expect(lasting()).toEqual(before);
    expect([approvedIn(cairo), approvedIn(zurich).length]).toEqual([['first', 'second'], 40]);
    opened.push('opened ImpersonationAttempt: rome');
    expect(story.events()).toEqual(opened);
    expect(replaced()).toBe(1);

    await deploy('previous');
    expect(story.output()).toMatch(/message dropped.*target is not an object/);
    rolling.replaceOne(clock.now());
    cairo.ask('cp-1', 'third');
    storm(41, 60);
    await story.minutes(8);
    expect(lasting()).toEqual(before);
    // Two are all that the window allows.
    expect([approvedIn(cairo), approvedIn(zurich).length]).toEqual([['first', 'second'], 60]);
    expect(story.events()).toEqual(opened);
    expect(replaced()).toBe(2);
    expect(story.output()).toMatch(/message dropped.*kind is not one of sweep, dispatch/);
    const { csrs } = rome.server.api;
    for (const { metadata } of csrs.all()) csrs.remove(metadata.name);
    plugIn();
    await story.until(() => story.events().includes('closed ClusterUnreadable: berlin'), 30);

    await deploy('this');
    rolling.replaceOne(clock.now());
    await story.until(() => story.isOver() && stored()?.[VENICE]?.rollout?.state === 'done', 60);
    expect(lasting().month).toEqual(before.month);
    expect(fatesOf(story, START, clock.now())).toEqual({ us: 60, others: 0, missed: 0, refused: 0, unprovable: 1 });
    expect(story.events().toSorted()).toEqual(
      [...opened, ...opened.map((event) => event.replace('opened', 'closed'))].toSorted(),
    );
    expect(rolling.patches('venice')).toBe(1);
    expect(zurich.server.requests.filter(({ method }) => method === 'PUT')).toHaveLength(60);
    expect(aws.calls.filter(({ action }) => action.startsWith('DeleteObject'))).toEqual([]);
    const store = s3JournalStore({ client: new S3Client(awsClientConfig(aws, HUB)), bucket: JOURNAL_BUCKET });
    const { chains, strayCount } = await verifyJournal(store, {}, signal);
    expect(chains.map(({ cluster, problemCount }) => [cluster, problemCount])).toEqual(
      [ZURICH, 'cairo', 'rome', VENICE].map((cluster) => [cluster, 0]),
    );
    expect(strayCount).toBe(0);
  });

  it('from keys without a number finds its own objects again each time', async () => {
    const previous = await loadPrevious(PREVIOUS.keys);
    await using story = await startStory({
      version: previous,
      clusters: async (ground) => {
        await rememberMonth(previous, ground);
        return twoClusters(ground);
      },
      fleetFile: twoClustersFile,
    });
    const { aws, clock, clusters } = story;
    const { berlin, zurich } = clusters;
    const signer = await startSigner({ api: zurich.server.api });
    const plugIn = berlin.server.inject(UNPLUGGED);
    await story.until(() => story.events().length > 0, 15);
    const asksAndIsAudited = async (index: number) => {
      zurich.addNode(index);
      zurich.ask(index);
      // Its turn comes every five.
      await story.minutes(8);
    };
    /** What the version before has of the clusters. */
    const old = () => JSON.parse(String(aws.s3.read(BUCKET, previous.STATE_KEYS.index))).clusters;
    const snapshot = async () => decodeSnapshot(aws.s3.read(SNAPSHOT_BUCKET, snapshotKey(ZURICH)) ?? Buffer.alloc(0));
    await asksAndIsAudited(1);
    const before = old();
    const { observations = [] } = (await snapshot()) ?? {};
    expect(observations.length).toBeGreaterThan(0);

    await replace(story, THIS_VERSION);
    const left = old();
    await asksAndIsAudited(2);
    expect(storedIn(story)?.clusters['berlin']?.findings).toEqual(before.berlin.findings);
    expect(monthOf(story)).toMatchObject({ us: 87_000, missed: 29 });
    // It left those as they were.
    expect(old()).toEqual(left);

    await replace(story, previous);
    await asksAndIsAudited(3);
    expect(old().berlin.findings).toEqual(before.berlin.findings);
    expect(old()[ZURICH].audit.auditedAt > left[ZURICH].audit.auditedAt).toBe(true);
    expect((await snapshot())?.observations.length).toBeGreaterThanOrEqual(observations.length);
    plugIn();

    await replace(story, THIS_VERSION);
    await story.until(() => story.isOver(), 40);
    expect(story.events()).toEqual(['opened ClusterUnreadable: berlin', 'closed ClusterUnreadable: berlin']);
    expect(approvedIn(zurich)).toHaveLength(3);
    expect(monthOf(story)).toMatchObject({ us: 87_000, missed: 29 });
    expect(fatesOf(story, START, clock.now())).toMatchObject({ us: 3, missed: 0 });
    expect(storedIn(story)?.clusters[ZURICH]?.audit?.snapshotProblem).toBeUndefined();
    await signer.stop();
  });
});
