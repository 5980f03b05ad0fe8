import type { SweepTarget } from '../lambdas/approval/observe.ts';
import { regionOfEksEndpoint } from '../lambdas/aws/eks-endpoint.ts';
import { type DescribeEks, describeEks, knownToEks } from './eks-cluster.ts';

/**
 * EC2 instances in the VPC of an EKS cluster, read with the AWS credentials of the environment. They must belong to the
 * account of the cluster. Undefined for a host that is no EKS endpoint: its account is unknown.
 *
 * @param host of the API server
 * @param name of the cluster in EKS
 */
export function instancesOf(
  host: string,
  name: string,
  describe: DescribeEks = describeEks,
): Pick<SweepTarget, 'listInstances'> | undefined {
  const region = eksRegionOf(host);
  if (region === undefined) return undefined;
  const scope = { account: 'the account of your AWS credentials', region };
  return {
    // Load the SDK only if there is an open request.
    async *listInstances(query, signal) {
      const { vpcId } = await knownToEks(describe, { scope, name }, { host }, signal);
      const [{ createCredentials }, { createInstanceReader }] = await Promise.all([
        import('../lambdas/aws/spoke-credentials.ts'),
        import('../lambdas/aws/ec2-instances.ts'),
      ]);
      const list = createInstanceReader({ credentials: createCredentials({ sessionName: 'certmarshal' }) });
      // All of the cluster, so that the user sees which node owns a name that this one requests.
      yield* list(scope, { ...query, nodes: [], cluster: name, vpcId }, signal);
    },
  };
}

/** The Region in an EKS endpoint; undefined for any other host. */
export function eksRegionOf(host: string): string | undefined {
  return regionOfEksEndpoint(`https://${host}`);
}
