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

/**
 * The session name that `aws eks get-token` uses: RBAC may refer to it. Source: aws-cli,
 * awscli/customizations/eks/get_token.py, `STSClientFactory`.
 */
const SESSION_NAME = 'EKSGetTokenAuth';

/** A hanging check must not delay a sweep. Milliseconds. */
const CHECK_MS = 10_000;

/**
 * Signs the token of `aws eks get-token` in this process, for the `exec` that `aws eks update-kubeconfig` writes, with
 * its profile and role. The token is used only for the API server and CA bundle that EKS itself names for the cluster:
 * a kubeconfig can give the name of any EKS cluster another address and CA. A host that is no EKS endpoint in the
 * Region of the token is treated like any other `exec`.
 *
 * @param isTrusted the user passed `--allow-exec`, and so trusts the server of the kubeconfig
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
  // Load the SDK only for EKS clusters.
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
    let isChecked = false;
    try {
      await check();
      isChecked = true;
      return await (await signer())(clusterName, region);
    } catch (error) {
      if (!(error instanceof AwsError)) throw error;
      throw new KubernetesError({
        kind: 'credentials',
        object: `the token for EKS cluster ${clusterName}`,
        problem: `${error.problem}${profile === undefined ? '' : `, with the profile ${printable(profile)} of the kubeconfig`}`,
        remedy: !isChecked
          ? `${error.remedy} The token is only for the server that EKS names; if you trust the kubeconfig, pass --allow-exec.`
          : error.kind === 'denied' && role !== undefined
            ? `Allow the identity of that profile in the trust policy of ${role}, or write the kubeconfig again: aws eks update-kubeconfig.`
            : remedyAtTheKeyboard(error),
      });
    }
  };
}
