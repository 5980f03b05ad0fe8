import type { EksReader } from '../../aws/eks-clusters.ts';
import { AwsError } from '../../aws/errors.ts';
import { type Problem, problemOf } from '../../contracts/problem.ts';
import type { EksAccess } from '../../contracts/target.ts';
import { CERTIFICATE_KINDS } from '../../kubernetes/errors.ts';

/**
 * Whether another endpoint or CA bundle could solve these problems: the endpoint's certificate is not trusted, or its
 * name is gone. Not for a 401, which arrived over a connection trusted by the cluster's own CA.
 */
export function mayHaveMoved(problems: readonly Problem[]): boolean {
  return problems.some(({ kind }) => CERTIFICATE_KINDS.has(kind) || kind === 'unresolved');
}

/**
 * Asks EKS for endpoint and CA of the cluster. Only a bug throws.
 *
 * @param problems the reason for asking
 * @returns the new access if it changed; otherwise the problems with the answer of EKS
 */
export async function askEks(
  problems: readonly Problem[],
  name: string,
  access: EksAccess,
  describeCluster: EksReader['describeCluster'],
  signal: AbortSignal,
): Promise<EksAccess | readonly Problem[]> {
  try {
    const { endpoint, certificateAuthority, status } = await describeCluster(access.scope, name, signal);
    if (endpoint === undefined || certificateAuthority === undefined)
      return [
        ...problems,
        {
          kind: 'missing',
          object: `EKS cluster ${name} in ${access.scope.account}/${access.scope.region}`,
          message: `it has no endpoint while its status is ${status}`,
          remedy: 'Wait until it is ACTIVE; if it does not become ACTIVE, the EKS console shows why.',
        },
      ];
    if (endpoint !== access.endpoint || certificateAuthority !== access.certificateAuthority)
      return { ...access, endpoint, certificateAuthority };
    return problems.map((problem) =>
      CERTIFICATE_KINDS.has(problem.kind) ? { ...problem, remedy: IMPOSTOR } : problem,
    );
  } catch (error) {
    if (!(error instanceof AwsError)) throw error;
    return [...problems, problemOf(error)];
  }
}

const IMPOSTOR =
  'EKS shows exactly this endpoint and CA bundle, so something else answers at its address: check DNS, proxies and TLS inspection on the way.';

/** The Kubernetes group of the access entry, and of `certmarshal rbac` by default. */
const GROUP = 'certmarshal';

/**
 * The same problems with remedies for EKS, where the identity is an IAM role with an access entry. Pure.
 *
 * @param principalArn of the role that signs the tokens
 */
export function adviseForEks(
  problems: readonly Problem[],
  name: string,
  { scope: { account, region } }: EksAccess,
  principalArn = '<ARN of the sweep role>',
): readonly Problem[] {
  // A token signed with a wrong clock is rejected regardless of access entries; the client reported it.
  const skewed = problems.some(({ kind }) => kind === 'clock');
  const cluster = `--cluster-name ${name} --region ${region}`;
  return problems.map((problem) => {
    if (problem.kind === 'unauthorized' && !skewed)
      return {
        ...problem,
        remedy: `In account ${account}, let the role in: aws eks create-access-entry ${cluster} --principal-arn ${principalArn} --kubernetes-groups ${GROUP} (the cluster's authentication mode must include API; an entry that is older than the role itself must be deleted first). An opt-in Region must be enabled in the account of that role too: EKS has the token checked there.`,
      };
    if (problem.kind === 'forbidden')
      return {
        ...problem,
        remedy: `Grant it in that cluster: certmarshal rbac --group ${GROUP} | kubectl apply -f - (--policy FILE if you have policies of your own); aws eks describe-access-entry ${cluster} --principal-arn ${principalArn} must show that group.`,
      };
    return problem;
  });
}
