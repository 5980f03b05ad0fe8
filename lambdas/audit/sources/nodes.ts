import { collectOwners } from '../../approval/evidence/collect-owners.ts';
import { ownerFromNode } from '../../approval/evidence/node.ts';
import type { MemberObservation, Observation } from '../../contracts/observation.ts';
import type { Provider } from '../../identifiers.ts';
import { listKind } from '../../kubernetes/list.ts';
import { readNode, readNodeLabels } from '../../resources/node.ts';
import { serverAddresses } from '../../resources/status-addresses.ts';
import { timestamp } from '../../time.ts';
import type { AuditSource } from '../audit-source.ts';
import { shownName } from '../objects.ts';
import { cutShort, readList } from '../read-list.ts';

/** Four times the nodes that Kubernetes supports in a cluster. */
const MAX_NODES = 20_000;

/** The Nodes of the cluster, which have a kubelet and so certificates. */
export const nodes: AuditSource = {
  id: 'nodes',
  stage: 'first',
  deadlineMs: 10_000,
  off: () => undefined,
  async observe({ target, now, signal }) {
    const origin = { source: 'nodes' as const, observedAt: timestamp(now()) };
    const observations: Observation[] = [];
    const owners = collectOwners('node');
    const reading = await readList(listKind(target.workload, 'nodes', { signal }), (item) => {
      if (observations.length === MAX_NODES) return 'full';
      owners.add(ownerFromNode(item));
      const member = memberFromNode(item, target.cluster.provider);
      observations.push(
        typeof member === 'string'
          ? {
              kind: 'unread',
              ...origin,
              where: `Node ${shownName(item)}`,
              problem: 'malformed',
              message: member,
              remedy: 'Check the Node: kubectl get nodes -o yaml shows it.',
            }
          : { ...member, ...origin },
      );
      return 'more';
    });
    return {
      observations: [...observations, ...cutShort(origin, reading)],
      count: reading.count,
      evidence: owners.reading(reading.problem),
    };
  },
};

/**
 * A Node as a member of the cluster, or what is wrong with it. Its addresses come from its kubelet: they are dialled,
 * not believed.
 */
function memberFromNode(
  object: unknown,
  provider: Provider,
): Omit<MemberObservation, 'source' | 'observedAt'> | string {
  const node = readNode(object);
  if (node === undefined) return 'metadata.name is missing or longer than a name';
  const { name, createdAt, addresses } = node;
  if (createdAt === undefined) return 'metadata.creationTimestamp is missing or not a time';
  const { controlPlane, kind } = readNodeLabels(object, name);
  return {
    kind: 'member',
    role: controlPlane ? 'control-plane' : 'worker',
    name: `Node ${name}`,
    node: name,
    createdAt: new Date(createdAt).toISOString(),
    addresses: serverAddresses(addresses),
    // Other providers have no such nodes, but a kubelet may write the label.
    kindOfNode: provider === 'eks' ? kind : undefined,
  };
}
