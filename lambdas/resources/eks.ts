import type { Node, NodeLabels } from './node.ts';

// Answers of EKS. Times are milliseconds since the epoch; texts are printable and bounded.

export interface ObservedEksCluster {
  /** Id in the fleet. */
  readonly id: string;
  /** Name in EKS. */
  readonly name: string;
  readonly account: string;
  readonly region: string;
  /** `ACTIVE`, `UPDATING`, … Absent if the cluster could not be read. */
  readonly status?: string;
  /** `1.34` */
  readonly version?: string;
  /** Value of the tag `OPT_IN_ANNOTATION`. */
  readonly mode?: string;
  /** Updates of the cluster itself, not of its node groups. */
  readonly updates: readonly ObservedUpdate[];
}

/** Source: EKS API reference, CertificateAuthority. */
export interface ObservedAuthority {
  readonly id: string;
  readonly createdAt: number;
  readonly signingStatus: 'NOT_USED' | 'ACTIVATING' | 'IN_USE';
  readonly distributionStatus: 'IN_PROGRESS' | 'COMPLETE' | 'FAILED' | 'DELETING';
  /** When EKS activates it automatically. */
  readonly firstAutoActivation?: number;
  /** When EKS activates it finally, after a person reverted an activation. */
  readonly finalAutoActivation?: number;
}

/** Source: EKS API reference, Nodegroup. */
export interface ObservedNodeGroup {
  readonly name: string;
  readonly createdAt: number;
  /** `ACTIVE`, `UPDATING`, `DEGRADED`, … */
  readonly status: string;
  /** Codes of `health.issues`. */
  readonly issues: readonly string[];
  /** Of Kubernetes: `1.34`. */
  readonly version?: string;
  /** Of the image. */
  readonly releaseVersion?: string;
  /** `CUSTOM` if the launch template names the image. */
  readonly amiType?: string;
  /** Id of the owner's launch template; absent if there is none. */
  readonly launchTemplate?: string;
  /** Of `updateConfig`: `MINIMAL` terminates nodes before their replacements exist. */
  readonly strategy?: string;
  /** The newest ones. */
  readonly updates: readonly ObservedUpdate[];
}

/** Source: EKS API reference, Update. */
export interface ObservedUpdate {
  readonly id: string;
  /** `InProgress`, `Successful`, `Failed`, `Cancelled`. */
  readonly status: string;
  /** `VersionUpdate`, `ConfigUpdate`, … */
  readonly type: string;
  readonly createdAt: number;
  /** Error code of a failed one: `PodEvictionFailure`. */
  readonly errors: readonly string[];
}

/** A Node of an EKS cluster. */
export interface ObservedEksNode extends Pick<Node, 'name' | 'deleting'>, Pick<NodeLabels, 'kind' | 'nodegroup'> {
  /** Creation of its Node: its machine is at least as old. */
  readonly createdAt: number;
}
