import type { AwsError } from '../../aws/errors.ts';
import type { KubernetesError } from '../../kubernetes/errors.ts';
import { canonicalDnsName, isDnsName } from '../../names.ts';
import type { Cluster } from '../../resources/cluster.ts';
import { needsNodes } from '../../tables/evidence-sources.ts';
import type { ApprovalPolicy } from '../policy.ts';
import type { ClusterContext } from '../request.ts';
import type { SourceReading } from './evidence.ts';

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
}

/** The error of a failed read. */
export type ReadProblem = Pick<KubernetesError | AwsError, 'object' | 'problem' | 'remedy'> & { readonly kind: string };

export interface Believed {
  /** With the endpoints and service CIDRs that were learned. */
  readonly cluster: ClusterContext;
  readonly readings: readonly SourceReading[];
}

export interface KnownTarget {
  readonly cluster: ClusterContext;
  readonly workload: { readonly endpoints?: readonly string[] };
}

/** Pure. */
export function wantedSources(policies: readonly Pick<ApprovalPolicy, 'evidence'>[]): WantedSources {
  const wanted = policies.flatMap(({ evidence }) => evidence);
  return { machines: wanted.includes('machine'), nodes: wanted.some(needsNodes) };
}

/**
 * Adds the endpoints, service CIDRs and service domain of the Cluster and of the connections to those of fleet.yaml.
 * Reserving too much is safe. Pure.
 */
export function withLearned({ cluster, workload }: KnownTarget, object?: Cluster): ClusterContext {
  const { endpoints = [], serviceCidrs = [] } = cluster;
  const told = object?.serviceCidrs ?? [];
  const cidrs = new Set([...serviceCidrs, ...(told === 'unusable' ? [] : told)]);
  const hosts = [...endpoints, ...(workload.endpoints ?? []), object?.endpoint ?? ''];
  const domain = canonicalDnsName(object?.serviceDomain ?? '');
  return {
    ...cluster,
    ...(isDnsName(domain) ? { serviceDomain: domain } : {}),
    endpoints: [...new Set(hosts.filter((host) => host !== ''))],
    ...(cidrs.size === 0 ? {} : { serviceCidrs: [...cidrs] }),
  };
}

/** Whether service CIDRs are known: without them, a node can claim the address of a Service. Pure. */
export function knowsServices({ serviceCidrs = [] }: ClusterContext): boolean {
  return serviceCidrs.length > 0;
}

/**
 * The lists that may prove names: one that may have the address of a Service as that of a node counts as unread. Pure.
 */
export function believe(target: KnownTarget, wanted: WantedSources, { machines, nodes, object }: Listed): Believed {
  const cluster = withLearned(target, object !== undefined && isProblem(object) ? undefined : object);
  const isKnown = knowsServices(cluster);
  // A read error of the Machines says more than a doubt about them.
  const ofMachines = machines?.ok ? (doubtOf(object, isKnown) ?? machines) : machines;
  const ofNodes = isKnown ? nodes : SERVICES_NOT_KNOWN;
  return {
    cluster,
    readings: [
      ...(wanted.machines && ofMachines !== undefined ? [ofMachines] : []),
      ...(wanted.nodes && ofNodes !== undefined ? [ofNodes] : []),
    ],
  };
}

/** Why Machines that were read prove nothing. */
function doubtOf(object: Listed['object'], knowsItsServices: boolean): SourceReading | undefined {
  if (object === undefined) return undefined;
  if (isProblem(object)) return notRead('machine', object);
  return knowsItsServices || TOLD_BY_NO_GUEST.has(object.infrastructure ?? '') ? undefined : MACHINES_MAY_LIE;
}

function isProblem(object: Cluster | ReadProblem): object is ReadProblem {
  return 'remedy' in object;
}

/** The reading of a source whose list failed. */
export function notRead(
  source: SourceReading['source'],
  { kind, object, problem, remedy }: ReadProblem,
): SourceReading {
  return { source, ok: false, kind, problem: `${object}: ${problem}`, remedy };
}

/**
 * Providers whose Machine addresses do not come from the guest: Tinkerbell takes them from its Hardware, CloudStack
 * from its NICs. vSphere reports what VMware Tools say, which root in the guest controls; others are unknown.
 *
 * Source: cluster-api-provider-tinkerbell `machine/scope.go`, cluster-api-provider-cloudstack `pkg/cloud/instance.go`,
 * cluster-api-provider-vsphere `sanitizeIPAddrs`.
 */
const TOLD_BY_NO_GUEST: ReadonlySet<string> = new Set(['TinkerbellCluster', 'CloudStackCluster']);

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
