import { list, text } from './wire.ts';

const ADDRESS_TYPES: ReadonlySet<string> = new Set(['InternalIP', 'ExternalIP']);
const NAME_TYPES: ReadonlySet<string> = new Set(['Hostname', 'InternalDNS', 'ExternalDNS']);

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
    const type = text(entry, 'type') ?? '';
    if (ADDRESS_TYPES.has(type)) addresses.push(address);
    else if (NAME_TYPES.has(type)) dnsNames.push(address);
  }
  return { dnsNames, addresses };
}
