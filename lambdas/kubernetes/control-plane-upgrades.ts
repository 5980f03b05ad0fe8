import type { KubernetesClient } from './client.ts';
import { namespacePath } from './namespace-path.ts';
import { listPages } from './paging.ts';

/** The only version there is. */
const GROUP = '/apis/anywhere.eks.amazonaws.com/v1alpha1';

/**
 * The upgrades in place of control planes that EKS Anywhere makes, of all clusters in a namespace: `spec.controlPlane` names the KubeadmControlPlane of each.
 *
 * Source: EKS Anywhere, pkg/api/v1alpha1, `ControlPlaneUpgradeSpec`.
 *
 * @throws KubernetesError; `not-found` when the server does not serve them
 */
export async function* listControlPlaneUpgrades(
  client: KubernetesClient,
  { namespace, signal }: { readonly namespace: string; readonly signal: AbortSignal },
): AsyncGenerator<readonly unknown[]> {
  const within = namespacePath(namespace, `list controlplaneupgrades.anywhere.eks.amazonaws.com on ${client.server}`);
  yield* listPages(client, { path: `${GROUP}/${within}/controlplaneupgrades`, signal });
}
