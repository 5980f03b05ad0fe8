import type { ClusterHealth } from '../health/fleet-health.ts';
import type { CertificateClass } from '../tables/certificate-classes.ts';
import type { FindingCode } from '../tables/finding-codes.ts';

/** The certificates of one class in one cluster: one mark of the timeline. */
export interface CertificateEnd {
  readonly cluster: Pick<ClusterHealth, 'id' | 'name' | 'provider'>;
  readonly what: CertificateClass;
  readonly count: number;
  /** Expiry of the first one. Milliseconds since the epoch. */
  readonly at: number;
  /** `well`: it expires, but nothing says too soon. */
  readonly urgency: Urgency;
}

export const URGENCIES = ['critical', 'warning', 'well'] as const;
export type Urgency = (typeof URGENCIES)[number];

/** Findings about an expiry that is too soon. */
const ABOUT_ENDS: ReadonlySet<FindingCode> = new Set<FindingCode>([
  'CertificateExpired',
  'CertificateExpiring',
  'KubeletRenewalOverdue',
  'AuthorityBoundsLeaves',
]);

/** For every cluster that is not gone, the first expiry first. @param now milliseconds since the epoch */
export function certificateEnds(clusters: readonly ClusterHealth[], now: number): readonly CertificateEnd[] {
  return clusters
    .filter(({ state }) => state !== 'gone')
    .flatMap((cluster) => {
      const urgencies = urgencyByClass(cluster);
      return (cluster.audit?.ends ?? []).flatMap(({ what, count, notAfter }): readonly CertificateEnd[] => {
        const at = Date.parse(notAfter);
        if (Number.isNaN(at)) return [];
        // An old audit has no finding for a certificate that has expired since.
        const urgency = urgencies.get(what) ?? (at <= now ? 'warning' : 'well');
        return [{ cluster, what, count, at, urgency }];
      });
    })
    .toSorted((a, b) => URGENCIES.indexOf(a.urgency) - URGENCIES.indexOf(b.urgency) || a.at - b.at);
}

/** Urgency of each class's expiry. If findings were cut, the tally has all of them. */
export function urgencyByClass({ audit }: Pick<ClusterHealth, 'audit'>): ReadonlyMap<CertificateClass, Urgency> {
  const worst = new Map<CertificateClass, Urgency>();
  for (const { code, severity, what } of [...(audit?.tally ?? []), ...(audit?.findings ?? [])]) {
    if (what === undefined || severity === 'info' || !ABOUT_ENDS.has(code)) continue;
    if (worst.get(what) !== 'critical') worst.set(what, severity);
  }
  return worst;
}
