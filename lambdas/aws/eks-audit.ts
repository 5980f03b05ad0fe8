/** A certificate authority of a cluster. Source: EKS API reference, CertificateAuthority. */
export interface EksAuthority {
  readonly id: string;
  /** Milliseconds since the epoch, as all times here. */
  readonly createdAt: number;
  readonly notBefore?: number;
  readonly notAfter?: number;
  readonly signingStatus: 'NOT_USED' | 'ACTIVATING' | 'IN_USE';
  readonly distributionStatus: 'IN_PROGRESS' | 'COMPLETE' | 'FAILED' | 'DELETING';
  readonly firstAutoActivation?: number;
  readonly finalAutoActivation?: number;
  /** PEM. */
  readonly certificate?: string;
}

export interface EksNodegroup {
  readonly name: string;
  readonly createdAt: number;
  /** When its launch template or release last changed. */
  readonly modifiedAt?: number;
}

/** Asks EKS about one cluster. */
export interface EksAuditReader {
  /** PEM of `certificateAuthority.data`, now. @throws AwsError */
  certificateAuthority(signal: AbortSignal): Promise<string>;
  /** @throws AwsError */
  authorities(signal: AbortSignal): Promise<readonly EksAuthority[]>;
  /** @throws AwsError */
  nodegroups(signal: AbortSignal): Promise<readonly EksNodegroup[]>;
}
