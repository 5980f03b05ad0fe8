import { afterEach, beforeEach, expect, it } from 'vitest';
import { viewOf } from '../../bin/commands/audit/groups.ts';
import { audit } from '../../lambdas/audit/audit.ts';
import { DEFAULT_THRESHOLDS } from '../../lambdas/audit/rules/thresholds.ts';
import { observeRollout } from '../../lambdas/rollout/observe.ts';
import { fastClock } from './clock.ts';
import { addControlPlane, type DemoCluster, startDemoCluster } from './demo-cluster.ts';

const DAY = 86_400_000;
const now = Date.now();
let madrid: DemoCluster;

beforeEach(async () => {
  const clock = fastClock(now, 1);
  const certificateNotAfter = new Date(now + 9.5 * DAY);
  madrid = await startDemoCluster({ name: 'madrid', provider: 'eks-anywhere', clock, certificateNotAfter });
  addControlPlane(madrid, { name: 'control-plane-1', dnsNames: ['control-plane-1'], ipAddresses: ['192.0.2.201'] });
});

afterEach(() => madrid.stop());

it('shows all that the plan of a rollout reads', async () => {
  const target = { id: 'madrid', name: 'madrid', management: madrid.target.workload, managesItself: true };
  const observed = await observeRollout(target, AbortSignal.timeout(10_000));
  expect(observed.unread).toEqual([]);
  expect(observed.controlPlane).toMatchObject({ name: 'madrid', replicas: 1, templateFound: true });
  expect(observed.machines).toMatchObject([{ node: 'control-plane-1', owned: true, unhealthy: [] }]);
  expect(observed.healthChecks).toHaveLength(1);
  expect(madrid.server.api.nodes.get('control-plane-1')).toBeDefined();
});

it('is as old as the certificate of its API server, so that what an audit infers agrees with it', async () => {
  const report = await audit(
    { ...madrid.target, id: 'madrid', reach: { handshakes: false, secrets: false, kubeletMetrics: false } },
    { previous: undefined, thresholds: DEFAULT_THRESHOLDS, clock: () => now, signal: AbortSignal.timeout(10_000) },
  );
  const left = viewOf(report, now).groups.map(
    ({ title, count, severity, first }) =>
      `${severity} ${title} ×${count}, ${Math.floor((Date.parse(first.notAfter) - now) / DAY)} d`,
  );
  expect(left).toEqual([
    'critical kube-apiserver ×1, 9 d',
    'critical control plane clients ×1, 9 d',
    'critical etcd health check client ×1, 9 d',
    'critical etcd peer ×1, 9 d',
    'critical etcd server ×1, 9 d',
    'info cluster CA ×1, 3294 d',
    'info client CA ×1, 3294 d',
  ]);
});
