import type {
  V1APIService,
  V1CustomResourceDefinition,
  V1MutatingWebhookConfiguration,
  V1ValidatingWebhookConfiguration,
} from '@kubernetes/client-node';
import type { Observation, Use } from '../../contracts/observation.ts';
import { type ListedKindId, listKind } from '../../kubernetes/list.ts';
import { printable } from '../../printable.ts';
import { field, list, raw, text } from '../../resources/fields.ts';
import type { SourceId } from '../../tables/audit-sources.ts';
import { keysOf } from '../../tables/keys.ts';
import { timestamp } from '../../time.ts';
import { firstOf } from '../../words.ts';
import { type CertificateBundle, decodeBundle } from '../../x509/certificate-bundle.ts';
import type { AuditSource } from '../audit-source.ts';
import { certificatesAt, malformed } from '../certificates-at.ts';
import { decodedText, shownName } from '../objects.ts';
import { cutShort, readList } from '../read-list.ts';

const KINDS = {
  validatingwebhookconfigurations: 'ValidatingWebhookConfiguration',
  mutatingwebhookconfigurations: 'MutatingWebhookConfiguration',
} as const;

/** Source: Kubernetes, admissionregistration.k8s.io/v1: `failurePolicy` is Fail by default. */
function useOf(webhook: unknown): Use {
  const blocks = text(webhook, 'failurePolicy') !== 'Ignore';
  const rules = list(webhook, 'rules');
  const all = (key: string): readonly string[] => [
    ...new Set(rules.flatMap((rule) => list(rule, key)).filter((one) => typeof one === 'string')),
  ];
  const calls = `${firstOf(all('operations'))} of ${firstOf(all('resources'))}`;
  const effect = blocks ? `${calls} fails (failurePolicy Fail)` : `${calls} skips it (failurePolicy Ignore)`;
  const [name, namespace] = ['name', 'namespace'].map((key) => text(webhook, 'clientConfig', 'service', key));
  const server = name === undefined || namespace === undefined ? undefined : `${name}.${namespace}.svc`;
  return { blocks, effect: printable(effect, 300), server: server && printable(server, 253) };
}

/** CA bundles with which kube-apiserver verifies admission webhooks. */
export const webhooks = caBundleSource('webhooks', keysOf(KINDS), (object, plural) =>
  list(raw<V1ValidatingWebhookConfiguration | V1MutatingWebhookConfiguration>(object), 'webhooks').map((webhook) => ({
    where: `${KINDS[plural]} ${shownName(object)} (webhook ${printable(text(webhook, 'name') ?? '', 253)})`,
    caBundle: field(webhook, 'clientConfig', 'caBundle'),
    usedBy: useOf(webhook),
  })),
);

/** CA bundles with which kube-apiserver verifies conversion webhooks. */
export const crdConversions = caBundleSource('crd-conversions', ['customresourcedefinitions'], (object) => [
  {
    where: `CustomResourceDefinition ${shownName(object)} (conversion)`,
    caBundle: field(
      raw<V1CustomResourceDefinition>(object),
      'spec',
      'conversion',
      'webhook',
      'clientConfig',
      'caBundle',
    ),
    usedBy: {
      blocks: true,
      effect: 'its objects can be neither read nor written in another version than the stored one',
    },
  },
]);

/** CA bundles with which kube-apiserver verifies aggregated API servers. */
export const apiServices = caBundleSource('api-services', ['apiservices'], (object) => [
  {
    where: `APIService ${shownName(object)}`,
    caBundle: field(raw<V1APIService>(object), 'spec', 'caBundle'),
    usedBy: { blocks: true, effect: 'every call of this API fails' },
  },
]);

/** A cluster with 100 operators has about 500 places, most with the same bundle. */
const MOST = 2_000;
/** Distinct bundles that are decoded only once. */
const REMEMBERED = 100;

interface CaBundle {
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
function caBundleSource<K extends ListedKindId>(
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
      const origin = { source: id, observedAt: timestamp(now()) };
      const observations: Observation[] = [];
      const decoded = new Map<string, CertificateBundle>();
      const observationsAt = ({ where, caBundle, usedBy }: CaBundle): readonly Observation[] => {
        const sighting = { ...origin, what: 'ca-bundle', where, usedBy } as const;
        const read = decodedText(caBundle);
        if ('problem' in read) return [malformed(sighting, `caBundle: ${read.problem}`)];
        const bundle = decoded.get(read.pem) ?? decodeBundle(read.pem);
        if (decoded.size < REMEMBERED) decoded.set(read.pem, bundle);
        return certificatesAt(sighting, bundle, target.cluster.provider).observations;
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
        observations: [...observations, ...cutShort(origin, ...readings)],
        count: readings.reduce((sum, { count }) => sum + count, 0),
      };
    },
  };
}
