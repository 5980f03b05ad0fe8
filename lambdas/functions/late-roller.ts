import type { CredentialsOf } from '../aws/spoke-credentials.ts';
import type { FleetRollouts } from '../config/fleet.ts';
import type { EksOfClusters, RollCluster } from '../fleet/cluster-roller.ts';
import { once } from './once.ts';

export interface LateRollerOptions {
  /** For the calls to EKS. */
  readonly credentials: CredentialsOf;
  readonly rollouts: FleetRollouts;
  /** Holds the ledger. */
  readonly bucket: string;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

/**
 * Makes the steps of rollouts with code that is loaded at the first one: most sweeps make none, and a new function must not wait for it to approve. Where fleet.yaml
 * lets nothing roll there is no ledger, nor a right to one: what goes on is looked at to its end. EKS is asked only where some node group may be updated.
 */
export function lateRoller({
  credentials,
  rollouts: { clusters, ...limits },
  bucket,
  clock,
}: LateRollerOptions): RollCluster {
  const roller = once(async () => {
    const [{ S3Client }, { createJsonObjects }, { createRolloutLedger }, { createClusterRoller }] = await Promise.all([
      import('@aws-sdk/client-s3'),
      import('../aws/json-objects.ts'),
      import('../fleet/rollout-ledger.ts'),
      import('../fleet/cluster-roller.ts'),
    ]);
    const eks = clusters.some(({ nodeGroups }) => nodeGroups) ? await loadEks(credentials) : undefined;
    const objects = createJsonObjects({ client: new S3Client(), bucket });
    return createClusterRoller({
      policies: clusters,
      ...(clusters.length === 0 ? {} : { ledger: createRolloutLedger({ objects, limits, clock }) }),
      ...(eks === undefined ? {} : { eks }),
      clock,
    });
  });
  return async (due) => (await roller())(due);
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
