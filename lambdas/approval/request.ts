import type { Provider } from '../identifiers.ts';
import type { SigningRequest } from '../resources/signing-request.ts';

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
  /** Of an EKS cluster, if it has hybrid nodes: the networks that these are in, as EKS says. */
  readonly remoteNodeNetworks?: readonly string[];
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
