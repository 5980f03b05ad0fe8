import type { KubernetesClient } from './client.ts';
import { listPages } from './paging.ts';

/** The only version there is. */
const PATH = '/apis/anywhere.eks.amazonaws.com/v1alpha1/controlplaneupgrades';

/**
 * The upgrades in place of control planes that EKS Anywhere makes, of all clusters: `spec.controlPlane` names the KubeadmControlPlane of each.
 *
 * Source: EKS Anywhere, pkg/api/v1alpha1, `ControlPlaneUpgradeSpec`.
 *
 * @throws KubernetesError; `not-found` when the server does not serve them
 */
export async function* listControlPlaneUpgrades(
  client: KubernetesClient,
  { signal }: { readonly signal: AbortSignal },
): AsyncGenerator<readonly unknown[]> {
  yield* listPages(client, { path: PATH, signal });
}
