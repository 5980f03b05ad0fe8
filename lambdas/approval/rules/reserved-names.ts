import { type AddressRanges, addressRanges, canonicalAddress, canonicalDnsName } from '../../names.ts';
import type { ClusterContext } from '../request.ts';

/** Why no node may have a name, whatever the evidence says. */
export interface Reserved {
  readonly why: string;
  /** True if no misconfigured kubelet asks for it. */
  readonly hostile: boolean;
}

// The kubelet serving signer uses the cluster CA that every pod trusts for kubernetes.default.svc: a serving certificate for
// any of these names would let a node answer in place of the API server or of a Service.
const RESERVED_ADDRESSES: readonly (readonly [why: string, ranges: AddressRanges])[] = [
  ['unspecified', addressRanges(['0.0.0.0/8', '::/128'])],
  ['loopback', addressRanges(['127.0.0.0/8', '::1/128'])],
  ['link-local', addressRanges(['169.254.0.0/16', 'fe80::/10'])],
  ['EC2 instance metadata', addressRanges(['fd00:ec2::/32'])],
  ['multicast or broadcast', addressRanges(['224.0.0.0/4', '240.0.0.0/4', 'ff00::/8'])],
  ['IPv4-mapped', addressRanges(['::ffff:0:0/96'])],
];

/**
 * Checks a canonical DNS name. Source: the names of the API server certificate, and of Services (DNS-Based Service
 * Discovery).
 *
 * @param mayBeControlPlane whether the requester may be a control plane node, which can have the name of the endpoint
 */
export function reservedDnsName(
  name: string,
  cluster: ClusterContext,
  mayBeControlPlane: boolean,
): Reserved | undefined {
  if (name === 'kubernetes' || name.startsWith('kubernetes.')) return { why: 'the API server', hostile: true };
  if (name === 'svc' || name.endsWith('.svc') || name.includes('.svc.')) return { why: 'a Service', hostile: true };
  if (name === 'cluster.local' || name.endsWith('.cluster.local')) return { why: 'a Service', hostile: true };
  if (name === 'localhost' || name.endsWith('.localhost')) return { why: 'loopback', hostile: false };
  if (isEndpoint(name, cluster)) return { why: 'the API endpoint of the cluster', hostile: !mayBeControlPlane };
  return undefined;
}

/** Checks a canonical address. */
export function reservedAddress(address: string, cluster: ClusterContext): Reserved | undefined {
  for (const [why, ranges] of RESERVED_ADDRESSES) if (ranges.has(address)) return { why, hostile: false };
  if (isEndpoint(address, cluster)) return { why: 'the API endpoint of the cluster', hostile: false };
  if (serviceRanges(cluster).has(address)) return { why: 'in the service CIDR', hostile: true };
  return undefined;
}

const endpointsByCluster = new WeakMap<object, ReadonlySet<string>>();

/** Whether a canonical name or address is one of the API endpoint. */
export function isEndpoint(canonical: string, cluster: Pick<ClusterContext, 'endpoints'>): boolean {
  let endpoints = endpointsByCluster.get(cluster);
  if (endpoints === undefined) {
    endpoints = new Set((cluster.endpoints ?? []).map((host) => canonicalAddress(host) ?? canonicalDnsName(host)));
    endpointsByCluster.set(cluster, endpoints);
  }
  return endpoints.has(canonical);
}

const rangesByCluster = new WeakMap<ClusterContext, AddressRanges>();

function serviceRanges(cluster: ClusterContext): AddressRanges {
  let ranges = rangesByCluster.get(cluster);
  if (ranges === undefined) {
    ranges = addressRanges(cluster.serviceCidrs ?? []);
    rangesByCluster.set(cluster, ranges);
  }
  return ranges;
}
