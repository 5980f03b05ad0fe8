import type { KubernetesClient } from './client.ts';
import { listPages } from './paging.ts';

/** Schemas make 20 to 100 KB of one ordinary, and a few hundred are. */
const DEFINITIONS_A_PAGE = 50;

/** The CustomResourceDefinitions of a cluster, page by page. Source: apiextensions.k8s.io/v1. */
export function listCustomResourceDefinitions(
  client: KubernetesClient,
  { signal }: { readonly signal: AbortSignal },
): AsyncGenerator<readonly unknown[]> {
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  return listPages(client, { path, signal, limit: DEFINITIONS_A_PAGE });
}
