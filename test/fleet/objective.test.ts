import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { METRIC } from '../../lambdas/telemetry/metric-names.ts';
import { captureStdout } from '../unit/telemetry/capture-stdout.ts';
import { type Story, startStory } from './alarms/story.ts';
import { type TwoClusters, twoClusters, twoClustersFile } from './alarms/story-clusters.ts';
import type { HubOptions } from './hub/hub.ts';
import { startSigner } from './signer.ts';

let output: ReturnType<typeof captureStdout>;
beforeAll(() => {
  output = captureStdout();
});
afterAll(() => output.restore());

const start = async (options: Pick<HubOptions, 'aroundState'> = {}): Promise<Story<TwoClusters>> =>
  startStory({ ...options, clusters: twoClusters, fleetFile: twoClustersFile });

/** As CloudWatch adds up what was published. */
function sumsOf({ store, clock }: Story<TwoClusters>) {
  const sumOf = (name: string) =>
    (store.find('certmarshal', name, { service: 'report' })?.between(0, clock.now()) ?? []).reduce((a, b) => a + b, 0);
  return {
    issued: sumOf(METRIC.csrsIssued),
    late: sumOf(METRIC.csrsLate),
    notProvable: sumOf(METRIC.csrsNotProvable),
    notCounted: sumOf(METRIC.clustersNotCounted),
  };
}

/** An hour in which nodes ask all the time: some have no Machine, and for twenty minutes the signer is away. */
async function hour(story: Story<TwoClusters>, before = async () => {}): Promise<ReturnType<typeof sumsOf>> {
  const { berlin } = story.clusters;
  let signer: Awaited<ReturnType<typeof startSigner>> | undefined = await startSigner({ api: berlin.server.api });
  for (let minute = 0; minute < 60; minute += 1) {
    if (minute === 20) await signer?.stop();
    if (minute === 20) signer = undefined;
    if (minute === 40) signer = await startSigner({ api: berlin.server.api });
    if (minute % 5 !== 0) berlin.addNode(minute + 1);
    if (minute % 2 === 0 && minute < 40) berlin.ask(minute + 1);
    await before();
    await story.minutes(1);
  }
  await signer?.stop();
  return sumsOf(story);
}

describe('the objective', () => {
  it('has the sums of a quiet hour if each tick runs twice and each third outcome is a tick late', async () => {
    await using quiet = await start();
    const expected = await hour(quiet);
    // Twenty ask. Without a Machine: 1, 11, 21, 31. Without a signer for too long: those before minute 25.
    expect(expected).toEqual({ issued: 14, late: 2, notProvable: 4, notCounted: 0 });

    const held: (() => Promise<unknown>)[] = [];
    const late = vi.fn<() => void>();
    let outcomes = 0;
    await using story = await start({
      aroundState: (state) => ({
        ...state,
        async put(key, value, etag, signal) {
          const write = async () => state.put(key, value, etag, signal);
          if (!key.startsWith('outcomes/')) return write();
          outcomes += 1;
          if (outcomes % 3 !== 0) return write();
          late();
          held.push(write);
          return '';
        },
      }),
    });
    expect(
      await hour(story, async () => {
        // What the last tick held is there just before this one.
        await Promise.all(held.splice(0).map(async (write) => write()));
        await story.hub.minute();
      }),
    ).toEqual(expected);
    expect(late.mock.calls.length).toBeGreaterThanOrEqual(20);
  });

  it('counts ten late CSRs where the hub was away for 50 minutes while ten nodes asked, and rings', async () => {
    await using story = await start();
    const { berlin } = story.clusters;
    const signer = await startSigner({ api: berlin.server.api });
    story.broken.add('scheduler');
    for (let node = 1; node <= 10; node += 1) {
      berlin.addNode(node);
      berlin.ask(node);
    }
    await story.minutes(50);
    story.broken.delete('scheduler');
    await story.minutes(5);
    expect(sumsOf(story)).toEqual({ issued: 0, late: 10, notProvable: 0, notCounted: 0 });
    expect(story.ringing()).toEqual(expect.arrayContaining(['slo-fast-burn', 'slo-slow-burn']));
    expect(story.output()).toContain('"most":[{"id":"berlin","late":10}]');
    await story.minutes(60);
    expect(story.ringing()).not.toContain('slo-fast-burn');
    expect(sumsOf(story).late).toBe(10);
    await signer.stop();
  });

  it('says of an outage of two hours what is not counted', async () => {
    await using story = await start();
    const { berlin } = story.clusters;
    berlin.addNode(1);
    berlin.ask(1);
    story.broken.add('scheduler');
    await story.minutes(120);
    story.broken.delete('scheduler');
    await story.minutes(2);
    expect(sumsOf(story)).toEqual({ issued: 0, late: 0, notProvable: 0, notCounted: 2 });
    expect(story.output()).toContain('"message":"CSRs not counted"');
  });
});
