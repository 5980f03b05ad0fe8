import type { MemberObservation, Observation } from '../../contracts/observation.ts';
import type { Provider } from '../../identifiers.ts';
import { listKind } from '../../kubernetes/list.ts';
import { canonicalAddress } from '../../names.ts';
import { printable } from '../../printable.ts';
import { field, list, text } from '../../resources/fields.ts';
import { instant } from '../../time.ts';
import type { AuditSource } from '../audit-source.ts';
import { shownName } from '../objects.ts';
import { cutShort, readList } from '../read-list.ts';

/** Four times the nodes that Kubernetes supports in a cluster. */
const MAX_NODES = 20_000;
const MAX_ADDRESSES = 16;
const MAX_NAME = 253;

const CONTROL_PLANE = ['node-role.kubernetes.io/control-plane', 'node-role.kubernetes.io/master'];

/**
 * Values of `eks.amazonaws.com/compute-type`. Source: Amazon EKS user guide, on Fargate, EKS Auto Mode and hybrid nodes. A kubelet may write this label itself,
 * so it is believed only where there is such a thing; and of Fargate, whose kubelets nobody looks at, only with the name that EKS gives.
 */
const KINDS: ReadonlyMap<unknown, NonNullable<MemberObservation['kindOfNode']>> = new Map([
  ['fargate', 'fargate'],
  ['auto', 'auto-mode'],
  ['hybrid', 'hybrid'],
]);

/** The Nodes of the cluster: who has a kubelet, and so certificates. */
export const nodes: AuditSource = {
  id: 'nodes',
  stage: 'first',
  deadlineMs: 10_000,
  off: () => undefined,
  async observe({ target, now, signal }) {
    const told = { source: 'nodes' as const, observedAt: new Date(now()).toISOString() };
    const observations: Observation[] = [];
    const reading = await readList(listKind(target.workload, 'nodes', { signal }), (item) => {
      if (observations.length === MAX_NODES) return 'full';
      const member = memberFromNode(item, target.cluster.provider);
      observations.push(
        typeof member === 'string'
          ? {
              kind: 'unread',
              ...told,
              where: `Node ${shownName(item)}`,
              problem: 'malformed',
              message: member,
              remedy: 'Look at the Node: kubectl get nodes -o yaml shows it.',
            }
          : { ...member, ...told },
      );
      return 'more';
    });
    return { observations: [...observations, ...cutShort(told, reading)], count: reading.count };
  },
};

/** A Node as a member of the cluster, or what is wrong with it. Its addresses are what its kubelet says: to look there, not to believe. */
function memberFromNode(node: unknown, provider: Provider): Omit<MemberObservation, 'source' | 'observedAt'> | string {
  const name = text(node, 'metadata', 'name');
  if (name === undefined || name === '' || name.length > MAX_NAME)
    return 'metadata.name is missing or longer than a name';
  const createdAt = instant(text(node, 'metadata', 'creationTimestamp'));
  if (createdAt === undefined) return 'metadata.creationTimestamp is missing or no time';
  const controlPlane = CONTROL_PLANE.some((label) => field(node, 'metadata', 'labels', label) !== undefined);
  const labelled = KINDS.get(field(node, 'metadata', 'labels', 'eks.amazonaws.com/compute-type'));
  const isBelieved = provider === 'eks' && (labelled !== 'fargate' || name.startsWith('fargate-'));
  const kindOfNode = isBelieved ? labelled : undefined;
  const shown = printable(name, MAX_NAME);
  return {
    kind: 'member',
    role: controlPlane ? 'control-plane' : 'worker',
    name: `Node ${shown}`,
    node: shown,
    createdAt: new Date(createdAt).toISOString(),
    addresses: addressesOf(node),
    kindOfNode,
  };
}

/** The internal ones first. Source: core/v1 `NodeAddressType`. */
function addressesOf(node: unknown): readonly string[] {
  const entries = list(node, 'status', 'addresses');
  const found = ['InternalIP', 'ExternalIP'].flatMap((type) =>
    entries
      .filter((entry) => text(entry, 'type') === type)
      .flatMap((entry) => canonicalAddress(text(entry, 'address') ?? '') ?? []),
  );
  return [...new Set(found)].slice(0, MAX_ADDRESSES);
}
