import type { SweepTarget } from '../approval/observe.ts';
import type { ApprovalPolicy } from '../approval/policy.ts';
import type { ClusterContext } from '../approval/request.ts';
import type { EksAuditReader } from '../aws/eks-audit.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';

/** What an audit may read; each needs a permission or a route that not every cluster grants. */
export interface AuditReach {
  /** Handshakes with machines and Nodes, besides the API endpoint. */
  readonly handshakes: boolean;
  /** TLS Secrets of the cluster, and the Secrets that Cluster API keeps for it. */
  readonly secrets: boolean;
  /** Metrics of every kubelet through the API server. */
  readonly kubeletMetrics: boolean;
}

export interface ServerPorts {
  readonly kubeApiserver: number;
  readonly kubelet: number;
  readonly etcdClient: number;
  readonly etcdPeer: number;
  readonly kubeControllerManager: number;
  readonly kubeScheduler: number;
}

/** The defaults of Kubernetes and etcd. Source: Kubernetes, "Ports and Protocols". */
export const DEFAULT_PORTS: ServerPorts = {
  kubeApiserver: 6443,
  kubelet: 10250,
  etcdClient: 2379,
  etcdPeer: 2380,
  kubeControllerManager: 10257,
  kubeScheduler: 10259,
};

/** One cluster, and open connections to everything that knows about it. */
export interface AuditTarget {
  /** Id in the fleet; on the command line, the name. */
  readonly id: string;
  readonly cluster: ClusterContext;
  readonly workload: KubernetesClient;
  /** The cluster that has its Machines; absent without Cluster API. */
  readonly management?: KubernetesClient;
  /** Namespace of its Cluster object and of everything that belongs to it. */
  readonly machinesNamespace: string;
  /** Namespace of the owner's EKS Anywhere Cluster. @default the only one of the name */
  readonly eksAnywhereNamespace?: string;
  /** Reads this cluster in EKS; absent for other providers. */
  readonly eks?: EksAuditReader;
  readonly reach: AuditReach;
  /** @default DEFAULT_PORTS */
  readonly ports?: ServerPorts;
  /** Policies that judge issued certificates. @default the built-in policy */
  readonly policies?: readonly ApprovalPolicy[];
  /** As in {@link SweepTarget}. */
  readonly vpcId?: SweepTarget['vpcId'];
  readonly listInstances?: SweepTarget['listInstances'];
  readonly endpointAddresses?: SweepTarget['endpointAddresses'];
  readonly resolve?: SweepTarget['resolve'];
}
