import { CONDITION_REASONS } from '../approval/condition-reasons.ts';
import { ownerFromInstance } from '../approval/evidence/ec2.ts';
import { type Evidence, indexEvidence, type Owner, type SourceReading } from '../approval/evidence/evidence.ts';
import { ownerFromMachine } from '../approval/evidence/machine.ts';
import { type ListedRequests, listRequests, readSource, type SweepTarget } from '../approval/observe.ts';
import { collectOpenRequests } from '../approval/open-requests.ts';
import { KUBELET_CLIENT_SIGNER } from '../approval/policy.ts';
import { requestedNode } from '../approval/requested-node.ts';
import { fail, type Outcome } from '../approval/rules/rules.ts';
import { KubernetesError } from '../kubernetes/errors.ts';
import { listKind } from '../kubernetes/list.ts';
import { listMachines } from '../kubernetes/machines.ts';
import { printable } from '../printable.ts';
import { text } from '../resources/fields.ts';
import { asleep, NODE_LEASE_NAMESPACE } from './liveness.ts';

/** Nine nodes make a few requests; this allows about a thousand, of all requesters. */
const ROOM = { ordinary: 2.5 * 1024 * 1024, large: 1024 * 1024 } as const;
/** That of a kubelet has 500 bytes. */
const MAX_REQUEST_BYTES = 16 * 1024;

/** Every pending request, because several nodes may use one bootstrap token. */
export interface ListedRecoveries extends ListedRequests {
  /**
   * By node, how many requests in the list carry an approval of a recovery. Anyone who may write conditions can add to
   * it, and Kubernetes lets no one take an approval back. Undefined if a request cannot be read: it may have one.
   */
  readonly approved: ReadonlyMap<string, number> | undefined;
}

/**
 * Lists the requests for client certificates of kubelets.
 *
 * @throws KubernetesError also if only a part of them can be listed
 */
export async function listRecoveries({ workload }: SweepTarget, signal: AbortSignal): Promise<ListedRecoveries> {
  const approved = new Map<string, number>();
  let isWhole = true;
  const listed = await listRequests(workload, {
    signerName: KUBELET_CLIENT_SIGNER,
    signal,
    open: collectOpenRequests(ROOM, ({ uid }) => uid),
    maxRequestBytes: MAX_REQUEST_BYTES,
    seen(csr) {
      if (!csr.conditions.some(({ type, reason }) => type === 'Approved' && reason === CONDITION_REASONS.recover))
        return;
      const node = requestedNode(csr);
      approved.set(node, (approved.get(node) ?? 0) + 1);
    },
    malformed: () => {
      isWhole = false;
    },
  });
  return { ...listed, approved: isWhole ? approved : undefined };
}

/** The evidence of Machines and EC2 instances about these nodes only. An unreadable source is part of the result. */
export async function readControlPlane(
  { cluster, management, machinesNamespace, vpcId, listInstances }: SweepTarget,
  nodes: readonly string[],
  signal: AbortSignal,
): Promise<Evidence> {
  if (nodes.length === 0) return indexEvidence([]);
  const wanted = (owner: Owner | undefined) =>
    owner?.nodes.some((node) => nodes.includes(node)) === true ? owner : undefined;
  const readings: Promise<SourceReading>[] = [];
  if (management !== undefined) {
    const machines = listMachines(management, { clusterName: cluster.name, namespace: machinesNamespace, signal });
    readings.push(readSource('machine', machines, (item) => wanted(ownerFromMachine(item, cluster.name))));
  }
  if (listInstances !== undefined) {
    const instances = listInstances({ nodes, vpcId }, signal);
    readings.push(readSource('ec2', instances, (item) => wanted(ownerFromInstance(item, cluster.name, vpcId))));
  }
  return indexEvidence(await Promise.all(readings));
}

/** Whether these nodes are asleep. Failed reads are part of the result. */
export async function readLiveness(
  { workload }: SweepTarget,
  nodes: readonly string[],
  clock: () => number,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Outcome>> {
  const named = async (kind: 'nodes' | 'leases', name: string, namespace?: string): Promise<unknown> => {
    for await (const page of listKind(workload, kind, { name, namespace, signal })) {
      // A server may ignore the selector.
      const found = page.find((item) => text(item, 'metadata', 'name') === name);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  const look = async (node: string): Promise<Outcome> => {
    try {
      const [object, lease] = await Promise.all([named('nodes', node), named('leases', node, NODE_LEASE_NAMESPACE)]);
      return asleep(object, lease, clock());
    } catch (error) {
      if (!(error instanceof KubernetesError)) throw error;
      return fail('NodeUnreadable', printable(error.message, 400));
    }
  };
  return new Map(await Promise.all(nodes.map(async (node) => [node, await look(node)] as const)));
}
