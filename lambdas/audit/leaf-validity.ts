import type { KubernetesClient } from '../kubernetes/client.ts';
import type { KubernetesError } from '../kubernetes/errors.ts';
import { listKind } from '../kubernetes/list.ts';
import type { MachineSelection } from '../kubernetes/machines.ts';
import { certificateValidityDays, DEFAULT_VALIDITY_DAYS } from '../resources/kubeadm-control-plane.ts';
import { readList } from './read-list.ts';

export interface LeafValidity {
  readonly days: number;
  /** Why the list was not read completely: the lifetime may be shorter. */
  readonly problem?: KubernetesError;
}

/**
 * The lifetime in days of kubeadm's control plane certificates, from the KubeadmControlPlane (Cluster API since 1.11,
 * the same path in both versions); kubeadm's default if that says none.
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
