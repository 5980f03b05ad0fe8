import { tallyOf } from '../../../lambdas/audit/summary.ts';
import { DEFAULT_MONITORING } from '../../../lambdas/config/fleet.ts';
import type { AuditSummary, ClassEnd, VerdictCounts } from '../../../lambdas/contracts/audit-summary.ts';
import type { ExpiryFinding } from '../../../lambdas/contracts/finding.ts';
import type { IndexedCluster, IndexedRollout } from '../../../lambdas/contracts/fleet-index.ts';
import type { RegisteredCluster } from '../../../lambdas/contracts/registry.ts';
import { type FleetHealth, fleetHealth } from '../../../lambdas/health/fleet-health.ts';
import type { MaintenanceWindow } from '../../../lambdas/health/maintenance.ts';
import type { CertificateClass } from '../../../lambdas/tables/certificate-classes.ts';
import { DAY_MS } from '../../../lambdas/time.ts';
import { type FindingChanges, findingOf as sampleFinding } from '../words/samples.ts';

export const AT = '2026-11-22T02:00:00.000Z';
const NOW = Date.parse(AT);

export function inDays(days: number): string {
  return new Date(NOW + days * DAY_MS).toISOString();
}

export function ago(minutes: number): string {
  return new Date(NOW - minutes * 60_000).toISOString();
}

/** What a hub knows of a cluster. */
export interface Known {
  readonly registered: RegisteredCluster;
  readonly indexed?: IndexedCluster;
  readonly maintenance?: MaintenanceWindow;
}

/** A fleet of some clusters, as a hub judges it. */
export function healthOf(clusters: readonly Known[], rest: Partial<FleetHealth> = {}): FleetHealth {
  const registry = {
    version: 1 as const,
    writtenAt: ago(1),
    sources: {},
    clusters: Object.fromEntries(clusters.map(({ registered }) => [registered.id, registered])),
  };
  const index = {
    version: 2 as const,
    writtenAt: ago(1),
    problems: [],
    apart: {},
    series: [],
    clusters: Object.fromEntries(
      clusters.flatMap(({ indexed }) => (indexed === undefined ? [] : [[indexed.id, indexed]])),
    ),
  };
  const maintenance = clusters.flatMap((cluster) => cluster.maintenance ?? []);
  return { ...fleetHealth(registry, index, { ...DEFAULT_MONITORING, maintenance }, NOW), ...rest };
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

/** Kubelet serving certificates by verdict. */
export function issuedOf(counts: Partial<VerdictCounts>): VerdictCounts {
  return { 'names-another': 0, 'not-proven': 0, unknown: 0, proven: 0, ...counts };
}

export function auditOf(
  seed: number,
  provider: 'eks' | 'eks-anywhere',
  rest: Partial<AuditSummary> = {},
): AuditSummary {
  const { findings = [] } = rest;
  return {
    auditedAt: ago(4 + (seed % 11)),
    durationMs: 2_100,
    counts: { critical: 0, warning: 0, info: 0 },
    findings,
    findingCount: findings.length,
    tally: tallyOf(findings),
    ends: endsOf(seed, provider),
    issued: issuedOf({ proven: provider === 'eks' ? 28 : 42 }),
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

export function wellCluster(seed: number): Required<Omit<Known, 'maintenance'>> {
  const provider = seed % 3 === 0 ? 'eks-anywhere' : 'eks';
  const name = `${TOWNS[seed % TOWNS.length]}-${STAGES[Math.floor(seed / 10) % STAGES.length]}${seed >= 50 ? `-${Math.floor(seed / 50)}` : ''}`;
  const id = provider === 'eks' ? `111122223333/eu-central-1/${name}` : name;
  return {
    registered: {
      id,
      source: provider === 'eks' ? 'eks 111122223333/eu-central-1' : 'fleet.yaml',
      foundAt: ago(50_000),
      seenAt: ago(1),
      target: {
        id,
        cluster: { name, provider },
        access: { kind: 'kubeconfig', secret: 'arn:aws:secretsmanager:eu-central-1:111122223333:secret:k-AbCdEf' },
        lane: 'default',
      },
    },
    indexed: {
      id,
      name,
      provider,
      durationMs: 800,
      readable: true,
      complete: true,
      sweptAt: ago(1),
      triedAt: ago(1),
      readableAt: ago(1),
      completeAt: ago(1),
      findings: [],
      findingCount: 0,
      audit: auditOf(seed, provider),
    },
  };
}

/** The same cluster, with a rollout that two of three machines have seen. */
export function rollingCluster<T extends Known>(cluster: T, changed: Partial<IndexedRollout> = {}): T {
  const machine = (number: number, state: 'old' | 'replaced' | 'verified') => ({
    name: `cp-${number}-x7k2p`,
    node: `cp-${number}`,
    state,
    createdAt: ago(40),
    notBefore: inDays(state === 'old' ? -330 : 0),
    notAfter: inDays(state === 'old' ? 35 : 365),
  });
  const rollout: IndexedRollout = {
    state: 'rolling',
    message: '1 of 3 control plane machines replaced and seen, for 40 minutes',
    at: ago(1),
    since: ago(40),
    rollout: { id: 'berlin-20261122', start: ago(40), trigger: 'schedule' },
    soonestEnd: inDays(35),
    span: { from: inDays(-10), until: inDays(25) },
    nextWindow: inDays(6),
    reasons: [],
    reasonCount: 0,
    progress: {
      wanted: 3,
      replaced: 2,
      verified: 1,
      machines: [machine(1, 'old'), machine(2, 'replaced'), machine(3, 'verified')],
      movedAt: ago(20),
    },
    ...changed,
  };
  return { ...cluster, ...(cluster.indexed === undefined ? {} : { indexed: { ...cluster.indexed, rollout } }) };
}

/** One that somebody has to look at. */
export const HELD: Partial<IndexedRollout> = {
  state: 'held',
  message: 'held for 50 minutes: no machine was made or removed for too long',
  reasons: [
    {
      id: 'stuck',
      object: 'Machine eksa-system/cp-2-x7k2p',
      message: 'no machine was made or removed for 50 minutes',
      remedy: 'Check the newest Machine and the events of its infrastructure',
    },
  ],
};

/** One that a check keeps from beginning. */
export const REFUSED: Partial<IndexedRollout> = {
  state: 'refused',
  message: 'a rollout of 3 control plane machines is refused: 2 of 38 checks fail',
  reasons: [
    { id: 'etcd-backup', message: 'no backup is vouched for', remedy: 'Make one, and name it under accepted' },
    { id: 'maintenance-window', message: 'it opens in 6 days', remedy: 'Wait', passing: true },
  ],
  reasonCount: 2,
};

export function findingOf(cluster: string, rest: FindingChanges = {}): ExpiryFinding {
  return sampleFinding({
    severity: 'critical',
    cluster,
    object: 'etcd client of 10.0.1.31:6443',
    what: 'apiserver-etcd-client',
    since: ago(120),
    due: inDays(12.4),
    renewedBy: 'an etcd rollout, then a rollout of the control plane machines',
    ...rest,
  });
}

/** berlin: its etcd client certificate ends, and a node asks for what belongs to its neighbour. */
export function criticalCluster(seed: number): Required<Omit<Known, 'maintenance'>> {
  const { registered, indexed } = wellCluster(seed * 3);
  const { name = '' } = indexed;
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
    due: inDays(41.2),
    renewedBy: 'a rollout of the control plane machines',
  });
  return {
    registered,
    indexed: {
      ...indexed,
      audit: auditOf(seed, 'eks-anywhere', {
        counts: { critical: 1, warning: 1, info: 0 },
        findings: [finding, expiring],
        findingCount: 2,
        ends: [soon, ...ends],
        issued: issuedOf({ proven: 39, unknown: 3 }),
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
          facts: {
            cause: 'of-another',
            name: { kind: 'ip', value: '10.0.1.24' },
            owner: { node: 'worker-8', object: 'Machine eksa-system/md-0-k2m1' },
          },
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
          facts: {
            cause: 'proven',
            proofs: [{ object: 'Machine eksa-system/md-0-x7k2', names: ['worker-7', '10.0.1.23'], count: 2 }],
          },
          outcome: 'written',
          at: ago(9),
        },
      ],
    },
  };
}

/** A node of it has a certificate for the address of another, which a person approved. */
export function impostorCluster(seed: number): Required<Omit<Known, 'maintenance'>> {
  const { registered, indexed } = wellCluster(seed * 3);
  const finding = findingOf(indexed.name ?? '', {
    code: 'IssuedNamesAnother',
    what: 'kubelet-serving',
    object: 'kubelet-serving worker-3',
    due: undefined,
    renewedBy: undefined,
  });
  const audit = auditOf(seed, 'eks-anywhere', {
    counts: { critical: 1, warning: 0, info: 0 },
    findings: [finding],
    findingCount: 1,
    issued: issuedOf({ proven: 36, unknown: 3, 'not-proven': 2, 'names-another': 1 }),
  });
  return { registered, indexed: { ...indexed, audit } };
}

/** oslo: nobody can list its requests. */
export function unreadableCluster(seed: number): Required<Omit<Known, 'maintenance'>> {
  const { registered, indexed } = wellCluster(seed * 3);
  return {
    registered,
    indexed: {
      ...indexed,
      readable: false,
      complete: false,
      sweptAt: ago(1),
      readableAt: ago(1_560),
      findingCount: 1,
      findings: [
        {
          kind: 'certificate',
          object: 'list certificatesigningrequests on https://10.0.7.2:6443',
          message: 'a certificate of the endpoint has expired',
          remedy: 'Renew the certificate of the API server: certmarshal runbook recovery.',
          since: ago(1_560),
        },
      ],
      audit: auditOf(seed, 'eks-anywhere', {
        auditedAt: ago(12),
        counts: { critical: 1, warning: 0, info: 0 },
        findings: [
          findingOf(indexed.name ?? '', {
            code: 'CertificateExpired',
            object: 'kube-apiserver 10.0.7.2:6443',
            what: 'kube-apiserver',
            due: inDays(-1.08),
          }),
        ],
        findingCount: 1,
        ends: [
          {
            what: 'kube-apiserver',
            count: 1,
            notBefore: inDays(-366),
            notAfter: inDays(-1.08),
            where: '10.0.7.2:6443',
          },
          ...endsOf(seed, 'eks-anywhere').filter(({ what }) => what !== 'kube-apiserver'),
        ],
        sources: { read: ['tls'], unread: ['nodes', 'signing-requests', 'webhooks'], off: [] },
      }),
    },
  };
}

export function warningCluster(seed: number): Required<Omit<Known, 'maintenance'>> {
  const { registered, indexed } = wellCluster(seed * 3 + 1);
  const finding = findingOf(indexed.name ?? '', {
    code: 'KubeletRenewalOverdue',
    severity: 'warning',
    what: 'kubelet-serving',
    object: 'system:node:worker-9',
    since: ago(300),
    due: inDays(3.1),
    renewedBy: 'the kubelet, automatically, once its request is approved',
  });
  const audit = auditOf(seed, 'eks', {
    counts: { critical: 0, warning: 1, info: 0 },
    findings: [finding],
    findingCount: 1,
  });
  const ends = audit.ends.map((end) =>
    end.what === 'kubelet-serving' ? { ...end, notBefore: inDays(-41.9), notAfter: inDays(3.1) } : end,
  );
  return { registered, indexed: { ...indexed, audit: { ...audit, ends } } };
}

/** The same cluster under another name. */
export function renamed<T extends Known>(cluster: T, name: string): T {
  const old = cluster.indexed?.name ?? cluster.registered.id;
  return JSON.parse(JSON.stringify(cluster).replaceAll(old, name));
}

/** A new one, one in maintenance and one that is gone. */
export function otherClusters(): readonly Known[] {
  const { registered } = renamed(wellCluster(0), 'rome-new');
  const gone = renamed(wellCluster(6), 'cork-old');
  return [
    { registered: { ...registered, foundAt: ago(1) } },
    {
      ...renamed(wellCluster(3), 'bern-lab'),
      maintenance: { clusters: ['bern-lab'], reason: 'upgrade to 1.36', when: { from: ago(60), until: ago(-180) } },
    },
    { ...gone, registered: { ...gone.registered, missingSince: ago(2_880) } },
  ];
}

/** `count` clusters of which `unwell` are not. */
export function clustersOf(count: number, unwell = 0): readonly Known[] {
  const sick = Array.from({ length: unwell }, (_, index) =>
    index === 1 ? unreadableCluster(index) : index % 3 === 0 ? criticalCluster(index) : warningCluster(index),
  );
  const taken = new Set(sick.map(({ registered }) => registered.id));
  const well: Known[] = [];
  for (let seed = 0; well.length < count - sick.length; seed += 1) {
    const cluster = wellCluster(seed);
    if (!taken.has(cluster.registered.id)) well.push(cluster);
  }
  return [...sick, ...well];
}

export function fleetOf(count: number, unwell = 0): FleetHealth {
  return healthOf(clustersOf(count, unwell));
}

/** berlin is critical, oslo asleep, dublin has an overdue kubelet. */
export function three(): readonly Known[] {
  return [
    renamed(criticalCluster(0), 'berlin-prod'),
    renamed(unreadableCluster(4), 'oslo-edge'),
    renamed(warningCluster(7), 'dublin-shop'),
  ];
}

export function threeClusters(): FleetHealth {
  return healthOf(three());
}

/** Every cluster is unwell, with all findings, verdicts and problems that an index keeps. */
export function worstFleet(count: number): FleetHealth {
  const long = (text: string) => text.padEnd(290, ' and so on');
  const codes = [
    'CertificateExpiring',
    'KubeletRenewalOverdue',
    'SourceLost',
    'RequestNotIssued',
    'RequestDenied',
  ] as const;
  return healthOf(
    Array.from({ length: count }, (_unused, seed): Known => {
      const cluster = criticalCluster(seed);
      const { registered, indexed } = renamed(cluster, `${cluster.indexed.name}-${seed}`);
      const findings = Array.from({ length: 20 }, (_, index) =>
        findingOf(indexed.name ?? '', {
          code: codes[index % codes.length] ?? 'SourceLost',
          severity: index % 2 === 0 ? 'critical' : 'warning',
          object: long(`thing ${index}`).slice(0, 200),
          renewedBy: long(`finding ${index}`),
        }),
      );
      const verdicts = (indexed.verdicts ?? []).slice(0, 1);
      return {
        registered,
        indexed: {
          ...indexed,
          audit: auditOf(seed, 'eks-anywhere', { findings, findingCount: 40 }),
          verdicts: Array.from({ length: 20 }, () =>
            verdicts.map((line) => ({ ...line, facts: { cause: 'fault' as const, problem: long('why') } })),
          ).flat(),
        },
      };
    }),
  );
}
