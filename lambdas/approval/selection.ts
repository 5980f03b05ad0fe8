import { type ApprovalPolicy, KUBELET_SERVING_SIGNER } from './policy.ts';
import type { ClusterContext } from './request.ts';

/** Whether a policy is for a cluster: its provider is listed and one of the globs matches its name. */
export function isFor(
  policy: Pick<ApprovalPolicy, 'providers' | 'clusters'>,
  cluster: Pick<ClusterContext, 'name' | 'provider'>,
): boolean {
  return policy.providers.includes(cluster.provider) && policy.clusters.some((glob) => matchesGlob(glob, cluster.name));
}

/** The policies that are {@link isFor} a cluster. */
export function policiesFor<P extends Pick<ApprovalPolicy, 'providers' | 'clusters'>>(
  policies: readonly P[],
  cluster: Pick<ClusterContext, 'name' | 'provider'>,
): readonly P[] {
  return policies.filter((policy) => isFor(policy, cluster));
}

/** The policies that promise approval to the nodes of a cluster. */
export function enforcing(
  policies: readonly ApprovalPolicy[],
  cluster: Pick<ClusterContext, 'name' | 'provider'>,
): readonly ApprovalPolicy[] {
  return policiesFor(policies, cluster).filter(
    ({ mode, signers }) => mode[cluster.provider] === 'enforce' && signers.includes(KUBELET_SERVING_SIGNER),
  );
}

/**
 * `*` matches any run of characters; nothing else is special. Each part matches at its first place, so nothing
 * backtracks.
 */
export function matchesGlob(glob: string, name: string): boolean {
  const [first = '', ...rest] = glob.split('*');
  const last = rest.pop();
  if (last === undefined) return name === glob;
  if (!name.startsWith(first) || !name.endsWith(last) || name.length < first.length + last.length) return false;
  let at = first.length;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return at <= name.length - last.length;
}
