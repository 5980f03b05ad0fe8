import type { EksReader } from '../aws/eks-clusters.ts';
import { AwsError } from '../aws/errors.ts';
import type { Problem } from '../contracts/problem.ts';
import type { EksAccess } from '../contracts/target.ts';
import { NAME_NOT_RESOLVED } from '../kubernetes/broken-connection.ts';

/** What EKS says of a cluster whose endpoint is not what it was thought to be. */
export type FreshAccess =
  | { readonly kind: 'changed'; readonly access: EksAccess }
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'unknown'; readonly problem: Problem };

/**
 * Whether another endpoint or another CA bundle could end these problems: the endpoint shows a certificate that is not trusted, or its
 * name is gone. Not a 401: that came over a connection which the cluster's own CA vouched for.
 */
export function mayHaveMoved(problems: readonly Problem[]): boolean {
  return problems.some(
    ({ kind, message }) => kind === 'certificate' || (kind === 'unreachable' && message.startsWith(NAME_NOT_RESOLVED)),
  );
}

/** Asks EKS where the cluster is and which CA it has. Only a bug throws. */
export async function freshAccess(
  name: string,
  access: EksAccess,
  describeCluster: EksReader['describeCluster'],
  signal: AbortSignal,
): Promise<FreshAccess> {
  try {
    const { endpoint, certificateAuthority, status } = await describeCluster(access.scope, name, signal);
    if (endpoint === undefined || certificateAuthority === undefined)
      return {
        kind: 'unknown',
        problem: {
          kind: 'missing',
          object: `EKS cluster ${name} in ${access.scope.account}/${access.scope.region}`,
          message: `it has no endpoint while its status is ${status}`,
          remedy: 'Wait until it is ACTIVE, or look in the EKS console why it does not become so.',
        },
      };
    if (endpoint === access.endpoint && certificateAuthority === access.certificateAuthority)
      return { kind: 'unchanged' };
    return { kind: 'changed', access: { ...access, endpoint, certificateAuthority } };
  } catch (error) {
    if (!(error instanceof AwsError)) throw error;
    const { kind, object, problem, remedy } = error;
    return { kind: 'unknown', problem: { kind, object, message: problem, remedy } };
  }
}

/** What to do when EKS itself says that endpoint and CA bundle are right. */
export const IMPOSTOR_REMEDY =
  'EKS names this very endpoint and CA bundle, so something else answers under its address: look at DNS, proxies and TLS inspection on the way.';
