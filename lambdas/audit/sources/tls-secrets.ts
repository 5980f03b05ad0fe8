import type { V1Secret } from '@kubernetes/client-node';
import type { Observation } from '../../contracts/observation.ts';
import type { KubernetesClient } from '../../kubernetes/client.ts';
import { listKind } from '../../kubernetes/list.ts';
import { field, raw } from '../../resources/fields.ts';
import { timestamp } from '../../time.ts';
import type { AuditSource } from '../audit-source.ts';
import { certificatesAt, malformed } from '../certificates-at.ts';
import { decodedText, shownName } from '../objects.ts';
import { cutShort, readList } from '../read-list.ts';

const MOST = 10_000;
const what = 'tls-secret';

/** The certificates of Secrets of type `kubernetes.io/tls`. The reader of the list drops the keys. */
export const tlsSecrets: AuditSource = {
  id: 'tls-secrets',
  stage: 'second',
  deadlineMs: 10_000,
  off: ({ reach }) => (reach.secrets ? undefined : 'not opted in (auditSecrets), so what webhooks serve is not seen'),
  async observe({ target, now, signal }) {
    const origin = { source: 'tls-secrets' as const, observedAt: timestamp(now()) };
    const observations: Observation[] = [];
    const look = ({ namespace, name, certificate }: TlsSecret): 'more' | 'full' => {
      if (observations.length >= MOST) return 'full';
      const where = `Secret ${shownName({ metadata: { namespace, name } })}`;
      const sighting = { ...origin, what, where } as const;
      const text = decodedText(certificate ?? '');
      if ('problem' in text || text.pem === '')
        observations.push(malformed(sighting, `tls.crt: ${'problem' in text ? text.problem : 'it is empty'}`));
      else {
        const seen = certificatesAt(sighting, text.pem, target.cluster.provider);
        for (const observation of seen.observations) observations.push(observation);
      }
      return 'more';
    };
    const reading = await readList(listTlsSecrets(target.workload, { signal }), look);
    return { observations: [...observations, ...cutShort(origin, reading)], count: reading.count };
  },
};

/** The used part of a Secret of type `kubernetes.io/tls`. */
interface TlsSecret {
  readonly namespace: unknown;
  readonly name: unknown;
  /** `data["tls.crt"]`. */
  readonly certificate: unknown;
}

/**
 * The Secrets of type `kubernetes.io/tls` in all namespaces, page by page; the server selects. The private key is in
 * the same answer and is dropped here.
 */
export async function* listTlsSecrets(
  client: KubernetesClient,
  { signal }: { readonly signal: AbortSignal },
): AsyncGenerator<readonly TlsSecret[]> {
  for await (const page of listKind(client, 'tlsSecrets', { signal })) yield page.map(withoutKey);
}

function withoutKey(item: unknown): TlsSecret {
  const secret = raw<V1Secret>(item);
  return {
    namespace: field(secret, 'metadata', 'namespace'),
    name: field(secret, 'metadata', 'name'),
    certificate: field(secret, 'data', 'tls.crt'),
  };
}
