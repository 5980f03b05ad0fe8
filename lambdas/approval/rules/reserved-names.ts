import { onceForEach } from '../../lazy.ts';
import { type AddressRanges, addressRanges, canonicalAddress, canonicalDnsName } from '../../names.ts';
import type { ClusterContext } from '../request.ts';

/** Why no node may have a name, whatever the evidence says. */
export interface Reserved {
  readonly why: string;
  /** With a certificate for it a node answers as the API server or a Service. */
  readonly isOfCluster: boolean;
  /** No honest kubelet asks for it. */
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

const API_SERVER = /^kubernetes(?:\.default(?:\.svc)?)?$/;
const SERVICE = /^[^.]+\.[^.]+\.svc$/;
/** A Service, or the Pod of one, if the rest is the domain of the cluster. */
const LIKE_SERVICE = /^(?:[^.]+\.){2,}svc\./;
/** In /etc/hosts of Debian, Fedora and their like. */
const LOOPBACK = /^(?:localhost[46]?(?:\.localdomain[46]?)?|ip6-loopback|ip6-localhost|.*\.localhost)$/;

/**
 * Checks a canonical DNS name. Source: the names of the API server certificate, and of Services (DNS-Based Service
 * Discovery).
 *
 * @param mayBeControlPlane whether the requester may be a control plane node, which can have the name of the endpoint
 */
export function reservedDnsName(
  name: string,
  cluster: ClusterContext,
  mayBeControlPlane?: boolean,
): Reserved | undefined {
  const { serviceDomain } = cluster;
  const domain = [serviceDomain, 'cluster.local'].find(
    (own) => own !== undefined && (name === own || name.endsWith(`.${own}`)),
  );
  const host = domain === undefined ? name : name.slice(0, -domain.length - 1);
  const isWhole = domain === undefined || host.endsWith('.svc');
  if (isWhole && API_SERVER.test(host)) return { why: 'the API server', isOfCluster: true, hostile: true };
  if (SERVICE.test(host)) return { why: 'a Service', isOfCluster: true, hostile: true };
  if (domain !== undefined) return { why: 'in the domain of the cluster', isOfCluster: true, hostile: false };
  // Until its own domain is known, any could be.
  if (/(?:^|\.)svc$/.test(name) || (serviceDomain === undefined && LIKE_SERVICE.test(name)))
    return { why: 'like the name of a Service', isOfCluster: true, hostile: false };
  if (LOOPBACK.test(name)) return { why: 'loopback', isOfCluster: false, hostile: false };
  return isEndpoint(name, cluster)
    ? { why: 'the API endpoint of the cluster', isOfCluster: !mayBeControlPlane, hostile: !mayBeControlPlane }
    : undefined;
}

/**
 * Checks a canonical address. None is hostile: configuration and kube-proxy (IPVS) give nodes loopback, link-local and
 * Service addresses, and the endpoint's moves between control plane machines.
 */
export function reservedAddress(address: string, cluster: ClusterContext): Reserved | undefined {
  for (const [why, ranges] of RESERVED_ADDRESSES)
    if (ranges.has(address)) return { why, isOfCluster: false, hostile: false };
  if (isEndpoint(address, cluster))
    return { why: 'the API endpoint of the cluster', isOfCluster: false, hostile: false };
  return serviceRanges(cluster).has(address)
    ? { why: 'in the service CIDR', isOfCluster: true, hostile: false }
    : undefined;
}

const endpointsOf = onceForEach(
  ({ endpoints = [] }: Pick<ClusterContext, 'endpoints'>) =>
    new Set(endpoints.map((host) => canonicalAddress(host) ?? canonicalDnsName(host))),
);

/** Whether a canonical name or address is one of the API endpoint. */
export function isEndpoint(canonical: string, cluster: Pick<ClusterContext, 'endpoints'>): boolean {
  return endpointsOf(cluster).has(canonical);
}

const serviceRanges = onceForEach(({ serviceCidrs = [] }: ClusterContext) => addressRanges(serviceCidrs));
