import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { STATE_KEYS, type StateObject } from '../../lambdas/fleet/state-keys.ts';
import { type Story, startStory } from './alarms/story.ts';
import { lastsLong, type TwoClusters, twoClusters, twoClustersFile, ZURICH } from './alarms/story-clusters.ts';
import { UNPLUGGED } from './faults.ts';
import { type HubKubeconfigCluster, startKubeconfigCluster } from './hub/clusters.ts';
import { BUCKET } from './hub/places.ts';
import { MINUTE, START } from './hub/world.ts';

interface ThreeClusters extends TwoClusters {
  readonly paris: HubKubeconfigCluster;
}

/** A certificate of berlin ends in two days, paris does not answer, zurich is well. */
const OPEN = ['CertificateCritical berlin kube-apiserver', 'ClusterUnreadable paris'];
const RINGING = ['cluster-unreadable', 'certificate-critical', 'critical'];
const WRITTEN: readonly StateObject[] = ['registry', 'index'];

async function startIncidents(): Promise<Story<ThreeClusters>> {
  const story = await startStory<ThreeClusters>({
    clusters: async (ground) => ({
      ...(await twoClusters(ground)),
      paris: await startKubeconfigCluster(ground, 'paris', undefined, lastsLong()),
    }),
    // What a loss of state looks like at its worst.
    vanishing: 'OK',
    fleetFile: (clusters) =>
      twoClustersFile(clusters).replace(
        /^clusters:$/m,
        `$&\n  - { name: paris, provider: eks-anywhere, kubeconfigSecret: '${clusters.paris.secret}' }`,
      ),
  });
  const { berlin, paris } = story.clusters;
  await berlin.server.serveUntil(new Date(START + 2 * 24 * 60 * MINUTE));
  paris.server.inject(UNPLUGGED);
  await story.minutes(15);
  expect(keysIn(story)).toEqual(OPEN.map((key) => `opened ${key}`));
  expect(story.ringing()).toEqual(RINGING);
  story.begin();
  return story;
}

const keysIn = (story: Story<ThreeClusters>): readonly string[] =>
  story
    .incidents()
    .map((line) => line.replace(/^\d+ /, ''))
    .toSorted();

type Damage = (body: Buffer, isGzip: boolean) => Buffer;

const toGarbage: Damage = () => Buffer.from('garbage');
const DAMAGE: Readonly<Record<string, Damage>> = {
  garbage: toGarbage,
  'an empty object': (_, isGzip) => packed('{}', isGzip),
  'itself with version 99': (body, isGzip) => {
    const text = (isGzip ? gunzipSync(body) : body).toString();
    return packed(text.replace(/"version":\d+/, '"version":99'), isGzip);
  },
};

function packed(text: string, isGzip: boolean): Buffer {
  return isGzip ? gzipSync(text) : Buffer.from(text);
}

function damage({ aws }: Story<ThreeClusters>, spoil: Damage, objects: readonly StateObject[]): void {
  for (const object of objects) {
    const key = STATE_KEYS[object];
    const body = aws.s3.read(BUCKET, key);
    if (body === undefined) throw new Error(`${key} is not there`);
    aws.s3.write(BUCKET, key, spoil(body, key.endsWith('.gz')));
  }
}

/** Keys of the objects that were rebuilt, each as often as that was said. */
function rebuiltIn(story: Story<ThreeClusters>): readonly string[] {
  const said = story.output().matchAll(/"message":"state rebuilt".*?"object":"([^"]+)"/g);
  return [...said].map(([, key = '']) => key).toSorted();
}

/** The fleet is found again, an open incident is at most said again, none is closed, and CloudWatch saw the certificate all the time. */
function expectNoNews(story: Story<ThreeClusters>): void {
  const clusters = [ZURICH, 'berlin', 'paris'].toSorted();
  expect(Object.keys(story.hub.registry()?.clusters ?? {})).toEqual(clusters);
  expect(Object.keys(story.hub.index()?.clusters ?? {})).toEqual(clusters);
  expect(keysIn(story).filter((one) => !OPEN.some((key) => one === `opened ${key}`))).toEqual([]);
  expect(Object.keys(story.ended())).not.toContain('certificate-critical');
  expect(story.ringing()).toEqual(RINGING);
}

describe('the state of the hub', () => {
  it.each(Object.entries(DAMAGE))(
    'is rebuilt in two ticks when it is replaced by %s, and says so once',
    async (_, spoil) => {
      await using story = await startIncidents();
      damage(story, spoil, WRITTEN);
      // The first one discovers.
      await story.minutes(2);
      // Of its last snapshot: the next audit is minutes away.
      expect(story.hub.index()?.clusters['berlin']?.audit?.counts.critical).toBe(1);
      await story.minutes(43);
      expectNoNews(story);
      expect(rebuiltIn(story)).toEqual(WRITTEN.map((object) => STATE_KEYS[object]).toSorted());
    },
  );

  it('is rebuilt when it is lost in the middle of a tick', async () => {
    await using story = await startIncidents();
    story.clock.sleep(MINUTE / 3).then(
      () => damage(story, toGarbage, WRITTEN),
      () => undefined,
    );
    await story.minutes(45);
    expectNoNews(story);
    expect(rebuiltIn(story)).toEqual(WRITTEN.map((object) => STATE_KEYS[object]).toSorted());
  });

  it('is rebuilt object by object', async () => {
    await using story = await startIncidents();
    for (const object of WRITTEN) {
      damage(story, toGarbage, [object]);
      await story.minutes(25);
      expectNoNews(story);
    }
    expect(rebuiltIn(story)).toEqual(WRITTEN.map((object) => STATE_KEYS[object]).toSorted());
  });

  it('is made, and closes nothing, where there is none, as after the deploy of a version with other keys', async () => {
    await using story = await startIncidents();
    for (const object of ['registry', 'index'] as const) story.aws.s3.remove(BUCKET, STATE_KEYS[object]);
    await story.minutes(45);
    expectNoNews(story);
    expect(rebuiltIn(story)).toEqual([]);
  });
});
