import type { Thresholds } from '../audit/rules/thresholds.ts';
import type { ListInstances } from '../aws/ec2-instances.ts';
import type { EksReader } from '../aws/eks-clusters.ts';
import type { CredentialsOf } from '../aws/spoke-credentials.ts';
import type { AuditCluster } from '../cluster/auditor.ts';
import type { ClusterRecovererOptions, RecoverCluster } from '../cluster/recoverer.ts';
import type { EksOfClusters, RollCluster } from '../cluster/roller.ts';
import type { FleetRollouts } from '../config/fleet.ts';
import type { Journal } from '../journal/journal.ts';
import type { Rebuilt } from '../journal/s3-journal.ts';
import { lazy, once } from './lazy.ts';

// Most sweeps need none of these, and a new function must not wait for their code to approve.

/** Only a cluster that cannot be reached where it was is looked for in EKS. */
export function lazyClusterDescriber(credentials: CredentialsOf): EksReader['describeCluster'] {
  return lazy(async () => {
    const { createEksReader } = await import('../aws/eks-clusters.ts');
    const reader = createEksReader({ credentials });
    return async (...call) => reader.describeCluster(...call);
  });
}

/** EC2's schemas are as much code as all the rest of a sweep, and most sweeps find no open request. */
export function lazyInstanceReader(credentials: CredentialsOf): ListInstances {
  const reader = once(async () => (await import('../aws/ec2-instances.ts')).createInstanceReader({ credentials }));
  return async function* listInstances(scope, query, signal) {
    yield* (await reader())(scope, query, signal);
  };
}

/** Loaded with the first line: most sweeps decide nothing. */
export function lazyJournal(options: {
  readonly bucket: string;
  readonly onRebuilt: (rebuilt: Rebuilt) => void;
}): Journal {
  return {
    append: lazy(async () => {
      const [{ S3Client }, { createS3Journal }] = await Promise.all([
        import('@aws-sdk/client-s3'),
        import('../journal/s3-journal.ts'),
      ]);
      const journal = createS3Journal({ client: new S3Client(), ...options });
      return async (...entries) => journal.append(...entries);
    }),
  };
}

/** Hardly ever is a window open. */
export function lazyRecoverer(options: Pick<ClusterRecovererOptions, 'program' | 'clock'>): RecoverCluster {
  return lazy(async () => (await import('../cluster/recoverer.ts')).createClusterRecoverer(options));
}

export interface LazyAuditorOptions {
  readonly credentials: CredentialsOf;
  /** Holds the snapshots. */
  readonly bucket: string;
  readonly thresholds: Thresholds;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

export function lazyAuditor({ credentials, bucket, thresholds, clock }: LazyAuditorOptions): AuditCluster {
  return lazy(async () => {
    const [{ S3Client }, { createS3Snapshots }, { createClusterAuditor }, { createEksAuditReader }] = await Promise.all(
      [
        import('@aws-sdk/client-s3'),
        import('../audit/s3-snapshots.ts'),
        import('../cluster/auditor.ts'),
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
}

export interface LazyRollerOptions {
  /** For the calls to EKS. */
  readonly credentials: CredentialsOf;
  readonly rollouts: FleetRollouts;
  /** Holds the ledger. */
  readonly bucket: string;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

/**
 * Where fleet.yaml lets nothing roll there is no ledger, nor a right to one: what goes on is looked at to its end. EKS is asked only where some node group may be
 * updated.
 */
export function lazyRoller({
  credentials,
  rollouts: { clusters, ...limits },
  bucket,
  clock,
}: LazyRollerOptions): RollCluster {
  return lazy(async () => {
    const [{ S3Client }, { createJsonObjects }, { createRolloutLedger }, { createClusterRoller }] = await Promise.all([
      import('@aws-sdk/client-s3'),
      import('../aws/json-objects.ts'),
      import('../cluster/rollout-ledger.ts'),
      import('../cluster/roller.ts'),
    ]);
    const objects = createJsonObjects({ client: new S3Client(), bucket });
    return createClusterRoller({
      policies: clusters,
      ledger: clusters.length === 0 ? undefined : createRolloutLedger({ objects, limits, clock }),
      eks: clusters.some(({ nodeGroups }) => nodeGroups) ? await loadEks(credentials) : undefined,
      clock,
    });
  });
}

async function loadEks(credentials: CredentialsOf): Promise<EksOfClusters> {
  const [{ createEksAuditReader }, { createEksNodeGroups }] = await Promise.all([
    import('../aws/eks-audit.ts'),
    import('../aws/eks-nodegroups.ts'),
  ]);
  const readerOf = createEksAuditReader({ credentials });
  return {
    authorities: (scope, name) => async (signal) => readerOf(scope, name).authorities(signal),
    nodeGroups: createEksNodeGroups({ credentials }),
  };
}
