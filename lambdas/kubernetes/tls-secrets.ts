import type { V1Secret } from '@kubernetes/client-node';
import { field, raw } from '../resources/fields.ts';
import type { KubernetesClient } from './client.ts';
import { listKind } from './list.ts';

/** The used part of a Secret of type `kubernetes.io/tls`. */
export interface TlsSecret {
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
