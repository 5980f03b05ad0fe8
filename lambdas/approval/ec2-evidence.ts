import { type Owner, ownedNames } from './evidence.ts';
import { canonicalDnsName } from './names.ts';
import { list, text } from './wire.ts';

/**
 * What an EC2 instance (DescribeInstances shape) proves: the node that is called by the instance's private DNS name, its
 * resource name or its instance id owns every address and DNS name of every network interface. Undefined when it
 * proves nothing for this cluster: not `running`, or not tagged `kubernetes.io/cluster/<name>` = owned|shared or
 * `eks:cluster-name` = <name>.
 *
 * Source: EC2 API `Instance`, `InstanceNetworkInterface`; EC2 user guide "Amazon EC2 instance hostname types".
 */
export function ownerFromInstance(instance: unknown, clusterName: string): Owner | undefined {
  const id = text(instance, 'InstanceId');
  if (id === undefined || !/^i-\w{1,40}$/.test(id)) return undefined;
  if (text(instance, 'State', 'Name') !== 'running') return undefined;
  if (!isTaggedFor(instance, clusterName)) return undefined;

  const dnsNames: (string | undefined)[] = [text(instance, 'PrivateDnsName'), text(instance, 'PublicDnsName')];
  const addresses: (string | undefined)[] = [
    text(instance, 'PrivateIpAddress'),
    text(instance, 'PublicIpAddress'),
    text(instance, 'Ipv6Address'),
  ];
  for (const networkInterface of list(instance, 'NetworkInterfaces')) {
    for (const place of [networkInterface, ...list(networkInterface, 'PrivateIpAddresses')]) {
      dnsNames.push(text(place, 'PrivateDnsName'), text(place, 'Association', 'PublicDnsName'));
      addresses.push(text(place, 'PrivateIpAddress'), text(place, 'Association', 'PublicIp'));
    }
    for (const entry of list(networkInterface, 'Ipv6Addresses')) addresses.push(text(entry, 'Ipv6Address'));
  }

  const privateDnsName = canonicalDnsName(text(instance, 'PrivateDnsName') ?? '');
  const nodes = new Set([id]);
  if (privateDnsName !== '') nodes.add(privateDnsName);
  const domain = privateDomain(instance, privateDnsName);
  if (domain !== undefined) nodes.add(`${id}.${domain}`);
  return {
    source: 'ec2',
    object: `EC2 instance ${id}`,
    nodes: [...nodes],
    ...ownedNames([...present(dnsNames), ...nodes], present(addresses)),
  };
}

function isTaggedFor(instance: unknown, clusterName: string): boolean {
  return list(instance, 'Tags').some((tag) => {
    const key = text(tag, 'Key');
    const value = text(tag, 'Value');
    if (key === 'eks:cluster-name') return value === clusterName;
    return key === `kubernetes.io/cluster/${clusterName}` && (value === 'owned' || value === 'shared');
  });
}

/** `ec2.internal` in us-east-1, `<region>.compute.internal` elsewhere; undefined when the instance does not tell. */
function privateDomain(instance: unknown, privateDnsName: string): string | undefined {
  const domain = privateDnsName.slice(privateDnsName.indexOf('.') + 1);
  if (/^(?:ec2|[a-z0-9-]+\.compute)\.internal$/.test(domain)) return domain;
  const region = text(instance, 'Placement', 'AvailabilityZone')?.match(/^([a-z]{2}(?:-[a-z]+)+-\d+)[a-z]$/)?.[1];
  if (region === undefined) return undefined;
  return region === 'us-east-1' ? 'ec2.internal' : `${region}.compute.internal`;
}

function present(values: readonly (string | undefined)[]): string[] {
  return values.filter((value): value is string => value !== undefined && value !== '');
}
