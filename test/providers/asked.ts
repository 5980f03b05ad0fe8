import { decideApproval } from '../../lambdas/approval/decide-approval.ts';
import { observe } from '../../lambdas/approval/observe.ts';
import { DEFAULT_POLICY } from '../../lambdas/approval/policy.ts';
import type { Verdict } from '../../lambdas/approval/verdict.ts';
import { csrObject, dns, ips, NOW, signingRequest } from '../unit/approval/fixtures.ts';
import { born, NAME, NAMESPACE } from '../unit/rollout/fixtures.ts';
import type { World } from '../unit/rollout/world.ts';
import { nodeOf } from './objects.ts';

export interface Names {
  readonly dnsNames: readonly string[];
  readonly addresses: readonly string[];
}

/** What becomes of the request of the first machine for these names. */
export async function verdictOn({ management, provider }: World, { dnsNames, addresses }: Names): Promise<Verdict> {
  const node = nodeOf(provider, born(1));
  const sans = [...dns(...dnsNames), ...ips(...addresses)];
  const csr = csrObject({ node, request: { commonName: `system:node:${node}`, sans } });
  const workload = { ...management.client, request: async () => ({ items: [csr], metadata: {} }) };
  const target = {
    cluster: { name: NAME, provider: 'eks-anywhere' },
    workload,
    management: management.client,
    machinesNamespace: NAMESPACE,
  } as const;
  const { cluster, evidence } = await observe(target, [DEFAULT_POLICY], new AbortController().signal, () => NOW);
  const request = { cluster, csr: signingRequest(csr), siblings: { pending: 1 } };
  return decideApproval(request, evidence, [DEFAULT_POLICY], NOW);
}
