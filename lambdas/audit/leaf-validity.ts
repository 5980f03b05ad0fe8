import { field } from '../approval/wire.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { listKubeadmControlPlanes } from '../kubernetes/kubeadm-control-planes.ts';
import type { MachineSelection } from '../kubernetes/machines.ts';
import { readList } from './read-list.ts';

/** Of kubeadm and etcdadm. */
export const DEFAULT_VALIDITY_DAYS = 365;

/**
 * How many days the certificates live that kubeadm makes for the control plane of a cluster, by its KubeadmControlPlane (Cluster API since 1.11, the
 * same path in both versions). Where that cannot be read, kubeadm's default: that it cannot be read is for the source that is about it to say.
 */
export async function leafValidityDays(client: KubernetesClient, selection: MachineSelection): Promise<number> {
  let shortest: number | undefined;
  await readList(listKubeadmControlPlanes(client, selection), (plane) => {
    const days = field(plane, 'spec', 'kubeadmConfigSpec', 'clusterConfiguration', 'certificateValidityPeriodDays');
    if (typeof days === 'number' && Number.isInteger(days) && days > 0) shortest = Math.min(shortest ?? days, days);
    return 'more';
  });
  return shortest ?? DEFAULT_VALIDITY_DAYS;
}
