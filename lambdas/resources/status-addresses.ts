import { canonicalAddress } from '../names.ts';
import { list, text } from './fields.ts';

export interface StatusAddresses {
  readonly dnsNames: readonly string[];
  readonly internalIps: readonly string[];
  readonly externalIps: readonly string[];
}

const MAX_ADDRESSES = 16;

const LISTS: Readonly<Record<string, keyof StatusAddresses>> = {
  InternalIP: 'internalIps',
  ExternalIP: 'externalIps',
  Hostname: 'dnsNames',
  InternalDNS: 'dnsNames',
  ExternalDNS: 'dnsNames',
};

/**
 * `status.addresses` of a Node or a Cluster API Machine, which share the shape `{type, address}`. The type limits what
 * an entry can prove: an address under `Hostname` proves no address.
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

/**
 * The addresses of a machine's servers, canonical, internal ones first. On vSphere the machine that holds the address
 * of the API endpoint lists it too; another machine may answer there later.
 *
 * @param endpoint address of the API endpoint
 */
export function serverAddresses({ internalIps, externalIps }: StatusAddresses, endpoint?: string): readonly string[] {
  const canonical = [...internalIps, ...externalIps]
    .slice(0, MAX_ADDRESSES * 4)
    .flatMap((address) => canonicalAddress(address) ?? []);
  const all = [...new Set(canonical)];
  const shared = endpoint === undefined ? undefined : canonicalAddress(endpoint);
  const own = all.filter((address) => address !== shared);
  return (own.length > 0 ? own : all).slice(0, MAX_ADDRESSES);
}
