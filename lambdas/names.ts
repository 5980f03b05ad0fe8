import { BlockList, isIP, isIPv6, SocketAddress } from 'node:net';

/**
 * The form in which DNS names are compared: lower case, without one trailing dot (RFC 4343, RFC 1034 §3.1).
 */
export function canonicalDnsName(name: string): string {
  const lower = name.toLowerCase();
  return lower.endsWith('.') ? lower.slice(0, -1) : lower;
}

/**
 * The form in which addresses are compared: every text of one IPv6 address gives one string, and an IPv4-mapped
 * IPv6 address stays IPv6. Undefined for anything that is not an address, zone identifiers included.
 */
export function canonicalAddress(text: string): string | undefined {
  const family = isIP(text);
  if (family === 0 || text.includes('%')) return undefined;
  if (family === 4) return text;
  return new SocketAddress({ address: text, family: 'ipv6' }).address;
}

// EC2 names that contain an address (ip-10-0-1-23.…, ec2-203-0-113-25.…) are reused with it.
const ADDRESS_DERIVED = /^(?:ip|ec2)-\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3}\./;

/** Whether a canonical DNS name contains an address, like those that EC2 assigns. */
export function spellsAddress(dnsName: string): boolean {
  return ADDRESS_DERIVED.test(dnsName);
}

const LABEL = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;

/** A name that Kubernetes accepts for a Node. Source: apimachinery, `IsDNS1123Subdomain`; labels have no bound. */
export function isNodeName(name: string): boolean {
  return name.length <= 253 && name.split('.').every((label) => LABEL.test(label));
}

/** Four numbers: some clients take it for an IPv4 address, also `010.0.0.1`. */
export function readsAsAddress(dnsName: string): boolean {
  return /^\d+(?:\.\d+){3}$/.test(dnsName);
}

/** A Node name that a certificate can have as a DNS name. */
export function isDnsName(canonical: string): boolean {
  return isNodeName(canonical) && !readsAsAddress(canonical);
}

/** A set of CIDRs. IPv4 rules never match IPv6 addresses. */
export interface AddressRanges {
  has(canonicalAddress: string): boolean;
}

/** @throws RangeError for an invalid CIDR; configuration is validated earlier */
export function addressRanges(cidrs: readonly string[]): AddressRanges {
  const v4 = new BlockList();
  const v6 = new BlockList();
  for (const cidr of cidrs) {
    const [network = '', prefix = ''] = cidr.split('/');
    if (isIP(network) === 0 || !/^\d{1,3}$/.test(prefix)) throw new RangeError(`not a CIDR: ${cidr}`);
    if (isIPv6(network)) v6.addSubnet(network, Number(prefix), 'ipv6');
    else v4.addSubnet(network, Number(prefix), 'ipv4');
  }
  return { has: (address) => (isIPv6(address) ? v6.check(address, 'ipv6') : v4.check(address, 'ipv4')) };
}
