import { expect, it } from 'vitest';
import { type Story, startStory } from './alarms/story.ts';
import { lastsLong, type TwoClusters, twoClusters, twoClustersFile } from './alarms/story-clusters.ts';
import { startEksCluster, startKubeconfigCluster } from './hub/clusters.ts';
import { HUB } from './hub/places.ts';
import { MINUTE, START } from './hub/world.ts';
import { type SimulatedNode, startKubelet } from './kubelet.ts';
import { seededRandom } from './random.ts';
import { startSigner } from './signer.ts';

/** A hundred minutes of life, 20 of which are over: floors of days would ring at once. */
const LIFE = {
  certificateNotBefore: new Date(START - 20 * MINUTE),
  certificateNotAfter: new Date(START + 80 * MINUTE),
};
const AUDIT = '{ every: 5m, thresholds: [{ warning: { share: 0.2 }, critical: { share: 0.05 } }] }';

const findingsIn = ({ hub }: Story<TwoClusters>) =>
  hub.index()?.clusters['berlin']?.audit?.findings.map(({ code, severity }) => `${severity} ${code}`) ?? [];

it('tells of a certificate at 20 % and at 5 % of its life, rings on when it has ended, and tells that it was renewed', async () => {
  await using story = await startStory<TwoClusters>({
    clusters: async (ground) => ({
      berlin: await startKubeconfigCluster(ground, 'berlin', undefined, LIFE),
      zurich: await startEksCluster(ground, HUB, 'zurich'),
    }),
    fleetFile: (clusters) => twoClustersFile(clusters, { audit: AUDIT }),
  });
  await story.minutes(82);
  // In simulated time; real clients still connect.
  expect(findingsIn(story)).toContain('critical CertificateExpired');
  expect(story.ringing()).toEqual(['certificate-critical', 'critical']);
  await story.clusters.berlin.server.serveUntil(lastsLong().certificateNotAfter);
  await story.until(() => story.isOver(), 45);
  // Every fifth minute is audited: the audits in the 61st and the 76th minute of the story see less than a fifth, and less than a
  // twentieth. CloudWatch wants two minutes of that.
  expect(story.rang()).toEqual({ 'certificate-warning': 63, warning: 63, 'certificate-critical': 78, critical: 78 });
  const said = 'berlin: the kube-apiserver certificate at SERVER';
  const over = 'berlin. It was: the kube-apiserver certificate at SERVER';
  // What is away for a quarter of an hour is over, as a look every fifth minute sees it.
  expect(story.told()).toEqual([
    `63 [warning] ${said} expires in 15 minutes`,
    `78 [critical] ${said} expired less than a minute ago`,
    `96 [resolved] ${over} expires in 15 minutes`,
    `106 [resolved] ${over} expired less than a minute ago`,
  ]);
  expect(story.events()).toEqual([
    'opened CertificateWarning: berlin',
    'opened CertificateCritical: berlin',
    'closed CertificateWarning: berlin',
    'closed CertificateCritical: berlin',
  ]);
});

it('tells that a certificate has ended, and what that means', async () => {
  await using story = await startStory({ clusters: twoClusters, fleetFile: twoClustersFile });
  const { server } = story.clusters.berlin;
  await server.serveUntil(new Date(START - 30 * MINUTE));
  await story.minutes(13);
  expect(story.rang()).toEqual({ 'certificate-critical': 3, 'cluster-unreadable': 11, critical: 3 });
  await server.serveUntil(lastsLong().certificateNotAfter);
  await story.until(() => story.isOver(), 45);
  const ended = 'the kube-apiserver certificate at SERVER expired 35 minutes ago';
  const unreadable =
    'certmarshal cannot read its certificate requests: certificate: a certificate of the endpoint has expired';
  expect(story.told()).toEqual([
    `3 [critical] berlin: ${ended}`,
    `11 [critical] berlin: ${unreadable}`,
    `31 [resolved] berlin. It was: ${unreadable}`,
    `36 [resolved] berlin. It was: ${ended}`,
  ]);
  expect(story.events()).toEqual([
    'opened CertificateCritical: berlin',
    'opened ClusterUnreadable: berlin',
    'closed ClusterUnreadable: berlin',
    'closed CertificateCritical: berlin',
  ]);
  expect(story.fallback()).toEqual(['critical ALARM 3', 'critical OK 20']);
});

it('tells of a kubelet that did not renew its certificate, and that it did', async () => {
  await using story = await startStory({ clusters: twoClusters, fleetFile: twoClustersFile });
  const { berlin } = story.clusters;
  const { api } = berlin.server;
  const signer = await startSigner({ api, durationMs: 100 * MINUTE });
  berlin.addNode(1);
  const node: SimulatedNode = { name: 'berlin-1', dnsNames: ['berlin-1'], ipAddresses: ['10.1.0.1'] };
  const kubelet = startKubelet({ api, node, random: seededRandom(1) });
  await story.minutes(2);
  expect(kubelet.certificate).toBeDefined();
  // It hangs.
  await kubelet.stop();
  await story.until(() => story.ringing().length > 0, 100);
  const restarted = startKubelet({ api, node, random: seededRandom(1) });
  await story.until(() => story.isOver(), 42);
  const said =
    'the kubelet serving certificate of berlin-1 expires in 9 minutes; the kubelet should have renewed it before 90 % of its lifetime';
  // 90 of 100 minutes are over in the 90th; the next audit is in the 92nd.
  expect(story.rang()).toEqual({ 'kubelet-overdue': 93, warning: 93 });
  expect(story.told()).toEqual([`93 [warning] berlin: ${said}`, `116 [resolved] berlin. It was: ${said}`]);
  expect(story.events()).toEqual(['opened KubeletOverdue: berlin', 'closed KubeletOverdue: berlin']);
  await restarted.stop();
  await signer.stop();
});
