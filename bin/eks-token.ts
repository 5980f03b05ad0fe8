import { isEksEndpoint } from '../lambdas/aws/eks-endpoint.ts';
import { type EksExec, readEksExec } from '../lambdas/aws/eks-exec.ts';
import { AwsError } from '../lambdas/aws/errors.ts';
import type { AwsScope } from '../lambdas/contracts/target.ts';
import { hostOf, type TokenSource } from '../lambdas/kubernetes/connection.ts';
import { KubernetesError } from '../lambdas/kubernetes/errors.ts';
import type { ReadExec } from '../lambdas/kubernetes/local-kubeconfig.ts';
import { once } from '../lambdas/lazy.ts';
import { printable } from '../lambdas/printable.ts';
import { remedyAtTheKeyboard } from './doctor/at-the-keyboard.ts';
import { type DescribeEks, describeEks, type KnownServer, knownToEks } from './eks-cluster.ts';

/** Whose name a role session of `aws eks get-token` has: RBAC may name it. Source: aws-cli, awscli/customizations/eks/get_token.py, `STSClientFactory`. */
const SESSION_NAME = 'EKSGetTokenAuth';

/** A check that hangs must not keep a sweep waiting. Milliseconds. */
const CHECK_MS = 10_000;

/**
 * Signs in this process what `aws eks update-kubeconfig` has `aws eks get-token` sign, with the profile and the role that the kubeconfig names. The token is for the API server
 * that EKS itself names for that cluster, with its CA bundle: a kubeconfig can give the name of any EKS server an address and a CA of its own. For a host that is not one of EKS,
 * in the Region of the token, the `exec` is like any other.
 *
 * @param isTrusted the user passed `--allow-exec`, and so trusts what the file says of the server
 */
export function createReadExec(isTrusted: boolean, describe: DescribeEks = describeEks): ReadExec {
  return (exec, server, caData) => {
    const asked = readEksExec(exec);
    if (asked === undefined || !isEksEndpoint(server, asked.region)) return undefined;
    const { region, clusterName, role, profile } = asked;
    const account = role?.split(':')[4] ?? '';
    const scope: AwsScope = { account, region, role: role === undefined ? undefined : { arn: role } };
    const known: KnownServer = { host: hostOf(new URL(server)), caData: caData ?? '' };
    const check = once(async () =>
      isTrusted
        ? undefined
        : knownToEks(describe, { scope, name: clusterName, profile }, known, AbortSignal.timeout(CHECK_MS)),
    );
    return { token: tokensOf(asked, scope, check), awsProfile: profile };
  };
}

function tokensOf(
  { region, clusterName, role, profile }: EksExec,
  scope: AwsScope,
  check: () => Promise<unknown>,
): TokenSource {
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
    return createTokenSigner({ credentials: credentialsOf(scope) });
  });
  return async () => {
    try {
      await check();
      return await (await signer())(clusterName, region);
    } catch (error) {
      if (!(error instanceof AwsError)) throw error;
      throw new KubernetesError({
        kind: 'credentials',
        object: `the token for EKS cluster ${clusterName}`,
        problem: `${error.problem}${profile === undefined ? '' : `, with the profile ${printable(profile)} of the kubeconfig`}`,
        remedy: error.object.startsWith('eks:DescribeCluster')
          ? `${error.remedy} The token is only for the server that EKS names; if you trust the kubeconfig, pass --allow-exec.`
          : error.kind === 'denied' && role !== undefined
            ? `Let the trust policy of ${role} name the identity of that profile, or write the kubeconfig anew: aws eks update-kubeconfig.`
            : remedyAtTheKeyboard(error),
      });
    }
  };
}
