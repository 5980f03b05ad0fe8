import { viewOf } from '../../bin/commands/audit/groups.ts';
import { timelineLines } from '../../bin/commands/audit/view.ts';
import { draw } from '../../bin/terminal/draw.ts';
import { assessExpiry } from '../../lambdas/audit/assess.ts';
import { DEFAULT_THRESHOLDS } from '../../lambdas/audit/rules/thresholds.ts';
import type { Observation } from '../../lambdas/contracts/observation.ts';
import type { CertificateClass } from '../../lambdas/tables/certificate-classes.ts';
import { terminalSvg } from './terminal-svg.ts';

const NOW = '2026-11-21T20:00:00.000Z';

interface Seen {
  readonly what: CertificateClass;
  readonly where: readonly string[];
  readonly notBefore: string;
  readonly notAfter: string;
  readonly source?: 'cluster-secrets' | 'trust-configmaps';
}

const numbered = (count: number, where: (index: number) => string): readonly string[] =>
  Array.from({ length: count }, (_, index) => where(index + 1));
const authority = {
  notBefore: '2025-08-06T00:00:00Z',
  notAfter: '2035-08-06T00:00:00Z',
  source: 'trust-configmaps',
} as const;

/** An EKS Anywhere cluster in its first year: nothing was rolled since it was made. */
const SEEN: readonly Seen[] = [
  {
    what: 'apiserver-etcd-client',
    where: ['Secret eksa-system/berlin-prod-apiserver-etcd-client tls.crt'],
    notBefore: '2025-12-03T20:00:00Z',
    notAfter: '2026-12-03T20:00:00Z',
    source: 'cluster-secrets',
  },
  {
    what: 'kube-apiserver',
    where: numbered(3, (index) => `10.0.1.1${index}:6443`),
    notBefore: '2026-01-01T08:00:00Z',
    notAfter: '2027-01-01T08:00:00Z',
  },
  {
    what: 'kubelet-serving',
    where: numbered(42, (index) => `10.0.2.${index}:10250`),
    notBefore: '2026-07-02T00:00:00Z',
    notAfter: '2027-07-02T00:00:00Z',
  },
  {
    what: 'etcd-server',
    where: numbered(3, (index) => `10.0.1.3${index}:2379`),
    notBefore: '2026-05-05T08:00:00Z',
    notAfter: '2027-05-05T08:00:00Z',
  },
  { what: 'cluster-ca', where: ['ConfigMap kube-system/kube-root-ca.crt ca.crt'], ...authority },
  {
    what: 'client-ca',
    where: ['ConfigMap kube-system/extension-apiserver-authentication client-ca-file'],
    ...authority,
  },
  {
    what: 'front-proxy-ca',
    where: ['ConfigMap kube-system/extension-apiserver-authentication requestheader-client-ca-file'],
    ...authority,
  },
];

const certificates = (seen: readonly Seen[]): readonly Observation[] =>
  seen.flatMap(({ where: places, source = 'tls' as const, ...rest }, group) =>
    places.map(
      (where, index): Observation => ({
        ...rest,
        kind: 'certificate',
        where,
        source,
        basis: 'certificate',
        observedAt: NOW,
        fingerprint: `${group}${rest.what.length}`.padStart(8, '0') + String(index).padStart(56, '0'),
      }),
    ),
  );

/** The first lines that `certmarshal audit` prints of a cluster, on a terminal of 120 columns. */
export function auditPicture(): string {
  const observations: readonly Observation[] = [
    ...certificates(SEEN),
    ...(['cluster-secrets', 'trust-configmaps', 'nodes', 'signing-requests'] as const).map(
      (source) => ({ kind: 'read', source, observedAt: NOW, count: 3 }) as const,
    ),
  ];
  const cluster = { id: 'berlin-prod', provider: 'eks-anywhere' } as const;
  const now = Date.parse(NOW);
  const assessed = assessExpiry(cluster, observations, undefined, DEFAULT_THRESHOLDS, now);
  const snapshot = {
    version: 1,
    cluster: cluster.id,
    provider: cluster.provider,
    auditedAt: NOW,
    ...assessed,
  } as const;
  const view = viewOf({ snapshot, durationMs: 900, requests: 21 }, now);
  const server = { context: 'admin@berlin-prod', address: '10.0.1.10:6443' };
  return terminalSvg(
    draw(timelineLines(view, now, server), { width: 120, colours: true }),
    'Terminal: certmarshal audit shows the certificates of a cluster as a timeline, what expires first at the top',
  );
}
