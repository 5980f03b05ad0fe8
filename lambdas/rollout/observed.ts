import type { Problem } from '../contracts/problem.ts';
import type { HoldMark, RolloutMark } from '../contracts/rollout-mark.ts';
import type { Condition, ObjectVersion } from '../resources/values.ts';

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
  readonly capiCluster?: ObservedCapiCluster;
  /** The owner's `Cluster` of EKS Anywhere; absent where EKS Anywhere is not installed, or does not know it. */
  readonly eksAnywhere?: ObservedEksAnywhere;
  readonly controlPlane?: ObservedControlPlane;
  /** Of the control plane, those that are being deleted too. */
  readonly machines: readonly ObservedMachine[];
  /** Absent with stacked etcd. */
  readonly etcd?: ObservedEtcd;
  /** Those that select machines of the control plane. */
  readonly healthChecks: readonly ObservedHealthCheck[];
  /** Other control planes of the same management cluster. */
  readonly siblings: readonly Sibling[];
  /** It has more control planes, Machines of them or Clusters of EKS Anywhere than are read. */
  readonly moreSiblings?: true;
  /** `kube-system/certmarshal-rollout` of the management cluster; absent when there is none. */
  readonly lease?: ObservedLease;
  /** What bounds every leaf: the authorities of the cluster that were seen. Empty where none was. */
  readonly authorities: readonly { readonly name: string; readonly notAfter: number }[];
  /** What could not be read. A rollout does not begin while anything is in here. */
  readonly unread: readonly Problem[];
}

export interface ObservedCapiCluster {
  readonly namespace: string;
  readonly name: string;
  readonly deleting: boolean;
  /** `spec.paused` or the annotation. */
  readonly paused: boolean;
  /** Made of a ClusterClass, which owns the KubeadmControlPlane. */
  readonly topology: boolean;
  /** Kind of `spec.infrastructureRef`: `TinkerbellCluster`, `VSphereCluster`, … */
  readonly infrastructure?: string;
}

export interface ObservedEksAnywhere {
  readonly namespace: string;
  readonly name: string;
  readonly createdAt?: number;
  /** Namespaces of all that have its name, where fleet.yaml does not say which one is the owner's: its `auto` does not count then. */
  readonly contested?: readonly string[];
  readonly deleting: boolean;
  /** The annotation `anywhere.eks.amazonaws.com/paused` is "true". */
  readonly paused: boolean;
  /** Value of `OPT_IN_ANNOTATION`. */
  readonly mode?: string;
  readonly ready: Condition;
  readonly generation: number;
  readonly observedGeneration?: number;
  readonly reconciledGeneration?: number;
  readonly failureMessage?: string;
  /** Kind of `spec.datacenterRef`. */
  readonly datacenter?: string;
  /** A `ControlPlaneUpgrade` object of this cluster exists. */
  readonly controlPlaneUpgrade: boolean;
}

export interface ObservedControlPlane extends ObjectVersion {
  readonly apiVersion: 'v1beta2' | 'v1beta1';
  readonly generation: number;
  readonly observedGeneration?: number;
  readonly deleting: boolean;
  /** Value of `PAUSED_ANNOTATION`; empty where it has none. Absent when it is not paused. */
  readonly paused?: string;
  readonly replicas: number;
  readonly status: {
    readonly replicas?: number;
    readonly ready?: number;
    /** v1beta1: replicas without unavailable ones. */
    readonly available?: number;
    readonly upToDate?: number;
  };
  /** v1beta1 has not all of them: what its own conditions say is told in these names, the others are `Missing`. See `readControlPlane`. */
  readonly conditions: Readonly<Record<ControlPlaneCondition, Condition>>;
  /** `RollingUpdate`, `InPlace`, …; absent when not set. */
  readonly strategy?: string;
  readonly maxSurge?: number;
  /** `rollout.after`, whoever wrote it. */
  readonly rolloutAfter?: number;
  /** `rollout.before.certificatesExpiryDays`. */
  readonly rolloutBeforeDays?: number;
  readonly kubernetesVersion?: string;
  /** `kubeadmConfigSpec.clusterConfiguration.certificateValidityPeriodDays`; absent where it is that of kubeadm, 365. */
  readonly certificateValidityDays?: number;
  /** Value of `OPT_IN_ANNOTATION`. */
  readonly mode?: string;
  /** Absent when there is none; `unreadable` when somebody wrote what certmarshal did not. */
  readonly mark?: RolloutMark | 'unreadable';
  readonly hold?: HoldMark | 'unreadable';
  /** `controlplane.cluster.x-k8s.io/remediation-in-progress` is there. */
  readonly remediating: boolean;
  /** `controlplane.clusters.x-k8s.io/in-place-upgrade-needed` is there. */
  readonly inPlaceUpgrade: boolean;
  readonly etcd: 'stacked' | 'external';
  /** The template that machines are made of, and whether it exists. */
  readonly template?: { readonly kind: string; readonly name: string; readonly found: boolean };
}

export const CONTROL_PLANE_CONDITIONS = [
  'CertificatesAvailable',
  'ControlPlaneComponentsHealthy',
  'EtcdClusterHealthy',
  'RollingOut',
  'ScalingUp',
  'ScalingDown',
  'Remediating',
  'Deleting',
] as const;
export type ControlPlaneCondition = (typeof CONTROL_PLANE_CONDITIONS)[number];

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

export interface ObservedEtcd extends ObjectVersion {
  readonly generation: number;
  readonly observedGeneration?: number;
  readonly deleting: boolean;
  readonly paused: boolean;
  readonly replicas: number;
  readonly ready: boolean;
  readonly endpoints: readonly string[];
  /** `etcdcluster.cluster.x-k8s.io/upgrading` is there. */
  readonly upgrading: boolean;
  /** `controlplane.cluster.x-k8s.io/upgrade-complete` is there. */
  readonly upgradeComplete: boolean;
  readonly conditions: Readonly<Record<EtcdCondition, Condition>>;
  readonly mark?: RolloutMark | 'unreadable';
  /** `spec.etcdadmConfigSpec.postEtcdadmCommands`. */
  readonly postEtcdadmCommands: readonly string[];
  /** All machines with its label: those that it no longer owns too. */
  readonly machines: readonly ObservedMachine[];
  /** `<cluster>-apiserver-etcd-client`; absent where it may not be read. */
  readonly clientCertificate?: { readonly notBefore: number; readonly notAfter: number };
  /** Oldest start of a pod of etcdadm-controller, which caches the client certificate; absent where it may not be read. */
  readonly controllerStartedAt?: number;
}

export const ETCD_CONDITIONS = [
  'EtcdMachinesSpecUpToDate',
  'EtcdCertificatesAvailable',
  'EtcdClusterHasNoOutdatedMachines',
] as const;
export type EtcdCondition = (typeof ETCD_CONDITIONS)[number];

export interface ObservedHealthCheck {
  readonly namespace: string;
  readonly name: string;
  readonly expected?: number;
  readonly healthy?: number;
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

export interface ObservedLease {
  readonly uid: string;
  readonly resourceVersion: string;
  /** `<namespace>/<cluster> <rollout id>`; absent when nobody has it. */
  readonly holder?: string;
  readonly acquiredAt?: number;
  readonly renewedAt?: number;
  /** How often it changed hands. */
  readonly transitions?: number;
}
