import type { KubernetesClient } from './client.ts';
import { listPages } from './paging.ts';

export type WebhookConfigurationKind = 'MutatingWebhookConfiguration' | 'ValidatingWebhookConfiguration';

/** Of one kind, page by page. Source: admissionregistration.k8s.io/v1. */
export function listWebhookConfigurations(
  client: KubernetesClient,
  kind: WebhookConfigurationKind,
  { signal }: { readonly signal: AbortSignal },
): AsyncGenerator<readonly unknown[]> {
  return listPages(client, { path: `/apis/admissionregistration.k8s.io/v1/${kind.toLowerCase()}s`, signal });
}
