import type { SweepTarget } from '../approval/observe.ts';
import type { ApprovalPolicy } from '../approval/policy.ts';
import type { ClusterContext } from '../approval/request.ts';
import type { EksAuditReader } from '../aws/eks-audit.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';

/** How far an audit looks; each costs a right or a route that not everybody gives. */
export interface AuditReach {
  /** Handshakes with machines and Nodes, beside the one with the API endpoint. */
  readonly handshakes: boolean;
  /** TLS Secrets of the cluster, and the Secrets that Cluster API keeps for it. */
  readonly secrets: boolean;
  /** Metrics of every kubelet through the API server. */
  readonly kubeletMetrics: boolean;
}

/** Of the servers on a machine. */
export interface ServerPorts {
  readonly kubeApiserver: number;
  readonly kubelet: number;
  readonly etcdClient: number;
  readonly etcdPeer: number;
  readonly kubeControllerManager: number;
  readonly kubeScheduler: number;
}

/** Those of Kubernetes and etcd. Source: Kubernetes, "Ports and Protocols". */
export const DEFAULT_PORTS: ServerPorts = {
  kubeApiserver: 6443,
  kubelet: 10250,
  etcdClient: 2379,
  etcdPeer: 2380,
  kubeControllerManager: 10257,
  kubeScheduler: 10259,
};

/** One cluster, and open connections to all that is asked about it. */
export interface AuditTarget {
  /** In the fleet; on the command line the name. */
  readonly id: string;
  readonly cluster: ClusterContext;
  readonly workload: KubernetesClient;
  /** Where the cluster's Machines are; absent when Cluster API is not part of the picture. */
  readonly management?: KubernetesClient;
  /** Of its Cluster object there, and of all that belongs to it. */
  readonly machinesNamespace: string;
  /** Of the owner's Cluster of EKS Anywhere there. @default the only one of the name */
  readonly eksAnywhereNamespace?: string;
  /** Asks EKS about this cluster; absent elsewhere. */
  readonly eks?: EksAuditReader;
  readonly reach: AuditReach;
  /** @default DEFAULT_PORTS */
  readonly ports?: ServerPorts;
  /** What certificates that were issued are judged by. @default the built-in policy */
  readonly policies?: readonly ApprovalPolicy[];
  /** As a sweep has them. */
  readonly vpcId?: SweepTarget['vpcId'];
  readonly listInstances?: SweepTarget['listInstances'];
}
