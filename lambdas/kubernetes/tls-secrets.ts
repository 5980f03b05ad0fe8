import { isJsonObject } from '../resources/fields.ts';
import type { KubernetesClient } from './client.ts';
import { listPages } from './paging.ts';

/** A certificate with its chain and key takes 4 to 10 KB. */
const SECRETS_A_PAGE = 250;

/** What is taken of a Secret of type `kubernetes.io/tls`. */
export interface TlsSecret {
  readonly namespace: unknown;
  readonly name: unknown;
  /** `data["tls.crt"]`. */
  readonly certificate: unknown;
}

/**
 * The Secrets of type `kubernetes.io/tls` in all namespaces, page by page; the server selects. The private key is in the same answer:
 * here it ends, nothing else of a Secret goes any further.
 *
 * Source: core/v1, SecretTypeTLS.
 */
export async function* listTlsSecrets(
  client: KubernetesClient,
  { signal }: { readonly signal: AbortSignal },
): AsyncGenerator<readonly TlsSecret[]> {
  const list = { path: '/api/v1/secrets', fieldSelector: 'type=kubernetes.io/tls', signal, limit: SECRETS_A_PAGE };
  for await (const page of listPages(client, list)) yield page.map(withoutKey);
}

function withoutKey(item: unknown): TlsSecret {
  const secret = isJsonObject(item) ? item : {};
  const metadata = isJsonObject(secret['metadata']) ? secret['metadata'] : {};
  const data = isJsonObject(secret['data']) ? secret['data'] : {};
  return { namespace: metadata['namespace'], name: metadata['name'], certificate: data['tls.crt'] };
}
