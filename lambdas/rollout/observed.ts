import type { Problem } from '../contracts/problem.ts';
import type { Cluster } from '../resources/cluster.ts';
import type { EksAnywhereCluster } from '../resources/eks-anywhere.ts';
import type { EtcdadmCluster } from '../resources/etcdadm-cluster.ts';
import type { KubeadmControlPlane } from '../resources/kubeadm-control-plane.ts';
import type { Lease } from '../resources/lease.ts';
import type { MachineHealthCheck } from '../resources/machine-health-check.ts';

/*
 * All that is known of a cluster when the next step of its rollout is planned. Plain data that does not depend on the version of an API; times are
 * milliseconds since the epoch; texts are printable and bounded.
 */

export interface ObservedRollout {
  readonly cluster: {
    readonly id: string;
    readonly name: string;
    /** A management cluster: it creates its own control plane machines. */
    readonly managesItself: boolean;
    /** A policy in mode `enforce` selects its kubelets; absent if unknown. */
    readonly approves?: boolean;
  };
  /** The `Cluster` of Cluster API; absent if missing. */
  readonly capiCluster?: Pick<Cluster, 'namespace' | 'name' | 'deleting' | 'paused' | 'topology' | 'infrastructure'>;
  /** The owner's `Cluster` of EKS Anywhere; absent if EKS Anywhere is not installed, or does not know it. */
  readonly eksAnywhere?: ObservedEksAnywhere;
  readonly controlPlane?: ObservedControlPlane;
  /** Machines of the control plane, those in deletion included. */
  readonly machines: readonly ObservedMachine[];
  /** Its API server, if a connection tolerated an expired certificate that no machine shows. */
  readonly apiServer?: { readonly url: string; readonly notBefore: number; readonly notAfter: number };
  /** Absent with stacked etcd. */
  readonly etcd?: ObservedEtcd;
  /** Pending kubelet serving CSRs of its nodes. Read while Cluster API does not reach stacked etcd. */
  readonly waitingRequests?: readonly { readonly node: string; readonly name: string; readonly createdAt: number }[];
  /** Those that select machines of the control plane. */
  readonly healthChecks: readonly MachineHealthCheck[];
  /** Other control planes of the same management cluster. */
  readonly siblings: readonly Sibling[];
  /** The management cluster has more control planes, their Machines or Clusters of EKS Anywhere than are read. */
  readonly moreSiblings?: true;
  /**
   * `kube-system/certmarshal-rollout` of the management cluster, held by `<namespace>/<cluster> <rollout id>`; absent
   * if missing.
   */
  readonly lease?: Lease;
  /** The CAs of the cluster that were seen, which bound every leaf. Empty if none was. */
  readonly authorities: readonly { readonly name: string; readonly notAfter: number }[];
  /** Certificates without which no new machine comes up, by EKS Anywhere's objects. */
  readonly dependencies?: readonly {
    readonly where: string;
    /** The latest end. */
    readonly notAfter: number;
    readonly problem?: string;
  }[];
  /** Failed reads. No rollout begins while there are any. */
  readonly unread: readonly Problem[];
}

export interface ObservedEksAnywhere extends EksAnywhereCluster {
  /** Namespaces of all with its name, if fleet.yaml does not name the owner's: its `auto` then does not count. */
  readonly contested?: readonly string[];
  /** A `ControlPlaneUpgrade` object of this cluster exists. */
  readonly controlPlaneUpgrade: boolean;
}

export interface ObservedControlPlane extends KubeadmControlPlane {
  /** The template of its machines exists. */
  readonly templateFound: boolean;
}

export interface ObservedMachine {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly createdAt: number;
  readonly deleting: boolean;
  /** Its controller is the observed control plane (or EtcdadmCluster). */
  readonly owned: boolean;
  /** `status.nodeRef.name`. */
  readonly node?: string;
  /** In order of preference. */
  readonly addresses: readonly string[];
  /** `status.phase`: Provisioning, Running, … For people. */
  readonly phase?: string;
  /** Problems of the machine or its Node. Empty if healthy. */
  readonly unhealthy: readonly string[];
  /** Pre-drain and pre-terminate hooks, except `kcp-cleanup`. */
  readonly hooks: readonly string[];
  /** The certificate of its server: kube-apiserver, or etcd on an etcd machine. */
  readonly served: Served;
  /** Further ports of its etcd: 2379 and 2380 of stacked etcd, 2380 of an etcd machine. */
  readonly etcdPorts: readonly PortServed[];
  /** The certificate of its kubelet, through which Cluster API reaches stacked etcd; absent with external etcd. */
  readonly kubelet?: Served;
  /** The label `cluster.x-k8s.io/etcd-ready` of external etcd. */
  readonly etcdReady?: boolean;
}

/** The result of a TLS handshake; `none` if not tried. */
export type Served =
  | {
      readonly kind: 'certificate';
      readonly address: string;
      readonly notBefore: number;
      readonly notAfter: number;
      /** SHA-256, hexadecimal. */
      readonly fingerprint: string;
    }
  | {
      readonly kind: 'failed';
      readonly address?: string;
      readonly problem: string;
      readonly remedy: string;
      /** Something answers there, and is not accepted. */
      readonly answered?: true;
      /** It shows a certificate, which no CA of the cluster issued. */
      readonly foreign?: true;
    }
  | { readonly kind: 'none' };

export interface PortServed {
  readonly port: number;
  readonly served: Served;
}

export interface ObservedEtcd extends EtcdadmCluster {
  /** All machines with its label, including those that it no longer owns. */
  readonly machines: readonly ObservedMachine[];
  /** `<cluster>-apiserver-etcd-client`; absent if it may not be read. */
  readonly clientCertificate?: { readonly notBefore: number; readonly notAfter: number };
  /** Oldest start of a pod of etcdadm-controller, which caches the client certificate; absent if it may not be read. */
  readonly controllerStartedAt?: number;
}

/** Another control plane of the same management cluster. */
export interface Sibling {
  readonly namespace: string;
  readonly cluster: string;
  /**
   * It has not reached its desired state: machines older than `rollout.after`, too many, in deletion, or without a
   * Node.
   */
  readonly rolling: boolean;
  readonly optedIn: boolean;
  /** Soonest expiry of its machines' certificates, from their status. */
  readonly soonestEnd?: number;
}
