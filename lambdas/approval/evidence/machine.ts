import { isMachineOfAnother, type Machine, readMachine } from '../../resources/machine.ts';
import { type Owner, ownedNames } from './evidence.ts';

/**
 * What a Cluster API Machine proves: the node in `status.nodeRef` owns that name and every address in
 * `status.addresses`. Without nodeRef, or while it is being deleted, a Machine is not live, but its server may answer
 * at its addresses. Undefined for a Machine of another cluster of the same management cluster.
 */
export function ownerFromMachine(object: unknown, clusterName: string): Owner | undefined {
  const machine = isMachineOfAnother(object, clusterName) ? undefined : readMachine(object);
  if (machine === undefined) return undefined;
  const { name, namespace, node, addresses, role } = machine;
  const { dnsNames, internalIps, externalIps } = addresses;
  const nodes = node === undefined ? [] : [node];
  return {
    source: 'machine',
    object: `Machine ${namespace === undefined ? name : `${namespace}/${name}`}`,
    nodes,
    ...ownedNames([...nodes, ...dnsNames], [...internalIps, ...externalIps]),
    listsNoDnsName: dnsNames.length === 0 ? true : undefined,
    controlPlane: role === 'control-plane' ? true : undefined,
    notLive: whyNotLive(machine),
  };
}

function whyNotLive({ deleting, node }: Machine): string | undefined {
  if (deleting) return 'is being deleted';
  return node === undefined ? 'has no node yet' : undefined;
}
