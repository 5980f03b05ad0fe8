import type { AuditSummary, ClassEnd } from '../../../lambdas/audit/summary.ts';
import type { CertificateClass } from '../../../lambdas/expiry/certificate-classes.ts';
import type { ExpiryFinding } from '../../../lambdas/expiry/finding.ts';
import { CLUSTER_STATES, type ClusterHealth, type FleetHealth } from '../../../lambdas/health/fleet-health.ts';
import { SIGNALS, type SignalId } from '../../../lambdas/health/signals.ts';
import type { SloState } from '../../../lambdas/slo/objective.ts';

export const AT = '2026-11-22T02:00:00.000Z';
const NOW = Date.parse(AT);
const DAY_MS = 86_400_000;

export function inDays(days: number): string {
  return new Date(NOW + days * DAY_MS).toISOString();
}

export function ago(minutes: number): string {
  return new Date(NOW - minutes * 60_000).toISOString();
}

export const SLO: SloState = {
  objective: 0.999,
  counts: { us: 412, others: 38, missed: 0, refused: 4, unprovable: 2 },
  attainment: 1,
  budgetLeft: 1,
  fastBurn: 0,
  slowBurn: 0,
  missedLately: 0,
};
const NO_REQUESTS: SloState = {
  objective: 0.999,
  counts: { us: 0, others: 0, missed: 0, refused: 0, unprovable: 0 },
  budgetLeft: 1,
  fastBurn: 0,
  slowBurn: 0,
  missedLately: 0,
};

/** A fleet view of some clusters, counted as it has to be. */
export function healthOf(clusters: readonly ClusterHealth[], rest: Partial<FleetHealth> = {}): FleetHealth {
  const signals = Object.keys(SIGNALS) as readonly SignalId[];
  const valuesOf = (id: SignalId) =>
    clusters.flatMap((cluster) => cluster.signals.filter((signal) => signal.id === id).map(({ value }) => value));
  const totals = Object.fromEntries(
    signals.map((id) => {
      const values = valuesOf(id);
      const sum = values.reduce((total, value) => total + value, 0);
      return [id, SIGNALS[id].fleet === 'sum' ? sum : Math.max(0, ...values)];
    }),
  ) as Record<SignalId, number>;
  const counts = Object.fromEntries(
    CLUSTER_STATES.map((state) => [state, clusters.filter((cluster) => cluster.state === state).length]),
  ) as FleetHealth['counts'];
  return { at: AT, clusters, totals, counts, slo: clusters.length === 0 ? NO_REQUESTS : SLO, problems: [], ...rest };
}

const ANYWHERE: readonly (readonly [CertificateClass, count: number, life: number])[] = [
  ['kube-apiserver', 3, 365],
  ['control-plane-clients', 3, 365],
  ['etcd-server', 3, 365],
  ['apiserver-etcd-client', 3, 365],
  ['kubelet-serving', 42, 365],
  ['kubelet-client', 42, 365],
  ['cluster-ca', 1, 3650],
  ['front-proxy-ca', 1, 3650],
  ['etcd-ca', 1, 3650],
];
const EKS: readonly (readonly [CertificateClass, count: number, life: number])[] = [
  ['eks-api-server', 1, 365],
  ['kubelet-serving', 28, 45],
  ['eks-cluster-ca', 1, 3650],
];

/** Ends that differ from cluster to cluster, and are the same in every run. */
function endsOf(seed: number, provider: 'eks' | 'eks-anywhere'): readonly ClassEnd[] {
  return (provider === 'eks' ? EKS : ANYWHERE)
    .map(([what, count, life], index): ClassEnd => {
      const spread = ((seed * 7919 + index * 104_729) % 1000) / 1000;
      const left = life * (life <= 45 ? 0.35 + 0.5 * spread : 0.3 + 0.65 * spread);
      return {
        what,
        count,
        notBefore: inDays(left - life),
        notAfter: inDays(left),
        where: `10.${seed % 250}.1.${index + 20}:6443`,
      };
    })
    .toSorted((a, b) => Date.parse(a.notAfter) - Date.parse(b.notAfter));
}

export function auditOf(
  seed: number,
  provider: 'eks' | 'eks-anywhere',
  rest: Partial<AuditSummary> = {},
): AuditSummary {
  return {
    auditedAt: ago(4 + (seed % 11)),
    durationMs: 2_100,
    counts: { critical: 0, warning: 0, info: 0 },
    findings: [],
    findingCount: 0,
    ends: endsOf(seed, provider),
    sources: {
      read: ['nodes', 'signing-requests', 'trust-configmaps', 'webhooks', 'tls', 'clock'],
      unread: [],
      off: ['tls-secrets', 'kubelet-metrics'],
    },
    ...rest,
  };
}

const TOWNS = ['berlin', 'dublin', 'oslo', 'lisbon', 'vienna', 'madrid', 'zurich', 'porto', 'turin', 'ghent'];
const STAGES = ['prod', 'stage', 'edge', 'data', 'shop'];

export function wellCluster(seed: number): ClusterHealth {
  const provider = seed % 3 === 0 ? 'eks-anywhere' : 'eks';
  const name = `${TOWNS[seed % TOWNS.length]}-${STAGES[Math.floor(seed / 10) % STAGES.length]}${seed >= 50 ? `-${Math.floor(seed / 50)}` : ''}`;
  return {
    id: provider === 'eks' ? `111122223333/eu-central-1/${name}` : name,
    name,
    provider,
    source: provider === 'eks' ? 'eks 111122223333/eu-central-1' : 'fleet.yaml',
    state: 'well',
    signals: [],
    sweptAt: ago(1),
    readableAt: ago(1),
    readable: true,
    complete: true,
    findings: [],
    audit: auditOf(seed, provider),
    verdicts: [],
    slo: SLO,
  };
}

export function findingOf(cluster: string, rest: Partial<ExpiryFinding> = {}): ExpiryFinding {
  return {
    code: 'CertificateExpiring',
    severity: 'critical',
    cluster,
    object: 'etcd client of 10.0.1.31:6443',
    what: 'apiserver-etcd-client',
    message: 'the etcd client certificate ends in 12 days, and nothing planned renews it',
    since: ago(120),
    due: inDays(12.4),
    renewedBy: 'the end of an etcd rollout, then a rollout of the control plane machines',
    command: `certmarshal audit --cluster ${cluster} --verbose`,
    runbook: 'docs/runbooks/certificate-expiring.md',
    ...rest,
  };
}

/** berlin: its etcd client certificate ends, and a node asks for what belongs to its neighbour. */
export function criticalCluster(seed: number): ClusterHealth {
  const cluster: ClusterHealth = { ...wellCluster(seed * 3), provider: 'eks-anywhere', source: 'fleet.yaml' };
  const { name } = cluster;
  const finding = findingOf(name);
  const ends = endsOf(seed, 'eks-anywhere')
    .filter(({ what }) => what !== 'apiserver-etcd-client')
    .map((end) =>
      end.what === 'kube-apiserver' ? { ...end, notBefore: inDays(-323.8), notAfter: inDays(41.2) } : end,
    );
  const soon: ClassEnd = {
    what: 'apiserver-etcd-client',
    count: 3,
    notBefore: inDays(-352.6),
    notAfter: inDays(12.4),
    where: '10.0.1.31:6443',
  };
  const expiring = findingOf(name, {
    severity: 'warning',
    what: 'kube-apiserver',
    object: 'kube-apiserver 10.0.1.31:6443',
    message: 'the kube-apiserver certificate ends in 41 days; a rollout of the control plane machines renews it',
    due: inDays(41.2),
    renewedBy: 'a rollout of the control plane machines',
  });
  return {
    ...cluster,
    id: name,
    state: 'critical',
    signals: [
      {
        id: 'CertificatesCritical',
        value: 1,
        classes: { 'apiserver-etcd-client': 1 },
        story: finding.message,
        since: finding.since,
        due: inDays(12.4),
        command: finding.command,
      },
      {
        id: 'RequestsHostile',
        value: 1,
        story: 'worker-3 asks for a certificate that covers 10.0.1.24, which belongs to worker-8',
        since: ago(3),
        command: `certmarshal explain csr-q77zt --cluster ${name}`,
      },
    ],
    audit: auditOf(seed, 'eks-anywhere', {
      counts: { critical: 1, warning: 1, info: 0 },
      findings: [finding, expiring],
      findingCount: 2,
      ends: [soon, ...ends],
      sources: {
        read: ['nodes', 'machines', 'etcdadm-cluster', 'tls', 'clock'],
        unread: ['webhooks'],
        off: ['tls-secrets'],
      },
    }),
    verdicts: [
      {
        csr: 'csr-q77zt',
        uid: 'u1',
        node: 'worker-3',
        verdict: 'leave',
        reason: 'SanNotOwned',
        message: 'IP 10.0.1.24 belongs to worker-8 (Machine eksa-system/md-0-k2m1)',
        outcome: 'none',
        at: ago(3),
        hostile: true,
      },
      {
        csr: 'csr-8xk2p',
        uid: 'u2',
        node: 'worker-7',
        verdict: 'approve',
        reason: 'Proven',
        message: 'worker-7, 10.0.1.23 ← Machine eksa-system/md-0-x7k2',
        outcome: 'written',
        at: ago(9),
      },
    ] as ClusterHealth['verdicts'],
    slo: {
      ...SLO,
      counts: { us: 1204, others: 0, missed: 1, refused: 2, unprovable: 1 },
      attainment: 1204 / 1205,
      budgetLeft: 0.17,
    },
  };
}

/** oslo: nobody can list its requests. */
export function unreadableCluster(seed: number): ClusterHealth {
  const cluster = wellCluster(seed * 3);
  return {
    ...cluster,
    state: 'critical',
    readable: false,
    complete: false,
    sweptAt: ago(1),
    readableAt: ago(1_560),
    signals: [
      {
        id: 'UnreadableFor',
        value: 93_600,
        story: 'its requests cannot be listed: the certificate of the API server has ended',
        since: ago(1_560),
        command: `certmarshal doctor --cluster ${cluster.name}`,
      },
    ],
    findings: [
      {
        kind: 'tls',
        object: 'GET /apis/certificates.k8s.io/v1/certificatesigningrequests of 10.0.7.2:6443',
        message: 'the certificate of the server has ended',
        remedy: 'Renew the certificate of the API server: docs/runbooks/certificate-expired.md.',
        since: ago(1_560),
      },
    ],
    audit: auditOf(seed, 'eks-anywhere', {
      auditedAt: ago(12),
      counts: { critical: 1, warning: 0, info: 0 },
      findings: [
        findingOf(cluster.name, {
          code: 'CertificateExpired',
          object: 'kube-apiserver 10.0.7.2:6443',
          what: 'kube-apiserver',
          message: 'the kube-apiserver certificate ended yesterday',
          due: inDays(-1.08),
          runbook: 'docs/runbooks/certificate-expired.md',
        }),
      ],
      findingCount: 1,
      ends: [
        { what: 'kube-apiserver', count: 1, notBefore: inDays(-366), notAfter: inDays(-1.08), where: '10.0.7.2:6443' },
        ...endsOf(seed, 'eks-anywhere').filter(({ what }) => what !== 'kube-apiserver'),
      ],
      sources: { read: ['tls'], unread: ['nodes', 'signing-requests', 'webhooks'], off: [] },
    }),
  };
}

export function warningCluster(seed: number): ClusterHealth {
  const cluster = wellCluster(seed * 3 + 1);
  const finding = findingOf(cluster.name, {
    code: 'KubeletRenewalOverdue',
    severity: 'warning',
    what: 'kubelet-serving',
    object: 'system:node:worker-9',
    message: 'the kubelet of worker-9 used 93 % of the life of its serving certificate and did not renew it',
    due: inDays(3.1),
    renewedBy: 'the kubelet, on its own, once its request is approved',
    runbook: 'docs/runbooks/kubelet-renewal-overdue.md',
  });
  const audit = auditOf(seed, 'eks', {
    counts: { critical: 0, warning: 1, info: 0 },
    findings: [finding],
    findingCount: 1,
  });
  return {
    ...cluster,
    state: 'warning',
    signals: [
      {
        id: 'KubeletsOverdue',
        value: 1,
        story: finding.message,
        since: ago(300),
        due: inDays(3.1),
        command: finding.command,
      },
    ],
    audit: {
      ...audit,
      ends: audit.ends.map((end) =>
        end.what === 'kubelet-serving' ? { ...end, notBefore: inDays(-41.9), notAfter: inDays(3.1) } : end,
      ),
    },
  };
}

/** A new one, one in maintenance and one that is gone. */
export function otherClusters(): readonly ClusterHealth[] {
  const { audit: _audit, sweptAt: _swept, readableAt: _readable, ...base } = wellCluster(0);
  return [
    { ...base, id: 'rome-new', name: 'rome-new', state: 'new', readable: false, complete: false, slo: NO_REQUESTS },
    {
      ...wellCluster(3),
      id: 'bern-lab',
      name: 'bern-lab',
      state: 'maintenance',
      maintenance: { until: ago(-180), reason: 'upgrade to 1.36' },
    },
    { ...wellCluster(6), id: 'cork-old', name: 'cork-old', state: 'gone', goneSince: ago(2_880) },
  ];
}

/** A fleet of `count` clusters of which `unwell` are not; the worst first. */
export function fleetOf(count: number, unwell = 0): FleetHealth {
  const sick = Array.from({ length: unwell }, (_, index) =>
    index === 1 ? unreadableCluster(index) : index % 3 === 0 ? criticalCluster(index) : warningCluster(index),
  ).toSorted((a, b) => CLUSTER_STATES.indexOf(a.state) - CLUSTER_STATES.indexOf(b.state));
  const taken = new Set(sick.map(({ id }) => id));
  const well: ClusterHealth[] = [];
  for (let seed = 0; well.length < count - sick.length; seed += 1) {
    const cluster = wellCluster(seed);
    if (!taken.has(cluster.id)) well.push(cluster);
  }
  return healthOf([...sick, ...well]);
}

/** berlin is critical, oslo asleep, dublin has an overdue kubelet. */
export function threeClusters(): FleetHealth {
  const rename = (cluster: ClusterHealth, name: string): ClusterHealth =>
    JSON.parse(JSON.stringify(cluster).replaceAll(cluster.name, name));
  return healthOf([
    rename(criticalCluster(0), 'berlin-prod'),
    rename(unreadableCluster(4), 'oslo-edge'),
    rename(warningCluster(7), 'dublin-shop'),
  ]);
}

/** Every cluster is unwell, with all findings, verdicts and problems that an index keeps. */
export function worstFleet(count: number): FleetHealth {
  const long = (text: string) => text.padEnd(290, ' and so on');
  return healthOf(
    Array.from({ length: count }, (_, seed) => {
      const cluster = criticalCluster(seed);
      const findings = Array.from({ length: 20 }, (_unused, index) =>
        findingOf(cluster.name, {
          object: long(`thing ${index}`).slice(0, 200),
          message: long(`finding ${index}`),
          command: long('certmarshal audit'),
        }),
      );
      const [verdict] = cluster.verdicts;
      return {
        ...cluster,
        id: `${cluster.name}-${seed}`,
        name: `${cluster.name}-${seed}`,
        signals: (Object.keys(SIGNALS) as readonly SignalId[]).map((id) => ({
          id,
          value: 1,
          story: long(id),
          command: long('certmarshal'),
        })),
        audit: auditOf(seed, 'eks-anywhere', { findings, findingCount: 40 }),
        verdicts: Array.from({ length: 20 }, () => ({ ...verdict!, message: long('why') })),
      };
    }),
  );
}
