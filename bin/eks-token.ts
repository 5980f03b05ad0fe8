import { isEksEndpoint } from '../lambdas/aws/eks-endpoint.ts';
import { type EksExec, readEksExec } from '../lambdas/aws/eks-exec.ts';
import { AwsError } from '../lambdas/aws/errors.ts';
import type { TokenSource } from '../lambdas/kubernetes/connection.ts';
import { KubernetesError } from '../lambdas/kubernetes/errors.ts';
import type { ReadExec } from '../lambdas/kubernetes/local-kubeconfig.ts';
import { once } from '../lambdas/lazy.ts';
import { printable } from '../lambdas/printable.ts';
import { remedyAtTheKeyboard } from './doctor/at-the-keyboard.ts';

/** Whose name a role session of `aws eks get-token` has: RBAC may name it. Source: aws-cli, awscli/customizations/eks/get_token.py, `STSClientFactory`. */
const SESSION_NAME = 'EKSGetTokenAuth';

/**
 * Signs in this process what `aws eks update-kubeconfig` has `aws eks get-token` sign, with the profile and the role that the kubeconfig names. Only an API server that the
 * name of its host proves to be one of EKS, in the Region of the token, gets one: for another server the `exec` is like any other.
 */
export const readExec: ReadExec = (exec, server) => {
  const asked = readEksExec(exec);
  return asked !== undefined && isEksEndpoint(server, asked.region)
    ? { token: tokensOf(asked), awsProfile: asked.profile }
    : undefined;
};

function tokensOf({ region, clusterName, role, profile }: EksExec): TokenSource {
  // The SDK is only loaded by those who have an EKS cluster.
  const signer = once(async () => {
    const [{ createCredentials }, { createTokenSigner }] = await Promise.all([
      import('../lambdas/aws/spoke-credentials.ts'),
      import('../lambdas/aws/eks-token.ts'),
    ]);
    const credentialsOf = createCredentials({
      sessionName: SESSION_NAME,
      sts: profile === undefined ? {} : { profile },
    });
    const account = role?.split(':')[4] ?? '';
    return createTokenSigner({
      credentials: credentialsOf({ account, region, role: role === undefined ? undefined : { arn: role } }),
    });
  });
  return async () => {
    try {
      return await (await signer())(clusterName, region);
    } catch (error) {
      if (!(error instanceof AwsError)) throw error;
      throw new KubernetesError({
        kind: 'credentials',
        object: `the token for EKS cluster ${clusterName}`,
        problem: `${error.problem}${profile === undefined ? '' : `, with the profile ${printable(profile)} of the kubeconfig`}`,
        remedy:
          error.kind === 'denied' && role !== undefined
            ? `Let the trust policy of ${role} name the identity of that profile, or write the kubeconfig anew: aws eks update-kubeconfig.`
            : remedyAtTheKeyboard(error),
      });
    }
  };
}
