import type { Observation, Use } from '../contracts/observation.ts';
import { type ListedKindId, listKind } from '../kubernetes/list.ts';
import type { SourceId } from '../tables/audit-sources.ts';
import { timestamp } from '../time.ts';
import { type CertificateBundle, decodeBundle } from '../x509/certificate-bundle.ts';
import type { AuditSource } from './audit-source.ts';
import { bundleAt, malformed } from './certificates-at.ts';
import { decodedText } from './objects.ts';
import { cutShort, readList } from './read-list.ts';

/** A cluster with 100 operators has about 500 places, most with the same bundle. */
const MOST = 2_000;
/** Distinct bundles that are decoded only once. */
const REMEMBERED = 100;

export interface CaBundle {
  readonly where: string;
  /** Base64 of PEM; absent or empty if the roots of the machine are trusted. */
  readonly caBundle: unknown;
  readonly usedBy: Use;
}

/**
 * A source of the CA bundles that verify webhooks and similar servers.
 *
 * @param bundlesOf those of one object, which may have any shape
 */
export function caBundleSource<K extends ListedKindId>(
  id: SourceId,
  kinds: readonly K[],
  bundlesOf: (object: unknown, kind: K) => readonly CaBundle[],
): AuditSource {
  return {
    id,
    stage: 'second',
    deadlineMs: 10_000,
    off: () => undefined,
    async observe({ target, now, signal }) {
      const told = { source: id, observedAt: timestamp(now()) };
      const observations: Observation[] = [];
      const decoded = new Map<string, CertificateBundle>();
      const observationsAt = ({ where, caBundle, usedBy }: CaBundle): readonly Observation[] => {
        const sighting = { ...told, what: 'ca-bundle', where, usedBy } as const;
        const text = decodedText(caBundle);
        if ('problem' in text) return [malformed(sighting, `caBundle: ${text.problem}`)];
        const bundle = decoded.get(text.pem) ?? decodeBundle(text.pem);
        if (decoded.size < REMEMBERED) decoded.set(text.pem, bundle);
        return bundleAt(sighting, bundle, target.cluster.provider).observations;
      };
      const look = (object: unknown, kind: K): 'more' | 'full' => {
        for (const one of bundlesOf(object, kind)) {
          if (one.caBundle === undefined || one.caBundle === null || one.caBundle === '') continue;
          if (observations.length >= MOST) return 'full';
          for (const observation of observationsAt(one)) observations.push(observation);
        }
        return 'more';
      };
      const readings = await Promise.all(
        kinds.map(async (kind) =>
          readList(listKind(target.workload, kind, { signal }), (object) => look(object, kind)),
        ),
      );
      return {
        observations: [...observations, ...cutShort(told, ...readings)],
        count: readings.reduce((sum, { count }) => sum + count, 0),
      };
    },
  };
}
