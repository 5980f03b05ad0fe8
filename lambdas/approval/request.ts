import type { Provider } from '../identifiers.ts';

/** A CertificateSigningRequest as the judge sees it: read once from the wire, every field checked or absent. */
export interface SigningRequest {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Milliseconds since the epoch; undefined when `metadata.creationTimestamp` is missing or unreadable. */
  readonly createdAt: number | undefined;
  readonly deleting: boolean;
  readonly signerName: string;
  /** Set by kube-apiserver from the authenticated requester, never by the client. */
  readonly username: string;
  readonly groups: readonly string[];
  readonly usages: readonly string[];
  readonly expirationSeconds: number | undefined;
  /** `spec.request`, base64-decoded: PEM. Undefined when it was missing or not base64. */
  readonly request: Uint8Array | undefined;
  readonly conditions: readonly SigningCondition[];
  /** True when `status.certificate` holds anything. */
  readonly issued: boolean;
}

export interface SigningCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
}

/** What the judge knows of the cluster a request comes from. */
export interface ClusterContext {
  readonly name: string;
  readonly provider: Provider;
  /**
   * Names and addresses of the API endpoint, without ports: the host and `tls-server-name` of the kubeconfig, the addresses that were connected to, the
   * `controlPlaneEndpoint` of the Cluster. Never approved as names of a node.
   */
  readonly endpoints?: readonly string[];
  /** Service CIDRs, if known; never approved as addresses of a node. */
  readonly serviceCidrs?: readonly string[];
}

/** What the other undecided requests of the same sweep say about this one. */
export interface Siblings {
  /** Name of a newer undecided request of the same requester. */
  readonly supersededBy?: string;
  /** Undecided requests of the same requester, this one included. */
  readonly pending: number;
}

export interface ApprovalRequest {
  readonly cluster: ClusterContext;
  readonly csr: SigningRequest;
  readonly siblings: Siblings;
}
