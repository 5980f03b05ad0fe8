import type { SimulatedInstance } from './ec2.ts';
import type { XmlContent } from './xml.ts';

/** The elements of EC2 that are not just the name of the member with a small first letter. */
const NAMES: Readonly<Record<string, string>> = {
  Tags: 'tagSet',
  NetworkInterfaces: 'networkInterfaceSet',
  PrivateIpAddresses: 'privateIpAddressesSet',
  Ipv6Addresses: 'ipv6AddressesSet',
  State: 'instanceState',
};

/** An instance of the SDK as the elements that the SDK reads it from. */
export function instanceXml(instance: SimulatedInstance): XmlContent {
  return contentOf(instance);
}

function contentOf(value: unknown): XmlContent {
  if (Array.isArray(value)) return { item: value.map(contentOf) };
  if (value instanceof Date) return value.toISOString();
  if (typeof value !== 'object' || value === null) return String(value);
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, child]) => child !== undefined)
      .map(([name, child]) => [NAMES[name] ?? name.charAt(0).toLowerCase() + name.slice(1), contentOf(child)]),
  );
}
