import { list, text } from './fields.ts';

export interface StatusAddresses {
  readonly dnsNames: readonly string[];
  readonly internalIps: readonly string[];
  readonly externalIps: readonly string[];
}

const LISTS: Readonly<Record<string, keyof StatusAddresses>> = {
  InternalIP: 'internalIps',
  ExternalIP: 'externalIps',
  Hostname: 'dnsNames',
  InternalDNS: 'dnsNames',
  ExternalDNS: 'dnsNames',
};

/**
 * `status.addresses` of a Node or a Cluster API Machine, which share the shape `{type, address}`. The type decides
 * what an entry can prove: an address under `Hostname` proves no address.
 *
 * Source: core/v1 `NodeAddressType`, Cluster API `MachineAddressType`.
 */
export function statusAddresses(object: unknown): StatusAddresses {
  const found = { dnsNames: [] as string[], internalIps: [] as string[], externalIps: [] as string[] };
  for (const entry of list(object, 'status', 'addresses')) {
    const address = text(entry, 'address');
    const type = text(entry, 'type') ?? '';
    const into = Object.hasOwn(LISTS, type) ? LISTS[type] : undefined;
    if (address !== undefined && into !== undefined) found[into].push(address);
  }
  return found;
}
