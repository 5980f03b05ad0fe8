import { expect, it } from 'vitest';
import { ALARMS } from '../../lambdas/tables/alarms.ts';
import { CERTIFICATE_CLASSES } from '../../lambdas/tables/certificate-classes.ts';
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
const FAILS = `${CERTIFICATE_CLASSES['kube-apiserver'].onceExpired}.`;
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
  const label = 'berlin, kube-apiserver';
  expect(story.told()).toEqual([
    `63 [warning] ${said} expires in 13 minutes. Then ${FAILS}`,
    `78 [critical] ${said} expired 2 minutes ago. Now ${FAILS}`,
    `78 [escalated] ${label}: CertificateCritical instead. It was: ${ALARMS.CertificateWarning.meaning}`,
    `88 [resolved] ${label}: over. It was: ${ALARMS.CertificateCritical.meaning}`,
  ]);
  expect(story.incidents()).toEqual([
    '63 opened CertificateWarning berlin kube-apiserver',
    '78 opened CertificateCritical berlin kube-apiserver',
    '78 closed CertificateWarning berlin kube-apiserver',
    '88 closed CertificateCritical berlin kube-apiserver',
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
  const ended = `the kube-apiserver certificate at SERVER expired 37 minutes ago. Now ${FAILS}`;
  const unreadable =
    'certmarshal cannot read its certificate requests: certificate-expired: a certificate of the endpoint has expired';
  expect(story.told()).toEqual([
    `3 [critical] berlin: ${ended}`,
    `11 [critical] berlin: ${unreadable}. ${ALARMS.ClusterUnreadable.consequence['eks-anywhere']}`,
    `15 [resolved] berlin: over. It was: ${ALARMS.ClusterUnreadable.meaning}`,
    `18 [resolved] berlin, kube-apiserver: over. It was: ${ALARMS.CertificateCritical.meaning}`,
  ]);
  expect(story.incidents()).toEqual([
    '3 opened CertificateCritical berlin kube-apiserver',
    '11 opened ClusterUnreadable berlin',
    '15 closed ClusterUnreadable berlin',
    '18 closed CertificateCritical berlin kube-apiserver',
  ]);
  expect(story.fallback()).toEqual(['critical ALARM 3', 'critical OK 18']);
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
    'the kubelet serving certificate of berlin-1 expires in 8 minutes; the kubelet should have renewed it before 90 % of its lifetime';
  // 90 of 100 minutes are over in the 90th; the next audit is in the 92nd.
  expect(story.rang()).toEqual({ 'kubelet-overdue': 93, warning: 93 });
  expect(story.told()).toEqual([
    `93 [warning] berlin: ${said}. Then kubectl logs, exec and metrics of its node fail.`,
    `98 [resolved] berlin: over. It was: ${ALARMS.KubeletOverdue.meaning}`,
  ]);
  expect(story.incidents()).toEqual(['93 opened KubeletOverdue berlin', '98 closed KubeletOverdue berlin']);
  await restarted.stop();
  await signer.stop();
});
