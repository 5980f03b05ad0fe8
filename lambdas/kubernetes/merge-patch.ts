import type { KubernetesClient } from './client.ts';
import type { JsonObject } from './json.ts';

/** One JSON merge patch of one object. */
export interface MergePatch {
  /** Of the object. */
  readonly path: string;
  /** Names `metadata.uid` and `metadata.resourceVersion` of what was read: of another one, or a later one, the server makes a conflict. */
  readonly body: JsonObject;
  /** Owner of the fields that it sets. */
  readonly fieldManager: string;
  /** Goes through validation and admission, webhooks too, and stores nothing. */
  readonly dryRun: boolean;
  readonly signal: AbortSignal;
}

/**
 * Writes some fields of an object; the others stay as they are. A field that the server does not know is refused, where it would be dropped in silence otherwise.
 *
 * @returns the object as it is now, or with a dry run would be
 * @throws KubernetesError; `conflict` when it is not the object that was read any more
 */
export async function mergePatch(
  client: KubernetesClient,
  { path, body, fieldManager, dryRun, signal }: MergePatch,
): Promise<JsonObject> {
  const query = { fieldManager, fieldValidation: 'Strict', ...(dryRun ? { dryRun: 'All' } : {}) };
  return client.request({ method: 'PATCH', path, query, body, signal });
}
