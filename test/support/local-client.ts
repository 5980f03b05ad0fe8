import { type ClientOptions, createKubernetesClient, type KubernetesClient } from '../../lambdas/kubernetes/client.ts';

/** A client of an API server of this machine. */
export function localClient(
  { server, caPem }: { readonly server: string; readonly caPem: string },
  token: string,
  options?: ClientOptions,
): KubernetesClient {
  return createKubernetesClient({ server, caPem, credentials: { kind: 'token', token }, addresses: 'local' }, options);
}
