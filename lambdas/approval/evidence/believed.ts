import { isIP } from 'node:net';
import type { AwsError } from '../../aws/errors.ts';
import type { KubernetesError, SkippedItems } from '../../kubernetes/errors.ts';
import { canonicalAddress, canonicalDnsName, isDnsName } from '../../names.ts';
import type { Cluster } from '../../resources/cluster.ts';
import { needsNodes } from '../../tables/evidence-sources.ts';
import type { ApprovalPolicy } from '../policy.ts';
import type { ClusterContext } from '../request.ts';
import { isLive, type SourceReading } from './evidence.ts';
import { isToldByGuest } from './machine.ts';

/** The lists that the policies of a cluster need. */
export interface WantedSources {
  readonly machines: boolean;
  readonly nodes: boolean;
}

/** The lists of a cluster. One that no policy needs, or that the cluster does not have, is absent. */
export interface Listed {
  readonly machines?: SourceReading | undefined;
  readonly nodes?: SourceReading | undefined;
  /** Its Cluster in Cluster API, or the read error. */
  readonly object?: Cluster | ReadProblem | undefined;
  /** CIDRs of its ServiceCIDRs, or the read error. */
  readonly services?: readonly string[] | ReadProblem;
  /** What the name of its API endpoint resolves to now. */
  readonly resolved?: readonly string[];
}

export type ReadProblem = Pick<KubernetesError | AwsError, 'object' | 'problem' | 'remedy'> & {
  readonly kind: string;
  /** All other objects were read. */
  readonly skipped?: SkippedItems;
};

export interface Believed {
  /** With the endpoints and service CIDRs that were learned. */
  readonly cluster: ClusterContext;
  readonly readings: readonly SourceReading[];
  /** What the names of the API endpoint resolve to, without addresses of workers. */
  readonly endpointAddresses?: readonly string[] | undefined;
}

export interface KnownTarget {
  readonly cluster: ClusterContext;
  /** What the names of the API endpoint resolved to in the last 30 days. */
  readonly endpointAddresses?: readonly string[] | undefined;
  readonly workload: { readonly endpoints?: readonly string[] };
}

/** Pure. */
export function wantedSources(policies: readonly Pick<ApprovalPolicy, 'evidence'>[]): WantedSources {
  const wanted = policies.flatMap(({ evidence }) => evidence);
  return { machines: wanted.includes('machine'), nodes: wanted.some(needsNodes) };
}

/**
 * Adds the endpoints, service CIDRs and service domain of the Cluster, of its ServiceCIDRs and of the connections to
 * those of fleet.yaml. Reserving too much is safe. Pure.
 */
export function withLearned(
  { cluster, workload }: KnownTarget,
  object?: Cluster,
  services: Listed['services'] = [],
): ClusterContext & { readonly endpoints: readonly string[] } {
  const { endpoints = [], serviceCidrs = [] } = cluster;
  const told = object?.serviceCidrs ?? [];
  const cidrs = new Set([
    ...serviceCidrs,
    ...(told === 'unusable' ? [] : told),
    ...(isProblem(services) ? [] : services),
  ]);
  const hosts = [...endpoints, ...(workload.endpoints ?? []), object?.endpoint ?? ''];
  const domain = canonicalDnsName(object?.serviceDomain ?? '');
  return {
    ...cluster,
    ...(isDnsName(domain) ? { serviceDomain: domain } : {}),
    endpoints: [...new Set(hosts.filter((host) => host !== ''))],
    serviceCidrs: [...cidrs],
  };
}

/** Whether service CIDRs are known: without them, a node can claim the address of a Service. Pure. */
export function knowsServices({ serviceCidrs = [] }: ClusterContext): boolean {
  return serviceCidrs.length > 0;
}

/**
 * The lists that may prove names: one that may have the address of a Service as that of a node counts as unread. Pure.
 */
export function believe(
  target: KnownTarget,
  wanted: WantedSources,
  { machines, nodes, object, services = [], resolved = [] }: Listed,
): Believed {
  const read = isProblem(object) ? undefined : object;
  const learned = withLearned(target, read, services);
  const { endpointAddresses: remembered = [] } = target;
  const { reserved, kept } = endpointAddresses(resolved, remembered, machines);
  const cluster = { ...learned, endpoints: [...new Set([...learned.endpoints, ...reserved])] };
  const isKnown = knowsServices(cluster);
  const isNamed = read?.endpoint !== undefined && isIP(read.endpoint) === 0;
  const isResolved = !isNamed || resolved.length + remembered.length > 0;
  const unread = isProblem(services) ? services : isResolved ? undefined : ENDPOINT_UNKNOWN;
  // A read error of the Machines says more than a doubt about them.
  const ofMachines = machines?.ok ? (doubtOf(object, isKnown, unread) ?? machines) : machines;
  const ofNodes = unread === undefined ? (isKnown ? nodes : SERVICES_NOT_KNOWN) : notRead('node', unread);
  return {
    cluster,
    readings: [
      ...(wanted.machines && ofMachines !== undefined ? [ofMachines] : []),
      ...(wanted.nodes && ofNodes !== undefined ? [ofNodes] : []),
    ],
    endpointAddresses: kept,
  };
}

/**
 * Reserved are all but those of a live Machine of the control plane, which contests them. An address that a live worker
 * has may be a mistake of the name, or a claim of its guest: if it is new, it is reserved only while the name resolves
 * to it.
 */
function endpointAddresses(
  resolved: readonly string[],
  remembered: readonly string[],
  machines: SourceReading | undefined,
): { readonly reserved: readonly string[]; readonly kept: readonly string[] } {
  const live = machines?.ok ? machines.owners.filter(isLive) : [];
  const [ofWorkers, ofControlPlane] = [false, true].map(
    (wanted) => new Set(live.filter((one) => (one.controlPlane ?? false) === wanted).flatMap((one) => one.addresses)),
  );
  return {
    reserved: canonical([...resolved, ...remembered]).filter((address) => !ofControlPlane?.has(address)),
    kept: machines?.ok
      ? canonical(resolved).filter((address) => remembered.includes(address) || !ofWorkers?.has(address))
      : [],
  };
}

function canonical(addresses: readonly string[]): readonly string[] {
  return addresses.map((address) => canonicalAddress(address) ?? address);
}

/** Without the addresses of the endpoint, a guest could claim one, and answer as the API server. */
const ENDPOINT_UNKNOWN: ReadProblem = {
  kind: 'unresolved',
  object: 'controlPlaneEndpoint of the Cluster',
  problem: 'its name resolves to no address here, and a Machine whose guest tells its addresses may list one of them',
  remedy: 'Let the network of certmarshal resolve the name, or write the address into spec.controlPlaneEndpoint.host.',
};

/** Why Machines that were read prove nothing. */
function doubtOf(
  object: Listed['object'],
  knowsItsServices: boolean,
  unread: ReadProblem | undefined,
): SourceReading | undefined {
  if (isProblem(object)) return notRead('machine', object);
  if (!isToldByGuest(object?.infrastructure)) return undefined;
  if (unread !== undefined) return notRead('machine', unread);
  return knowsItsServices ? undefined : MACHINES_MAY_LIE;
}

function isProblem(object: object = {}): object is ReadProblem {
  return 'remedy' in object;
}

/** The reading of a source whose list failed. */
export function notRead(
  source: SourceReading['source'],
  { kind, object, problem, remedy }: ReadProblem,
): SourceReading {
  return { source, ok: false, kind, problem: `${object}: ${problem}`, remedy };
}

const SERVICES_NOT_KNOWN: SourceReading = {
  source: 'node',
  ok: false,
  problem:
    'Nodes are not trusted while the service CIDRs of the cluster are unknown: a node may report the address of a Service as its own',
  remedy:
    'Write its serviceCidrs in fleet.yaml, or for a workload cluster spec.clusterNetwork.services.cidrBlocks of its Cluster; or remove node, hybrid and patterns from evidence in its policy.',
};

const MACHINES_MAY_LIE: SourceReading = {
  source: 'machine',
  ok: false,
  problem:
    'Machines are not trusted while the service CIDRs of the cluster are unknown: their addresses may come from the guest, and so may be those of a Service',
  remedy:
    'Write serviceCidrs of the cluster in fleet.yaml (on the command line --service-cidr), or spec.clusterNetwork.services.cidrBlocks of its Cluster.',
};
