import type { Instance, InstanceNetworkInterface } from '@aws-sdk/client-ec2';
import { canonicalDnsName } from '../../names.ts';
import { field, list, type Raw, raw, text } from '../../resources/fields.ts';
import { clustersOfInstance } from '../../resources/instance-clusters.ts';
import { instant } from '../../time.ts';
import { type Owner, ownedNames, type WeakAddress } from './evidence.ts';

/** Interfaces of one launch are attached within this time, before the node runs any code. Milliseconds. */
const LAUNCH_MS = 5_000;

/**
 * What an EC2 instance (DescribeInstances shape, times as Date or RFC 3339 text) proves: the node named by its private
 * DNS name, resource name or instance id owns the addresses and DNS names that the node cannot assign to itself. The
 * instance is live only while it is `running` and its tags name no other cluster; otherwise it keeps its addresses and
 * proves nothing. Undefined for an instance of another VPC, or without a tag that names the cluster.
 *
 * The role of a node usually has `AmazonEKS_CNI_Policy`, so anyone who controls the node may assign it secondary
 * addresses (`ec2:AssignPrivateIpAddresses`, for IPv6 `ec2:AssignIpv6Addresses`) and create, attach and detach network
 * interfaces. It can replace neither the interface with device index 0 nor the primary address of an interface. So
 * these count:
 *
 * - private and public address, private and public DNS name of the instance itself
 * - of the interface with device index 0, and of those attached with it at launch: the primary private address, its DNS
 * name, the public address and DNS name associated with it, and the primary IPv6 address; `Ipv6Address` of the instance
 * if it is the only one of the interface
 *
 * Secondary addresses, which the VPC CNI gives to pods, and interfaces attached later are `weakAddresses`.
 *
 * Source: EC2 API `InstanceState`; AWS managed policies `AmazonEKS_CNI_Policy` and the IPv6 policy in "Amazon VPC CNI
 * plugin: IAM role"; EC2 API `Instance`, `InstanceNetworkInterfaceAttachment`, `InstancePrivateIpAddress`,
 * `InstanceIpv6Address`, DetachNetworkInterface; EC2 user guide "Amazon EC2 instance hostname types".
 *
 * @param vpcId VPC of the cluster, if known
 */
export function ownerFromInstance(item: unknown, clusterName: string, vpcId?: string): Owner | undefined {
  const instance = raw<Instance>(item);
  const id = text(instance, 'InstanceId');
  if (id === undefined || !/^i-\w{1,40}$/.test(id)) return undefined;
  if (vpcId !== undefined && text(instance, 'VpcId') !== vpcId) return undefined;
  const clusters = clustersOfInstance(instance);
  if (!clusters.includes(clusterName)) return undefined;
  const state = text(instance, 'State', 'Name') ?? '';
  if (state === '') return undefined;

  const dnsNames: (string | undefined)[] = [text(instance, 'PrivateDnsName'), text(instance, 'PublicDnsName')];
  const addresses: (string | undefined)[] = [text(instance, 'PrivateIpAddress'), text(instance, 'PublicIpAddress')];
  const { atLaunch, others } = networkInterfaces(instance);
  for (const networkInterface of atLaunch) {
    for (const entry of list(networkInterface, 'PrivateIpAddresses')) {
      if (field(entry, 'Primary') !== true) continue;
      dnsNames.push(text(entry, 'PrivateDnsName'), text(entry, 'Association', 'PublicDnsName'));
      addresses.push(text(entry, 'PrivateIpAddress'), text(entry, 'Association', 'PublicIp'));
    }
    const ipv6 = list(networkInterface, 'Ipv6Addresses');
    for (const entry of ipv6) {
      const address = text(entry, 'Ipv6Address');
      const isOnlyOne = ipv6.length === 1 && address === text(instance, 'Ipv6Address');
      if (field(entry, 'IsPrimaryIpv6') === true || isOnlyOne) addresses.push(address);
    }
  }

  const privateDnsName = canonicalDnsName(text(instance, 'PrivateDnsName') ?? '');
  const nodes = new Set([id]);
  if (privateDnsName !== '') nodes.add(privateDnsName);
  const domain = privateDomain(instance, privateDnsName);
  if (domain !== undefined) nodes.add(`${id}.${domain}`);
  const object = `EC2 instance ${id}`;
  const owned = ownedNames([...present(dnsNames), ...nodes], present(addresses));
  const weakAddresses = [
    ...weak(
      atLaunch,
      owned.addresses,
      `is a secondary address of ${object}, which its node can assign to itself: set --node-ip to the primary one`,
    ),
    ...weak(
      others,
      owned.addresses,
      `belongs to a network interface that is not shown as attached at the launch of ${object}, and its node can attach one to itself: set --node-ip to the primary address, or attach it in the launch template`,
    ),
  ];
  return {
    source: 'ec2',
    object,
    nodes: [...nodes],
    ...owned,
    ...(weakAddresses.length === 0 ? {} : { weakAddresses }),
    controlPlane: isControlPlane(instance) ? true : undefined,
    notLive: whyNotLive(state, clusters, clusterName),
  };
}

/** The interfaces attached at launch, as far as EC2 shows it; empty without device index 0. */
function networkInterfaces(instance: Raw<Instance>): {
  readonly atLaunch: readonly Raw<InstanceNetworkInterface>[];
  readonly others: readonly Raw<InstanceNetworkInterface>[];
} {
  const all = list(instance, 'NetworkInterfaces');
  const first = all.find(isFirst);
  const launch = attachedAt(first);
  const isAtLaunch = (candidate: Raw<InstanceNetworkInterface>) =>
    text(candidate, 'Attachment', 'Status') === 'attached' && Math.abs(attachedAt(candidate) - launch) <= LAUNCH_MS;
  const atLaunch = all.filter((candidate) => candidate === first || isAtLaunch(candidate));
  return { atLaunch, others: all.filter((candidate) => !atLaunch.includes(candidate)) };
}

/** Large instances have several network cards, each with its own device indexes. */
function isFirst(networkInterface: Raw<InstanceNetworkInterface>): boolean {
  const card = field(networkInterface, 'Attachment', 'NetworkCardIndex') ?? 0;
  return card === 0 && field(networkInterface, 'Attachment', 'DeviceIndex') === 0;
}

/** Milliseconds since the epoch; NaN if missing or invalid. */
function attachedAt(networkInterface: Raw<InstanceNetworkInterface> | undefined): number {
  const time = field(networkInterface, 'Attachment', 'AttachTime');
  return time instanceof Date ? time.getTime() : Number(instant(text(networkInterface, 'Attachment', 'AttachTime')));
}

/** Addresses of these interfaces that are not owned. */
function weak(
  interfaces: readonly Raw<InstanceNetworkInterface>[],
  owned: readonly string[],
  why: string,
): readonly WeakAddress[] {
  const addresses = interfaces.flatMap((networkInterface) => [
    ...list(networkInterface, 'PrivateIpAddresses').flatMap((entry) => [
      text(entry, 'PrivateIpAddress'),
      text(entry, 'Association', 'PublicIp'),
    ]),
    ...list(networkInterface, 'Ipv6Addresses').map((entry) => text(entry, 'Ipv6Address')),
  ]);
  return ownedNames([], present(addresses))
    .addresses.filter((address) => !owned.includes(address))
    .map((address) => ({ address, why }));
}

/** Source: Cluster API Provider AWS, `NameAWSClusterAPIRole` and `MachineScope.Role`. */
const ROLE_TAG = 'sigs.k8s.io/cluster-api-provider-aws/role';

function isControlPlane(instance: Raw<Instance>): boolean {
  const roles = list(instance, 'Tags').filter((tag) => text(tag, 'Key') === ROLE_TAG);
  return roles.length === 1 && text(roles[0], 'Value') === 'control-plane';
}

/** Of several clusters in its tags, the right one is unknown. */
function whyNotLive(state: string, clusters: readonly string[], clusterName: string): string | undefined {
  const other = clusters.find((cluster) => cluster !== clusterName);
  if (other !== undefined) return `has tags of cluster ${other} too`;
  return state === 'running' ? undefined : `is ${state}`;
}

/**
 * `ec2.internal` in us-east-1, `<region>.compute.internal` elsewhere; undefined if neither DNS name nor zone shows it.
 */
function privateDomain(instance: Raw<Instance>, privateDnsName: string): string | undefined {
  const domain = privateDnsName.slice(privateDnsName.indexOf('.') + 1);
  if (/^(?:ec2|[a-z0-9-]+\.compute)\.internal$/.test(domain)) return domain;
  const region = text(instance, 'Placement', 'AvailabilityZone')?.match(/^([a-z]{2}(?:-[a-z]+)+-\d+)[a-z]$/)?.[1];
  if (region === undefined) return undefined;
  return region === 'us-east-1' ? 'ec2.internal' : `${region}.compute.internal`;
}

function present(values: readonly (string | undefined)[]): string[] {
  return values.filter((value): value is string => value !== undefined && value !== '');
}
