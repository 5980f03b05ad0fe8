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
    /** In the fleet. */
    readonly id: string;
    /** As Cluster API calls it. */
    readonly name: string;
    /** Its control plane machines are made by itself: it is a management cluster. */
    readonly managesItself: boolean;
  };
  /** The `Cluster` of Cluster API; absent when there is none with this name. */
  readonly capiCluster?: Pick<Cluster, 'namespace' | 'name' | 'deleting' | 'paused' | 'topology' | 'infrastructure'>;
  /** The owner's `Cluster` of EKS Anywhere; absent where EKS Anywhere is not installed, or does not know it. */
  readonly eksAnywhere?: ObservedEksAnywhere;
  readonly controlPlane?: ObservedControlPlane;
  /** Of the control plane, those that are being deleted too. */
  readonly machines: readonly ObservedMachine[];
  /** Absent with stacked etcd. */
  readonly etcd?: ObservedEtcd;
  /** Those that select machines of the control plane. */
  readonly healthChecks: readonly MachineHealthCheck[];
  /** Other control planes of the same management cluster. */
  readonly siblings: readonly Sibling[];
  /** It has more control planes, Machines of them or Clusters of EKS Anywhere than are read. */
  readonly moreSiblings?: true;
  /** `kube-system/certmarshal-rollout` of the management cluster, which `<namespace>/<cluster> <rollout id>` holds; absent when there is none. */
  readonly lease?: Lease;
  /** What bounds every leaf: the authorities of the cluster that were seen. Empty where none was. */
  readonly authorities: readonly { readonly name: string; readonly notAfter: number }[];
  /** What could not be read. A rollout does not begin while anything is in here. */
  readonly unread: readonly Problem[];
}

export interface ObservedEksAnywhere extends EksAnywhereCluster {
  /** Namespaces of all that have its name, where fleet.yaml does not say which one is the owner's: its `auto` does not count then. */
  readonly contested?: readonly string[];
  /** A `ControlPlaneUpgrade` object of this cluster exists. */
  readonly controlPlaneUpgrade: boolean;
}

export interface ObservedControlPlane extends KubeadmControlPlane {
  /** The template that its machines are made of exists. */
  readonly templateFound: boolean;
}

export interface ObservedMachine {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly createdAt: number;
  readonly deleting: boolean;
  /** Its controller is the control plane (or EtcdadmCluster) that was observed. */
  readonly owned: boolean;
  /** `status.nodeRef.name`. */
  readonly node?: string;
  /** The one to use first first. */
  readonly addresses: readonly string[];
  /** `status.phase`: Provisioning, Running, … For people. */
  readonly phase?: string;
  /** Of the machine or its Node: what is not as it should be. Empty when it is healthy. */
  readonly unhealthy: readonly string[];
  /** Pre-drain and pre-terminate hooks, but `kcp-cleanup`. */
  readonly hooks: readonly string[];
  /** What its server shows: kube-apiserver, or etcd of an etcd machine. */
  readonly served: Served;
  /** External etcd only: the label `cluster.x-k8s.io/etcd-ready`. */
  readonly etcdReady?: boolean;
}

/** What a TLS handshake showed; `none` where nobody tried. */
export type Served =
  | {
      readonly kind: 'certificate';
      readonly address: string;
      readonly notBefore: number;
      readonly notAfter: number;
      /** SHA-256, hexadecimal. */
      readonly fingerprint: string;
    }
  | { readonly kind: 'failed'; readonly address?: string; readonly problem: string; readonly remedy: string }
  | { readonly kind: 'none' };

export interface ObservedEtcd extends EtcdadmCluster {
  /** All machines with its label: those that it no longer owns too. */
  readonly machines: readonly ObservedMachine[];
  /** `<cluster>-apiserver-etcd-client`; absent where it may not be read. */
  readonly clientCertificate?: { readonly notBefore: number; readonly notAfter: number };
  /** Oldest start of a pod of etcdadm-controller, which caches the client certificate; absent where it may not be read. */
  readonly controllerStartedAt?: number;
}

/** Another control plane of the same management cluster. */
export interface Sibling {
  readonly namespace: string;
  /** Of the Cluster. */
  readonly cluster: string;
  /** It is not where it was told to be: machines older than `rollout.after`, too many, going, or without a Node. */
  readonly rolling: boolean;
  readonly optedIn: boolean;
  /** Soonest end of its machines' certificates that their status tells. */
  readonly soonestEnd?: number;
}
