import { isMachineOfAnother, type Machine, readMachine } from '../../resources/machine.ts';
import { type Owner, ownedNames } from './evidence.ts';

/**
 * Providers whose Machine addresses do not come from the guest: Tinkerbell takes them from its Hardware, CloudStack
 * from its NICs. vSphere reports what VMware Tools say, which root in the guest controls; others are unknown.
 *
 * Source: cluster-api-provider-tinkerbell `machine/scope.go`, cluster-api-provider-cloudstack `pkg/cloud/instance.go`,
 * cluster-api-provider-vsphere `sanitizeIPAddrs`.
 */
export function isToldByGuest(infrastructure = ''): boolean {
  return !/^(?:Tinkerbell|CloudStack)(?:Cluster|Machine)$/.test(infrastructure);
}

/** A machine of EKS Anywhere has one or two; a guest could claim every address of its subnet. */
const MAX_GUEST_ADDRESSES = 8;

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
  const names = ownedNames([...nodes, ...dnsNames], [...internalIps, ...externalIps]);
  const most = isToldByGuest(machine.infrastructure) ? MAX_GUEST_ADDRESSES : names.addresses.length;
  const weakAddresses = names.addresses.slice(most).map((address) => ({ address, why: TOO_MANY }));
  return {
    source: 'machine',
    object: `Machine ${namespace === undefined ? name : `${namespace}/${name}`}`,
    nodes,
    dnsNames: names.dnsNames,
    // Those that prove nothing keep their names from other nodes.
    addresses: names.addresses,
    ...(weakAddresses.length === 0 ? {} : { weakAddresses }),
    listsNoDnsName: dnsNames.length === 0 ? true : undefined,
    controlPlane: role === 'control-plane' ? true : undefined,
    notLive: whyNotLive(machine),
  };
}

const TOO_MANY = `is not among the first ${MAX_GUEST_ADDRESSES} addresses of its Machine, whose guest tells them`;

function whyNotLive({ deleting, node }: Machine): string | undefined {
  if (deleting) return 'is being deleted';
  return node === undefined ? 'has no node yet' : undefined;
}
