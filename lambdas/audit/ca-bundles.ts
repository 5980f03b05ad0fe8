import type { Observation, Use } from '../contracts/observation.ts';
import type { SourceId } from '../tables/audit-sources.ts';
import { type CertificateBundle, decodeBundle } from '../x509/certificate-bundle.ts';
import type { AuditContext } from './audit-source.ts';
import { bundleAt, malformed } from './certificates-at.ts';
import { decodedText } from './objects.ts';

/** A cluster with 100 operators has about 500 places, most with the same bundle. */
const MOST = 2_000;
/** Distinct bundles that are decoded only once. */
const REMEMBERED = 100;

/** Collects the CA bundles that verify webhooks and similar servers. */
export interface CaBundles {
  readonly observations: readonly Observation[];
  /** @param caBundle base64 of PEM; absent or empty if the roots of the machine are trusted */
  add(where: string, caBundle: unknown, usedBy: Use): 'more' | 'full';
}

export function collectCaBundles(source: SourceId, { target, now }: AuditContext): CaBundles {
  const observedAt = new Date(now()).toISOString();
  const observations: Observation[] = [];
  const decoded = new Map<string, CertificateBundle>();
  return {
    observations,
    add(where, caBundle, usedBy) {
      if (caBundle === undefined || caBundle === null || caBundle === '') return 'more';
      if (observations.length >= MOST) return 'full';
      const sighting = { what: 'ca-bundle', where, source, observedAt, usedBy } as const;
      const text = decodedText(caBundle);
      if ('problem' in text) {
        observations.push(malformed(sighting, `caBundle: ${text.problem}`));
        return 'more';
      }
      const bundle = decoded.get(text.pem) ?? decodeBundle(text.pem);
      if (decoded.size < REMEMBERED) decoded.set(text.pem, bundle);
      const seen = bundleAt(sighting, bundle, target.cluster.provider);
      for (const observation of seen.observations) observations.push(observation);
      return 'more';
    },
  };
}
