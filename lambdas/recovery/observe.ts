import { CONDITION_REASONS } from '../approval/condition-reasons.ts';
import { ownerFromInstance } from '../approval/evidence/ec2.ts';
import { type Evidence, indexEvidence, type Owner, type SourceReading } from '../approval/evidence/evidence.ts';
import { ownerFromMachine } from '../approval/evidence/machine.ts';
import { type ListedRequests, listRequests, readSource, type SweepTarget } from '../approval/observe.ts';
import { collectOpenRequests } from '../approval/open-requests.ts';
import { KUBELET_CLIENT_SIGNER } from '../approval/policy.ts';
import { fail, type Outcome } from '../approval/rules/rules.ts';
import type { RecoveryWindow } from '../contracts/recovery-window.ts';
import { KubernetesError } from '../kubernetes/errors.ts';
import { listKind } from '../kubernetes/list.ts';
import { listMachines } from '../kubernetes/machines.ts';
import { printable } from '../printable.ts';
import { text } from '../resources/fields.ts';
import type { SigningRequest } from '../resources/signing-request.ts';
import { instant } from '../time.ts';
import { asleep, NODE_LEASE_NAMESPACE } from './liveness.ts';
import { nodeOfRequest } from './policy.ts';

/** One cluster and open connections to it. */
export interface RecoveryTarget extends SweepTarget {
  /** Id in the fleet, as windows name it. */
  readonly clusterId: string;
}

/** Nine nodes make a few requests; this allows about a thousand, of all requesters. */
const ROOM = { ordinary: 2.5 * 1024 * 1024, large: 1024 * 1024 } as const;
/** That of a kubelet has 500 bytes. */
const MAX_REQUEST_BYTES = 16 * 1024;

/**
 * The requests for client certificates of kubelets: every pending one, because several nodes may use one bootstrap
 * token; and by node the recovery approvals since the window opened whose requests still exist.
 *
 * @throws KubernetesError if they cannot be listed
 */
export async function listRecoveries(
  { workload }: RecoveryTarget,
  { openedAt }: RecoveryWindow,
  signal: AbortSignal,
): Promise<ListedRequests & { readonly given: ReadonlyMap<string, number> }> {
  const given = new Map<string, number>();
  const listed = await listRequests(workload, {
    signerName: KUBELET_CLIENT_SIGNER,
    signal,
    open: collectOpenRequests(ROOM, ({ uid }) => uid),
    maxRequestBytes: MAX_REQUEST_BYTES,
    seen(csr) {
      const node = isRecovered(csr, openedAt) ? nodeOfRequest(csr) : undefined;
      if (node !== undefined) given.set(node, (given.get(node) ?? 0) + 1);
    },
  });
  return { ...listed, given };
}

/**
 * Approved by a recovery since then. The API server dates every condition; an undated one counts. Kubernetes deletes
 * approved requests after an hour.
 */
function isRecovered({ conditions }: SigningRequest, openedAt: string): boolean {
  const since = instant(openedAt) ?? 0;
  return conditions.some(
    ({ type, reason, updated }) =>
      type === 'Approved' && reason === CONDITION_REASONS.recover && (instant(updated) ?? since) >= since,
  );
}

/** The evidence of Machines and EC2 instances about these nodes only. An unreadable source is part of the result. */
export async function readControlPlane(
  { cluster, management, machinesNamespace, vpcId, listInstances }: RecoveryTarget,
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
  { workload }: RecoveryTarget,
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
