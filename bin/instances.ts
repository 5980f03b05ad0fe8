import type { SweepTarget } from '../lambdas/approval/observe.ts';
import { regionOfEksEndpoint } from '../lambdas/aws/eks-endpoint.ts';
import { type DescribeEks, describeEks, knownToEks } from './eks-cluster.ts';

/**
 * EC2 instances of the VPC of an EKS cluster, read with the AWS credentials of the user's environment: only where these are of the account that has it. For another
 * host nothing is known of an account, and undefined is returned.
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
    // The SDK is only loaded by those who have an open request.
    async *listInstances(query, signal) {
      const { vpcId } = await knownToEks(describe, { scope, name }, { host }, signal);
      const [{ createCredentials }, { createInstanceReader }] = await Promise.all([
        import('../lambdas/aws/spoke-credentials.ts'),
        import('../lambdas/aws/ec2-instances.ts'),
      ]);
      const list = createInstanceReader({ credentials: createCredentials({ sessionName: 'certmarshal' }) });
      // All of the cluster, so that a person sees which node owns a name that this one asks for.
      yield* list(scope, { ...query, nodes: [], cluster: name, vpcId }, signal);
    },
  };
}

/** The Region that an EKS endpoint names; undefined for any other host. */
export function eksRegionOf(host: string): string | undefined {
  return regionOfEksEndpoint(`https://${host}`);
}
