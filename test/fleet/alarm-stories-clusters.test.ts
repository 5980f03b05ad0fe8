import { describe, expect, it } from 'vitest';
import { ALARMS } from '../../lambdas/tables/alarms.ts';
import { type Story, startStory } from './alarms/story.ts';
import { type TwoClusters, twoClusters, twoClustersFile, ZURICH } from './alarms/story-clusters.ts';
import { UNPLUGGED } from './faults.ts';
import { HOSTILE_CLAIMS } from './hostile.ts';
import { type HubEksCluster, startEksCluster } from './hub/clusters.ts';
import { HUB } from './hub/places.ts';
import { MINUTE, START } from './hub/world.ts';
import { askFor, type SimulatedNode } from './kubelet.ts';

const start = async (more = ''): Promise<Story<TwoClusters>> =>
  startStory({ clusters: twoClusters, fleetFile: (clusters) => twoClustersFile(clusters, { more }) });

const nodeOf = (index: number): SimulatedNode => ({
  name: `berlin-${index}`,
  dnsNames: [`berlin-${index}`],
  ipAddresses: [`10.1.0.${index}`],
});

/** A node of berlin asks to be its neighbour too. */
function impersonate({ clusters: { berlin } }: Story<TwoClusters>): void {
  berlin.addNode(1);
  berlin.addNode(2);
  const [attacker, neighbour] = [nodeOf(2), nodeOf(1)];
  askFor(berlin.server.api, attacker.name, HOSTILE_CLAIMS.neighbourName(attacker, neighbour));
}

const UNREADABLE = 'certmarshal cannot read its certificate requests: unreachable: the connection broke (ECONNRESET).';
const { consequence } = ALARMS.ClusterUnreadable;
const HOSTILE =
  'berlin-2 asked for berlin-1, which belongs to berlin-1 (Machine eksa-system/berlin-berlin-1); not approved.';

describe('a cluster that cannot be reached', () => {
  it('rings after ten minutes, and is told once, and that it is over', async () => {
    await using story = await start();
    const plugIn = story.clusters.berlin.server.inject(UNPLUGGED);
    await story.minutes(15);
    plugIn();
    await story.until(() => story.isOver(), 40);
    // Read a minute before the cause; 600 seconds later in the tenth minute, and once more.
    expect(story.rang()).toEqual({ 'cluster-unreadable': 11, critical: 11 });
    expect(story.fallback()).toEqual(['critical ALARM 11', 'critical OK 17']);
    expect(story.told()).toEqual([
      `11 [critical] berlin: ${UNREADABLE} ${consequence['eks-anywhere']}`,
      `17 [resolved] berlin: over. It was: ${ALARMS.ClusterUnreadable.meaning}`,
    ]);
    expect(story.incidents()).toEqual(['11 opened ClusterUnreadable berlin', '17 closed ClusterUnreadable berlin']);
  });

  it('rings not at all when it comes back before', async () => {
    await using story = await start();
    const plugIn = story.clusters.berlin.server.inject(UNPLUGGED);
    await story.minutes(9);
    plugIn();
    await story.minutes(5);
    expect(story.rang()).toEqual({});
  });
});

describe('an attempt to be another node', () => {
  it('rings within a minute, and for 25 after the last one', async () => {
    await using story = await start();
    impersonate(story);
    await story.minutes(1);
    expect(story.rang()).toEqual({ 'impersonation-attempt': 1, critical: 1 });
    expect(story.told()).toEqual([`1 [critical] berlin: ${HOSTILE}`]);
    await story.minutes(4);
    // Somebody looked at it, and deleted it.
    const { csrs } = story.clusters.berlin.server.api;
    for (const { metadata } of csrs.all()) csrs.remove(metadata.name);
    await story.until(() => story.isOver(), 46);
    // Judged last in the fifth minute.
    expect(story.ended()).toEqual({ 'impersonation-attempt': 31, critical: 31 });
    expect(story.rang()).toEqual({ 'impersonation-attempt': 1, critical: 1 });
    expect(story.told()).toEqual([
      `1 [critical] berlin: ${HOSTILE}`,
      `31 [resolved] berlin: over. It was: ${ALARMS.ImpersonationAttempt.meaning}`,
    ]);
    expect(story.incidents()).toEqual([
      '1 opened ImpersonationAttempt berlin',
      '31 closed ImpersonationAttempt berlin',
    ]);
  });
});

it('rings for an attempt of which report learns a minute late', async () => {
  await using story = await start();
  story.broken.add('report');
  impersonate(story);
  await story.minutes(1);
  const { csrs } = story.clusters.berlin.server.api;
  for (const { metadata } of csrs.all()) csrs.remove(metadata.name);
  expect(story.rang()).not.toHaveProperty('impersonation-attempt', expect.anything());
  story.broken.clear();
  await story.until(() => 'impersonation-attempt' in story.rang(), 3);
  expect(story.told().filter((line) => line.includes('berlin-2'))).toEqual([
    expect.stringMatching(/^[23] \[critical\] berlin: /),
  ]);
});

it('says of 500 orphaned requests that they wait, in one message', async () => {
  await using story = await start();
  const { berlin } = story.clusters;
  const { api } = berlin.server;
  berlin.addNode(1);
  // Of a hundred nodes whose machines are gone.
  for (let index = 0; index < 500; index += 1) {
    const name = `gone-${index % 100}`;
    askFor(api, name, { dnsNames: [name], ipAddresses: [`10.9.0.${index % 100}`] });
  }
  await story.until(() => story.ringing().length > 0, 25);
  await story.minutes(3);
  // The controller that deletes them does so after a day.
  for (const { metadata } of api.csrs.all()) api.csrs.remove(metadata.name);
  await story.until(() => story.isOver(), 42);
  const said =
    '5 requests of system:node:gone-0 for kubernetes[.]io/kubelet-serving are pending, the oldest for 17 minutes; a kubelet gives up after 15 minutes';
  // They wait after 15 minutes; the audit that says so is in the sixteenth.
  expect(story.rang()).toEqual({ 'requests-waiting': 18, warning: 18 });
  expect(story.told()).toEqual([
    `18 [warning] berlin: ${said}, and 99 more.`,
    `23 [resolved] berlin: over. It was: ${ALARMS.RequestsWaiting.meaning}`,
  ]);
  expect(story.incidents()).toEqual(['18 opened RequestsWaiting berlin', '23 closed RequestsWaiting berlin']);
});

describe('a cluster that is new', () => {
  it('needs no alarm of its own', async () => {
    await using story = await start();
    await using oslo = stopped(await startEksCluster(story, HUB, 'oslo'));
    // Found within ten minutes.
    await story.until(() => story.hub.index()?.clusters[`${HUB.account}/${HUB.region}/oslo`]?.readable === true, 11);
    await story.minutes(5);
    expect(story.rang()).toEqual({});
    story.begin();
    oslo.server.inject(UNPLUGGED);
    await story.minutes(12);
    expect(story.rang()).toEqual({ 'cluster-unreadable': 11, critical: 11 });
    expect(story.told()).toEqual([`11 [critical] oslo: ${UNREADABLE} ${consequence.eks}`]);
    expect(story.incidents()).toEqual([`11 opened ClusterUnreadable ${HUB.account}/${HUB.region}/oslo`]);
  });
});

describe('a cluster that is removed on purpose', () => {
  it('pages nobody, in whatever minute between two looks for clusters it goes', async () => {
    const names = Array.from({ length: 11 }, (_, index) => `cluster-${index}`);
    await using story = await startStory<Readonly<Record<string, HubEksCluster>>>({
      clusters: async (ground) =>
        Object.fromEntries(
          await Promise.all(names.map(async (name) => [name, await startEksCluster(ground, HUB, name)] as const)),
        ),
      fleetFile: () => 'version: 1\naudit: { every: 5m }\ndiscovery: [{ accounts: [self] }]\n',
    });
    for (const name of names.slice(1)) {
      story.aws.eks.removeCluster(HUB, name);
      await story.clusters[name]?.server.stop();
      await story.minutes(1);
    }
    await story.minutes(20);
    const gone = Object.values(story.hub.registry()?.clusters ?? {}).filter(({ missingSince }) => missingSince);
    expect(gone).toHaveLength(10);
    expect(story.rang()).toEqual({});
    expect(story.told()).toEqual([]);
  });

  it('pages nobody while EKS deletes it, which takes a while', async () => {
    await using story = await start();
    const { zurich } = story.clusters;
    story.aws.eks.putCluster(HUB, { ...zurich.described, status: 'DELETING' });
    await story.minutes(5);
    await zurich.server.stop();
    await story.minutes(20);
    expect(story.hub.registry()?.clusters[ZURICH]?.problem?.message).toContain('EKS says that it is DELETING');
    story.aws.eks.removeCluster(HUB, zurich.name);
    await story.minutes(15);
    expect(story.hub.registry()?.clusters[ZURICH]?.missingSince).toBeDefined();
    expect(story.rang()).toEqual({});
  });

  it('pages when its API server is gone and EKS still shows it', async () => {
    await using story = await start();
    await story.clusters.zurich.server.stop();
    await story.minutes(12);
    expect(story.rang()).toEqual({ 'cluster-unreadable': 11, critical: 11 });
  });
});

describe('announced maintenance', () => {
  const more = `
monitoring:
  maintenance:
    - clusters: [berlin, '*/zurich']
      from: ${new Date(START).toISOString()}
      until: ${new Date(START + 40 * MINUTE).toISOString()}
`;

  it('explains that a cluster cannot be reached, not that a node wants to be another; and it ends', async () => {
    await using story = await start(more);
    const { zurich } = story.clusters;
    zurich.server.inject(UNPLUGGED);
    await story.minutes(15);
    expect(story.rang()).toEqual({});
    impersonate(story);
    await story.minutes(1);
    expect(story.rang()).toEqual({ 'impersonation-attempt': 16, critical: 16 });
    expect(story.told()).toEqual([`16 [critical] berlin: ${HOSTILE}`]);
    const left = Math.ceil((START + 40 * MINUTE - story.clock.now()) / MINUTE);
    await story.minutes(left);
    expect(story.rang()).not.toHaveProperty('cluster-unreadable', expect.anything());
    await story.minutes(3);
    expect(story.told().filter((line) => line.includes('zurich'))).toEqual([
      expect.stringContaining(`[critical] zurich: ${UNREADABLE}`),
    ]);
    expect(story.incidents()).toContainEqual(expect.stringMatching(` opened ClusterUnreadable ${ZURICH}$`));
  });
});

function stopped(cluster: HubEksCluster): HubEksCluster & AsyncDisposable {
  return { ...cluster, [Symbol.asyncDispose]: async () => cluster.server.stop() };
}
