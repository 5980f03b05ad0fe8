import type { V1APIGroup } from '@kubernetes/client-node';
import { printable } from '../printable.ts';
import { list, raw, text } from '../resources/fields.ts';
import { firstOf } from '../words.ts';
import type { KubernetesClient } from './client.ts';
import { KubernetesError } from './errors.ts';

/**
 * The versions of a group that a server offers.
 *
 * @throws KubernetesError; `not-found` when it does not serve the group
 */
export async function servedVersions(
  client: KubernetesClient,
  group: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const answer = await client.request({ method: 'GET', path: `/apis/${group}`, right: 'discovery', signal });
  return list(raw<V1APIGroup>(answer), 'versions').flatMap((entry) => text(entry, 'version') ?? []);
}

interface ExplainedCall {
  readonly client: KubernetesClient;
  /** Group and version as in its path: `apis/GROUP/VERSION`. */
  readonly api: string;
  /** The call, for the error. */
  readonly object: string;
  readonly signal: AbortSignal;
}

/**
 * Interprets a 404 for a kind: absent, or the server has the group only in other versions than supported. What these
 * objects say, such as an owner's veto, is then unknown, not absent.
 */
export async function explainNotFound(
  error: KubernetesError,
  { client, api, object, signal }: ExplainedCall,
): Promise<unknown> {
  const [, group = '', version = ''] = api.split('/');
  try {
    const served = await servedVersions(client, group, signal);
    if (served.length === 0 || served.includes(version)) return error;
    return new KubernetesError({
      kind: 'invalid',
      object,
      problem: `${group} is served in ${firstOf(served.map((one) => printable(one, 63)))}, and not in ${version}`,
      remedy: `Upgrade certmarshal: this one reads ${version} and no newer version.`,
    });
  } catch (failed) {
    return failed instanceof KubernetesError && failed.kind === 'not-found' ? error : failed;
  }
}
