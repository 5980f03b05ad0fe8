import type { EksCluster } from '../lambdas/aws/eks-clusters.ts';
import { AwsError } from '../lambdas/aws/errors.ts';
import type { AwsScope } from '../lambdas/contracts/target.ts';

/** DescribeCluster with the credentials for the calls that follow. @throws AwsError */
export type DescribeEks = (
  scope: AwsScope,
  name: string,
  profile: string | undefined,
  signal: AbortSignal,
) => Promise<EksCluster>;

/** With the credentials of the profile, else of the environment. */
export const describeEks: DescribeEks = async (scope, name, profile, signal) => {
  // Load the SDK only for EKS clusters.
  const [{ createCredentials }, { createEksReader }] = await Promise.all([
    import('../lambdas/aws/spoke-credentials.ts'),
    import('../lambdas/aws/eks-clusters.ts'),
  ]);
  const sts = profile === undefined ? {} : { profile };
  return createEksReader({ credentials: createCredentials({ sessionName: 'certmarshal', sts }) }).describeCluster(
    scope,
    name,
    signal,
  );
};

/** An EKS API server in a kubeconfig. */
export interface KnownServer {
  /** Name or address, without a port. */
  readonly host: string;
  /** CA bundle, base64; undefined if it is not compared. */
  readonly caData?: string | undefined;
}

/**
 * The cluster in EKS, if it has the server of the kubeconfig: an EKS host name may resolve to anyone's address, and an
 * account may have another cluster of this name.
 *
 * @throws AwsError also if it is another server
 */
export async function knownToEks(
  describe: DescribeEks,
  { scope, name, profile }: { readonly scope: AwsScope; readonly name: string; readonly profile?: string | undefined },
  { host, caData }: KnownServer,
  signal: AbortSignal,
): Promise<EksCluster> {
  const found = await describe(scope, name, profile, signal);
  const isSameHost = found.endpoint !== undefined && new URL(found.endpoint).hostname === host.toLowerCase();
  const isSameCa = caData === undefined || sameBytes(found.certificateAuthority ?? '', caData);
  if (isSameHost && isSameCa) return found;
  throw new AwsError({
    kind: 'invalid',
    object: `eks:DescribeCluster of ${name} in ${scope.region}`,
    problem: `EKS names a different ${isSameHost ? 'CA' : 'server'} than the kubeconfig`,
    remedy:
      'Write the kubeconfig again, with credentials of the account that has the cluster: aws eks update-kubeconfig.',
  });
}

function sameBytes(a: string, b: string): boolean {
  return Buffer.from(a, 'base64').equals(Buffer.from(b, 'base64'));
}
