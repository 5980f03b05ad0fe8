import type { KubernetesClient } from '../kubernetes/client.ts';
import type { KubernetesError } from '../kubernetes/errors.ts';
import { listKind } from '../kubernetes/list.ts';
import type { MachineSelection } from '../kubernetes/machines.ts';
import { certificateValidityDays } from '../resources/kubeadm-control-plane.ts';
import { readList } from './read-list.ts';

/** Of kubeadm and etcdadm. */
export const DEFAULT_VALIDITY_DAYS = 365;

export interface LeafValidity {
  readonly days: number;
  /** Why the list was not read to its end: then they may be fewer. */
  readonly problem?: KubernetesError;
}

/**
 * How many days the certificates live that kubeadm makes for the control plane of a cluster, by its KubeadmControlPlane (Cluster API since 1.11, the
 * same path in both versions); kubeadm's default where that says none.
 */
export async function leafValidity(client: KubernetesClient, selection: MachineSelection): Promise<LeafValidity> {
  let shortest: number | undefined;
  const { problem } = await readList(listKind(client, 'kubeadmcontrolplanes', selection), (plane) => {
    const days = certificateValidityDays(plane);
    if (days !== undefined) shortest = Math.min(shortest ?? days, days);
    return 'more';
  });
  return { days: shortest ?? DEFAULT_VALIDITY_DAYS, problem };
}
