import type { KubernetesClient } from '../kubernetes/client.ts';
import type { handshakes } from '../probe/handshakes.ts';
import type { ObservedRollout } from '../rollout/observed.ts';

/** One cluster, and what its rollouts are read from and written to. */
export interface RolloutTarget {
  /** In the fleet. */
  readonly id: string;
  /** As Cluster API calls it. */
  readonly name: string;
  /** Its management cluster; itself, where it manages itself. */
  readonly management: KubernetesClient;
  readonly managesItself: boolean;
  /** Of its Cluster object, where that is known. @default found by its name, and it has to be the only one */
  readonly namespace?: string;
  /** Of the API server of each control plane machine. @default 6443, or what the Cluster says */
  readonly apiServerPort?: number;
  /** Absent where the machines are not reached: then nothing begins, and nothing can be verified. */
  readonly handshakes?: typeof handshakes;
  /** `<cluster>-apiserver-etcd-client` may be read: it holds a private key beside the certificate. @default false */
  readonly readEtcdClientSecret?: boolean;
}

/**
 * Reads all that the next step of a rollout depends on: one LIST a kind, and a handshake with each control plane machine. Never throws for what is wrong with the
 * cluster: what could not be read is in `unread`.
 */
export async function observeRollout(_target: RolloutTarget, _signal: AbortSignal): Promise<ObservedRollout> {
  throw new Error('not built');
}
