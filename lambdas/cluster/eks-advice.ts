import type { Problem } from '../contracts/problem.ts';
import type { EksAccess } from '../contracts/target.ts';

/** The Kubernetes group of the access entry, and of what `certmarshal rbac` grants unless it is told otherwise. */
const GROUP = 'certmarshal';

/**
 * The same problems with the remedies that are right for EKS, where the identity is an IAM role and its rights hang on an access entry.
 * Pure.
 *
 * @param principalArn of the role that signs the tokens
 */
export function adviseForEks(
  problems: readonly Problem[],
  name: string,
  { scope: { account, region } }: EksAccess,
  principalArn = '<ARN of the sweep role>',
): readonly Problem[] {
  // A token signed by a wrong clock is refused whatever the access entries say; the client said so.
  const skewed = problems.some(({ kind }) => kind === 'clock');
  const cluster = `--cluster-name ${name} --region ${region}`;
  return problems.map((problem) => {
    if (problem.kind === 'unauthorized' && !skewed)
      return {
        ...problem,
        remedy: `Let the role in, in account ${account}: aws eks create-access-entry ${cluster} --principal-arn ${principalArn} --kubernetes-groups ${GROUP} (the cluster's authentication mode must include API; an entry that is older than the role itself must be deleted first).`,
      };
    if (problem.kind === 'forbidden')
      return {
        ...problem,
        remedy: `Grant it in that cluster: certmarshal rbac --group ${GROUP} | kubectl apply -f - (--policy FILE if you have policies of your own); aws eks describe-access-entry ${cluster} --principal-arn ${principalArn} must show that group.`,
      };
    return problem;
  });
}
