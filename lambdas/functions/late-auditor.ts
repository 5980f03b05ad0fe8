import type { CredentialsOf } from '../aws/spoke-credentials.ts';
import type { Thresholds } from '../expiry/thresholds.ts';
import type { AuditCluster } from '../fleet/cluster-auditor.ts';
import { once } from './once.ts';

export interface LateAuditorOptions {
  readonly credentials: CredentialsOf;
  /** Holds the snapshots. */
  readonly bucket: string;
  readonly thresholds: Thresholds;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

/** Audits with code that is loaded at the first one: most sweeps make none, and a new function must not wait for it to approve. */
export function lateAuditor({ credentials, bucket, thresholds, clock }: LateAuditorOptions): AuditCluster {
  const auditor = once(async () => {
    const [{ S3Client }, { createS3Snapshots }, { createClusterAuditor }, { createEksAuditReader }] = await Promise.all(
      [
        import('@aws-sdk/client-s3'),
        import('../audit/s3-snapshots.ts'),
        import('../fleet/cluster-auditor.ts'),
        import('../aws/eks-audit.ts'),
      ],
    );
    return createClusterAuditor({
      snapshots: createS3Snapshots({ client: new S3Client(), bucket }),
      thresholds,
      eksAudit: createEksAuditReader({ credentials }),
      clock,
    });
  });
  return async (due) => (await auditor())(due);
}
