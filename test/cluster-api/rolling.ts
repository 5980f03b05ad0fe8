import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { rbacManifests } from '../../bin/commands/rbac.ts';
import type { ApiCall, KubernetesClient } from '../../lambdas/kubernetes/client.ts';
import { OPT_IN_ANNOTATION } from '../../lambdas/resources/annotations.ts';
import type { RolloutStep } from '../../lambdas/rollout/step.ts';
import type { RolloutStepped } from '../../lambdas/rollout/step-rollout.ts';
import type { Admin } from '../control-plane/admin.ts';
import { PATIENCE_MS } from '../patience.ts';
import { localClient } from '../support/local-client.ts';
import type { Lifetime } from './apiserver-endpoints.ts';
import { type ControlPlaneCluster, createdAt, type Machine, type Version } from './control-plane-cluster.ts';
import type { ClusterApi } from './stack.ts';

export const DAY = 86_400_000;

export function inDays(days: number): Date {
  return new Date(Date.now() + days * DAY);
}

/** Kubeadm and etcdadm let a leaf begin with its authority. */
export const AUTHORITY_BEGAN = inDays(-345);
/** Of machines that are there when the tests begin. */
export const ENDING: Lifetime = { notBefore: AUTHORITY_BEGAN, notAfter: inDays(20) };

export function yearAfter(machine: Machine): Date {
  return new Date(createdAt(machine) + 365 * DAY);
}

/** Machines of a provider that only tests have: what certmarshal rbac does not print. */
export async function grantTemplates(stack: ClusterApi): Promise<void> {
  const templates = { apiGroups: ['infrastructure.cluster.x-k8s.io'], resources: ['devmachinetemplates'] };
  await stack.grant('certmarshal', [{ ...templates, verbs: ['get'] }]);
}

/** What certmarshal rbac prints, and nothing more, but for those. */
export async function grantRollouts(stack: ClusterApi, clusters: readonly ControlPlaneCluster[], rolloutEtcd = false) {
  const rolloutOf = clusters.map(({ namespace, name }) => `${namespace}/${name}`);
  const options = { management: true, user: 'certmarshal', audit: false, rollouts: true, rolloutOf, rolloutEtcd };
  await stack.admin.apply(rbacManifests(options, []));
  await grantTemplates(stack);
}

/** The owner of a cluster opts in. */
export async function agree(cluster: ControlPlaneCluster): Promise<void> {
  await cluster.patchControlPlane({ metadata: { annotations: { [OPT_IN_ANNOTATION]: 'auto' } } });
}

/** Who holds the Lease of rollouts; empty when it was let go. */
export async function holderOf(admin: Admin): Promise<string | undefined> {
  const path = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/certmarshal-rollout';
  const { spec } = await admin.get<{ readonly spec: { readonly holderIdentity?: string } }>(path);
  return spec.holderIdentity;
}

export const isControlPlane = ({ path }: ApiCall): boolean => path.includes('/kubeadmcontrolplanes/');
export const isLease = ({ path }: ApiCall): boolean => path.includes('/leases');
export const isRehearsal = ({ query }: ApiCall): boolean => query?.['dryRun'] !== undefined;

/** What a client did. */
export interface Spy {
  readonly client: KubernetesClient;
  /** What was to change an object, but the Lease; no rehearsals. */
  readonly sent: ApiCall[];
  /** What of that did. */
  readonly writes: ApiCall[];
  /** Called before each call and after its answer; throws to play the end of the process. */
  hook: (when: 'before' | 'after', call: ApiCall) => void;
}

export function spyOn(cluster: ClusterApi, serving: readonly Version[] = ['v1beta2', 'v1beta1']): Spy {
  const inner = localClient(cluster, cluster.tokenFor('certmarshal'));
  const spied: Spy = {
    sent: [],
    writes: [],
    hook: () => {},
    client: {
      ...inner,
      stats: inner.stats,
      async request(call) {
        const isWrite = call.method !== 'GET' && !isLease(call) && !isRehearsal(call);
        spied.hook('before', call);
        if (isWrite) spied.sent.push(call);
        const answer = await inner.request(call);
        if (isWrite) spied.writes.push(call);
        spied.hook('after', call);
        if (call.path !== '/apis/controlplane.cluster.x-k8s.io') return answer;
        return { ...answer, versions: serving.map((version) => ({ version })) };
      },
    },
  };
  return spied;
}

/** Nothing of certmarshal catches it: the process is gone. */
export function endsAt(at: 'before' | 'after', isIt: (call: ApiCall) => boolean): Spy['hook'] {
  return (when, call) => {
    if (when === at && isIt(call)) throw new Error('the process ended');
  };
}

/** Looks again and again, as sweeps do, until a state. @param line what is seen of a step */
export async function followed(
  until: RolloutStep['state'],
  look: () => Promise<RolloutStepped>,
  line: (step: RolloutStep) => string,
): Promise<{ readonly seen: readonly string[]; readonly last: RolloutStep }> {
  const seen: string[] = [];
  for (const deadline = Date.now() + PATIENCE_MS; Date.now() < deadline; await sleep(1_000)) {
    const { step, problems } = await look();
    expect(problems).toEqual([]);
    if (seen.at(-1) !== line(step)) seen.push(line(step));
    if (step.state === until) return { seen, last: step };
    if (step.state === 'held' || step.state === 'refused') throw new Error(JSON.stringify(step, null, 1));
  }
  throw new Error(`never ${until}: ${seen.join(', ')}`);
}
