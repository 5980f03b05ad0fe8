import { tallyOf } from '../../../lambdas/audit/summary.ts';
import type { EksCluster } from '../../../lambdas/aws/eks-clusters.ts';
import type { EksDiscovery, FleetCluster, ManagementCluster } from '../../../lambdas/config/fleet.ts';
import type { AuditSummary } from '../../../lambdas/contracts/audit-summary.ts';
import type { Reading } from '../../../lambdas/contracts/contract.ts';
import type { ExpiryFinding } from '../../../lambdas/contracts/finding.ts';
import type { FleetIndex, IndexedCluster } from '../../../lambdas/contracts/fleet-index.ts';
import { type Order, readOrders } from '../../../lambdas/contracts/order.ts';
import type { SweepOutcome, VerdictLine } from '../../../lambdas/contracts/outcome.ts';
import type { Problem } from '../../../lambdas/contracts/problem.ts';
import type { RegisteredCluster, Registry } from '../../../lambdas/contracts/registry.ts';
import type { RolloutSummary } from '../../../lambdas/contracts/rollout-summary.ts';
import type { Target } from '../../../lambdas/contracts/target.ts';
import { fleetProblems, planTick, type TickOptions } from '../../../lambdas/fleet/plan-tick.ts';
import type { HubIdentity } from '../../../lambdas/fleet/sources.ts';
import { type FindingChanges, findingOf } from '../words/samples.ts';

export const NOW = Date.UTC(2026, 10, 21, 10, 0);
export const MINUTE = 60_000;
export const DAY = 24 * 60 * MINUTE;
export const SECRET = 'arn:aws:secretsmanager:eu-central-1:111122223333:secret:certmarshal/berlin-Ab12Cd';
export const OTHER_SECRET = 'arn:aws:secretsmanager:eu-central-1:111122223333:secret:certmarshal/mgmt-Ef34Gh';
export const HUB: HubIdentity = { account: '111122223333', region: 'eu-central-1', partition: 'aws' };

/** RFC 3339, so many milliseconds after {@link NOW}. */
export function at(ms = 0): string {
  return new Date(NOW + ms).toISOString();
}

export const DUBLIN: Target = {
  id: '111122223333/eu-central-1/dublin',
  cluster: { name: 'dublin', provider: 'eks', serviceCidrs: ['172.20.0.0/16'] },
  access: {
    kind: 'eks',
    endpoint: 'https://0A1B.gr7.eu-central-1.eks.amazonaws.com',
    certificateAuthority: 'Q0E=',
    scope: { account: '111122223333', region: 'eu-central-1' },
  },
  instances: { account: '111122223333', region: 'eu-central-1', vpcId: 'vpc-0a1b2c3d4e5f60718' },
  lane: 'default',
};

export const BERLIN: Target = {
  id: 'mgmt/eksa-system/berlin',
  cluster: { name: 'berlin', provider: 'eks-anywhere' },
  access: { kind: 'cluster-api', namespace: 'eksa-system' },
  management: { access: { kind: 'kubeconfig', secret: OTHER_SECRET }, namespace: 'eksa-system' },
  lane: 'onprem',
};

export const PARIS: Target = {
  id: 'paris',
  cluster: { name: 'paris', provider: 'eks-anywhere' },
  access: { kind: 'kubeconfig', secret: SECRET },
  management: { namespace: 'eksa-system' },
  lane: 'default',
};

export const TROUBLE: Problem = { kind: 'denied', object: 'cluster x', message: 'no', remedy: 'Let it.' };

export function eksCluster(changed: Partial<EksCluster> = {}): EksCluster {
  return {
    name: 'dublin',
    status: 'ACTIVE',
    endpoint: 'https://0A1B.gr7.eu-central-1.eks.amazonaws.com',
    certificateAuthority: 'Q0E=',
    tags: {},
    vpcId: 'vpc-0a1b2c3d4e5f60718',
    endpointAccess: 'public',
    serviceCidrs: ['172.20.0.0/16'],
    remoteNodeNetworks: [],
    ...changed,
  };
}

export function discovery(changed: Partial<EksDiscovery> = {}): EksDiscovery {
  return {
    accounts: ['self'],
    regions: ['self'],
    role: 'certmarshal-spoke',
    sessionTags: {},
    include: {},
    exclude: {},
    accessEntries: [],
    ...changed,
  };
}

export function managementCluster(changed: Partial<ManagementCluster['workloadClusters']> = {}): ManagementCluster {
  return {
    name: 'mgmt',
    namespace: 'eksa-system',
    kubeconfigSecret: OTHER_SECRET,
    lane: 'onprem',
    workloadClusters: {
      namespaces: ['eksa-system'],
      include: {},
      exclude: {},
      kubeconfigSecrets: {},
      kubeconfigsFromManagementCluster: false,
      ...changed,
    },
  };
}

export function fleetCluster(changed: Partial<FleetCluster> = {}): FleetCluster {
  return {
    name: 'paris',
    id: 'paris',
    provider: 'eks-anywhere',
    kubeconfigSecret: SECRET,
    namespace: 'eksa-system',
    lane: 'default',
    ...changed,
  };
}

export function registered(id: string, changed: Partial<RegisteredCluster> = {}): RegisteredCluster {
  return { id, source: 'fleet.yaml', foundAt: at(), seenAt: at(), ...changed };
}

export function registry(...clusters: readonly RegisteredCluster[]): Registry {
  const sources = Object.fromEntries(clusters.map(({ source }) => [source, { triedAt: at(), readAt: at() }]));
  return { version: 1, writtenAt: at(), sources, clusters: Object.fromEntries(clusters.map((one) => [one.id, one])) };
}

export function indexed(id: string, changed: Partial<IndexedCluster> = {}): IndexedCluster {
  return {
    id,
    sweptAt: at(),
    triedAt: at(),
    durationMs: 200,
    readable: true,
    complete: true,
    findings: [],
    findingCount: 0,
    readableAt: at(),
    completeAt: at(),
    ...changed,
  };
}

export function index(...clusters: readonly IndexedCluster[]): FleetIndex {
  return {
    version: 2,
    writtenAt: at(),
    problems: [],
    apart: {},
    series: [],
    clusters: Object.fromEntries(clusters.map((one) => [one.id, one])),
  };
}

export function swept(changed: Partial<SweepOutcome> = {}): SweepOutcome {
  return {
    id: 'paris',
    name: 'paris',
    provider: 'eks-anywhere',
    startedAt: at(),
    durationMs: 200,
    readable: true,
    complete: true,
    counts: { approved: 1, denied: 0, wouldWrite: 0, left: 2, ignored: 3, failed: 0 },
    problems: [],
    problemCount: 0,
    server: 'paris.example.com:6443',
    ...changed,
  };
}

export function verdictLine(changed: Partial<VerdictLine> = {}): VerdictLine {
  return {
    csr: 'csr-q77zt',
    uid: '00000000-0000-4000-8000-000000000001',
    node: 'worker-3',
    verdict: 'leave',
    reason: 'SanNotOwned',
    facts: {
      cause: 'of-another',
      name: { kind: 'ip', value: '10.0.1.24' },
      owner: { node: 'worker-8', object: 'Machine eksa-system/md-0-k2m1' },
    },
    outcome: 'none',
    at: at(),
    ...changed,
  };
}

export function expiryFinding(changed: FindingChanges = {}): ExpiryFinding {
  return findingOf({ severity: 'warning', cluster: 'paris', since: at(-DAY), due: at(9 * DAY), ...changed });
}

export function auditSummary(changed: Partial<AuditSummary> = {}): AuditSummary {
  const { findings = [expiryFinding()] } = changed;
  return {
    auditedAt: at(),
    durationMs: 1_200,
    counts: { critical: 0, warning: 1, info: 0 },
    findings,
    findingCount: findings.length,
    tally: tallyOf(findings),
    ends: [{ what: 'kube-apiserver', count: 3, notAfter: at(9 * DAY), where: '10.0.1.31:6443' }],
    sources: { read: ['nodes', 'tls'], unread: ['machines'], off: ['tls-secrets'] },
    ...changed,
  };
}

export function rolloutSummary(changed: Partial<RolloutSummary> = {}): RolloutSummary {
  return {
    state: 'rolling',
    message: '1 of 3 machines is replaced',
    at: at(),
    rollout: { id: 'paris-20261121', start: at(), trigger: 'schedule' },
    reasons: [],
    reasonCount: 0,
    ...changed,
  };
}

/** A plan, its orders in one list, and the problems of the fleet. */
export function planned(fleet: Registry, seen: FleetIndex | undefined, tick: number, options: TickOptions = {}) {
  const lanes = options.lanes ?? new Set(Object.values(fleet.clusters).map(({ target }) => target?.lane ?? ''));
  return {
    orders: planTick(fleet, seen, tick, options).flatMap(({ lane, orders }, shard) =>
      orders.map((order) => ({ shard, lane, order })),
    ),
    problems: fleetProblems(fleet, seen, lanes),
  };
}

/** Plans of consecutive minutes. */
export function plannedMinutes(
  fleet: Registry,
  seen: FleetIndex | undefined | (() => FleetIndex),
  options: TickOptions = {},
  count = 15,
): readonly ReturnType<typeof planned>[] {
  return Array.from({ length: count }, (_, n) =>
    planned(fleet, typeof seen === 'function' ? seen() : seen, NOW + n * MINUTE, options),
  );
}

/** An order as a sweep reads it. */
export function readOrder(order: object): Reading<Order> {
  const shards = [{ shard: 0, orders: [JSON.parse(JSON.stringify(order)) as unknown] }];
  const reading = readOrders({ version: 5, lane: 'default', tick: NOW, shards }, 'default');
  if (!reading.ok) return reading;
  const [only] = reading.value.get(0) ?? [];
  if (only === undefined) throw new Error('not one order');
  return only.ok ? { ok: true, value: only.value } : { ok: false, problem: only.problem };
}
