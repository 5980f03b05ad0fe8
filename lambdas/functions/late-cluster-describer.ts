import type { EksReader } from '../aws/eks-clusters.ts';
import type { CredentialsOf } from '../aws/spoke-credentials.ts';
import { once } from './once.ts';

/** Describes EKS clusters with a client that is loaded at the first one: only a sweep whose cluster cannot be reached where it was asks EKS where it is. */
export function lateClusterDescriber(credentials: CredentialsOf): EksReader['describeCluster'] {
  const reader = once(async () => {
    const { createEksReader } = await import('../aws/eks-clusters.ts');
    return createEksReader({ credentials });
  });
  return async (scope, name, signal) => (await reader()).describeCluster(scope, name, signal);
}
