import type { SweepTarget } from '../lambdas/approval/observe.ts';
import { regionOfEksEndpoint } from '../lambdas/aws/eks-endpoint.ts';

/**
 * EC2 instances of the Region that an EKS endpoint names, read with the AWS credentials of the user's environment. For another host nothing is
 * known of an account, and undefined is returned.
 *
 * @param host of the API server
 */
export function instancesOf(host: string): Pick<SweepTarget, 'listInstances'> | undefined {
  const region = eksRegionOf(host);
  if (region === undefined) return undefined;
  const scope = { account: 'the account of your AWS credentials', region };
  return {
    // The SDK is only loaded by those who have an open request.
    async *listInstances(query, signal) {
      const [{ createCredentials }, { createInstanceReader }] = await Promise.all([
        import('../lambdas/aws/spoke-credentials.ts'),
        import('../lambdas/aws/ec2-instances.ts'),
      ]);
      const list = createInstanceReader({ credentials: createCredentials({ sessionName: 'certmarshal' }) });
      yield* list(scope, query, signal);
    },
  };
}

/** The Region that an EKS endpoint names; undefined for any other host. */
export function eksRegionOf(host: string): string | undefined {
  return regionOfEksEndpoint(`https://${host}`);
}
