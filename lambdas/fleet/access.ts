import type { AwsScope } from '../aws/scope.ts';

/** How the API server of a cluster is reached. Secrets are named, never carried. */
export type Access = EksAccess | KubeconfigAccess | ClusterApiAccess;

/** An EKS cluster: its endpoint, its CA bundle, and tokens that the role of the sweep signs for itself. */
export interface EksAccess {
  readonly kind: 'eks';
  /** `https://` URL. */
  readonly endpoint: string;
  /** PEM certificates, base64-encoded, as DescribeCluster gives them; two certificates while the CA is rotated. */
  readonly certificateAuthority: string;
  /** Where the cluster is: asked again when the endpoint shows another certificate. */
  readonly scope: AwsScope;
}

/** A kubeconfig in Secrets Manager. */
export interface KubeconfigAccess {
  readonly kind: 'kubeconfig';
  /** Complete ARN. */
  readonly secret: string;
  /**
   * Cluster id of aws-iam-authenticator. With it the role of the sweep signs tokens, and the kubeconfig tells only server and CA.
   * On EKS Anywhere it is a UUID, not the name of the cluster.
   */
  readonly authenticatorId?: string;
}

/** The kubeconfig that Cluster API keeps in the management cluster, Secret `<cluster>-kubeconfig`. Opt-in: it is an administrator's. */
export interface ClusterApiAccess {
  readonly kind: 'cluster-api';
  readonly namespace: string;
}
