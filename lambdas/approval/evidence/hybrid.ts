import { addressRanges, spellsAddress } from '../../names.ts';
import { isIndependent } from '../../tables/evidence-sources.ts';
import type { ClusterContext } from '../request.ts';
import { isLive, type Owner, type SourceReading } from './evidence.ts';

/** Names that AWS gives its own nodes, besides names that spell an address. */
const OF_AWS = /^(?:i-[0-9a-f]{8,40}(?:\.|$)|fargate-)/;

/**
 * What EKS proves about hybrid nodes with open requests: a node that is neither Machine nor EC2 instance has its own
 * name, and those addresses of its Node that are in the remote node networks of the cluster. EKS reports the networks,
 * but the kubelet writes the address. So this proves less than an instance does. Undefined if the cluster has no such
 * networks, or if another source could not be read.
 *
 * Source: EKS API, `RemoteNetworkConfigResponse`; Amazon EKS user guide, "Troubleshooting hybrid nodes", on pending
 * requests.
 *
 * @param readings must include Nodes and EC2 instances
 */
export function readHybridNodes(
  { remoteNodeNetworks = [] }: Pick<ClusterContext, 'remoteNodeNetworks'>,
  asking: ReadonlySet<string>,
  readings: readonly SourceReading[],
): SourceReading | undefined {
  if (remoteNodeNetworks.length === 0) return undefined;
  const read = readings.filter((reading) => reading.ok);
  const nodes = read.find(({ source }) => source === 'node')?.owners;
  if (nodes === undefined || read.length < readings.length || !read.some(({ source }) => source === 'ec2'))
    return undefined;
  const networks = addressRanges(remoteNodeNetworks);
  const outside = `is outside of ${remoteNodeNetworks.join(', ')}, the remote node networks of the cluster`;
  const others = new Map(
    read
      .filter(isIndependent)
      .flatMap(({ owners }) => owners.flatMap((owner) => owner.nodes.map((node) => [node, owner.object] as const))),
  );
  const owners: Owner[] = [];
  const without = new Map<string, string>();
  const look = ({ addresses }: Owner, node: string): void => {
    const own = addresses.filter((address) => networks.has(address));
    const other = others.get(node);
    if (other !== undefined) without.set(node, `it is ${other}, so not a hybrid node`);
    else if (OF_AWS.test(node) || spellsAddress(node))
      without.set(node, 'it has a name like those that AWS gives its own nodes');
    else if (own.length === 0) without.set(node, `its Node shows no address in ${remoteNodeNetworks.join(', ')}`);
    else
      owners.push({
        source: 'hybrid',
        object: `hybrid node ${node}`,
        nodes: [node],
        dnsNames: [node],
        addresses: own,
        weakAddresses: addresses.flatMap((address) => (own.includes(address) ? [] : { address, why: outside })),
        listsNoDnsName: true,
      });
  };
  for (const owner of nodes.filter(isLive)) for (const node of owner.nodes) if (asking.has(node)) look(owner, node);
  return { source: 'hybrid', ok: true, lookedAt: owners.length + without.size, owners, without };
}
