/** An object as the simulated API server keeps it. Never changed once stored: a change is a new object. */
export interface KubeObject {
  readonly metadata: StoredMetadata;
  // oxlint-disable-next-line typescript/no-explicit-any -- each resource's rules know the shape; the store does not
  readonly spec?: any;
  // oxlint-disable-next-line typescript/no-explicit-any -- as above
  readonly status?: any;
}

/** ObjectMeta after the server has filled it in. */
export interface StoredMetadata {
  readonly name: string;
  readonly generateName?: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation?: number;
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly unknown[];
  readonly finalizers?: readonly string[];
}

/** A stored CertificateSigningRequest. */
export interface StoredCsr extends KubeObject {
  readonly spec: {
    /** Base64 of PEM. */
    readonly request: string;
    readonly signerName: string;
    readonly expirationSeconds?: number;
    readonly usages: readonly string[];
    readonly username: string;
    readonly groups: readonly string[];
  };
  readonly status: {
    readonly conditions?: readonly CsrCondition[];
    /** Base64 of PEM. */
    readonly certificate?: string;
  };
}

/** A condition of a CertificateSigningRequest. */
export interface CsrCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastUpdateTime?: string;
  readonly lastTransitionTime?: string;
}

/** RFC 3339 in whole seconds, as `metav1.Time` is written. */
export function kubernetesTime(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, 19)}Z`;
}
