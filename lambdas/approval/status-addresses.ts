import { list, text } from './wire.ts';

/**
 * `status.addresses` of a Node or a Cluster API Machine, which share the shape `{type, address}`. The type decides
 * what an entry can prove: an address under `Hostname` proves no address.
 *
 * Source: core/v1 `NodeAddressType`, Cluster API `MachineAddressType`.
 */
export function statusAddresses(object: unknown): { dnsNames: string[]; addresses: string[] } {
  const dnsNames: string[] = [];
  const addresses: string[] = [];
  for (const entry of list(object, 'status', 'addresses')) {
    const address = text(entry, 'address');
    if (address === undefined) continue;
    switch (text(entry, 'type')) {
      case 'InternalIP':
      case 'ExternalIP':
        addresses.push(address);
        break;
      case 'Hostname':
      case 'InternalDNS':
      case 'ExternalDNS':
        dnsNames.push(address);
        break;
    }
  }
  return { dnsNames, addresses };
}
