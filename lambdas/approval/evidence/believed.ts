import type { AwsError } from '../../aws/errors.ts';
import type { KubernetesError } from '../../kubernetes/errors.ts';
import type { Cluster } from '../../resources/cluster.ts';
import { needsNodes } from '../../tables/evidence-sources.ts';
import type { ApprovalPolicy } from '../policy.ts';
import type { ClusterContext } from '../request.ts';
import type { SourceReading } from './evidence.ts';

/** Which lists the policies of a cluster need. */
export interface WantedSources {
  readonly machines: boolean;
  readonly nodes: boolean;
}

/** What was listed for a cluster. What no policy needs, or the cluster does not have, is absent. */
export interface Listed {
  readonly machines?: SourceReading | undefined;
  readonly nodes?: SourceReading | undefined;
  /** Its Cluster in Cluster API, or why that cannot be read. */
  readonly object?: Cluster | ReadProblem | undefined;
}

/** What a list that threw says. */
export type ReadProblem = Pick<KubernetesError | AwsError, 'object' | 'problem' | 'remedy'> & { readonly kind: string };

export interface Believed {
  /** With what was learned of its endpoints and its service CIDRs. */
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

/** What is reserved is never too much: what fleet.yaml says, what the Cluster says, and where connections led. Pure. */
export function withLearned({ cluster, workload }: KnownTarget, object?: Cluster): ClusterContext {
  const { endpoints = [], serviceCidrs = [] } = cluster;
  const told = object?.serviceCidrs ?? [];
  const cidrs = new Set([...serviceCidrs, ...(told === 'unusable' ? [] : told)]);
  const hosts = [...endpoints, ...(workload.endpoints ?? []), object?.endpoint ?? ''];
  return {
    ...cluster,
    endpoints: [...new Set(hosts.filter((host) => host !== ''))],
    ...(cidrs.size === 0 ? {} : { serviceCidrs: [...cidrs] }),
  };
}

/** A node may say that the address of a Service is its own; only service CIDRs tell. Pure. */
export function knowsServices({ serviceCidrs = [] }: ClusterContext): boolean {
  return serviceCidrs.length > 0;
}

/** What the lists may prove: one that may hold the address of a Service as that of a node counts as unread. Pure. */
export function believe(target: KnownTarget, wanted: WantedSources, { machines, nodes, object }: Listed): Believed {
  const cluster = withLearned(target, object !== undefined && isProblem(object) ? undefined : object);
  const isKnown = knowsServices(cluster);
  // What is wrong with the Machines themselves says more than a doubt.
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

/** Why Machines prove nothing although they could be read. */
function doubtOf(object: Listed['object'], knowsItsServices: boolean): SourceReading | undefined {
  if (object === undefined) return undefined;
  if (isProblem(object)) return notRead('machine', object);
  return knowsItsServices || TOLD_BY_NO_GUEST.has(object.infrastructure ?? '') ? undefined : MACHINES_MAY_LIE;
}

function isProblem(object: Cluster | ReadProblem): object is ReadProblem {
  return 'remedy' in object;
}

/** A source whose list threw. */
export function notRead(
  source: SourceReading['source'],
  { kind, object, problem, remedy }: ReadProblem,
): SourceReading {
  return { source, ok: false, kind, problem: `${object}: ${problem}`, remedy };
}

/**
 * Where the addresses of a Machine do not come from its guest: from the Hardware of Tinkerbell, from the NICs of CloudStack. That of vSphere reports
 * what VMware Tools say, which anyone with root there chooses; of others this is not known.
 *
 * Source: cluster-api-provider-tinkerbell `machine/scope.go`, cluster-api-provider-cloudstack `pkg/cloud/instance.go`, cluster-api-provider-vsphere
 * `sanitizeIPAddrs`.
 */
const TOLD_BY_NO_GUEST: ReadonlySet<string> = new Set(['TinkerbellCluster', 'CloudStackCluster']);

const SERVICES_NOT_KNOWN: SourceReading = {
  source: 'node',
  ok: false,
  problem:
    'Nodes are not trusted while the service CIDRs of the cluster are unknown: a node may report the address of a Service as its own, or have a certificate for it',
  remedy:
    'Write its serviceCidrs in fleet.yaml, or for a workload cluster spec.clusterNetwork.services.cidrBlocks of its Cluster; or take node, hybrid, renewal and patterns out of the evidence of its policy.',
};

const MACHINES_MAY_LIE: SourceReading = {
  source: 'machine',
  ok: false,
  problem:
    'Machines are not trusted while the service CIDRs of the cluster are unknown: their addresses may come from the guest, and so may be the address of a Service',
  remedy:
    'Write serviceCidrs of the cluster in fleet.yaml (on the command line --service-cidr), or spec.clusterNetwork.services.cidrBlocks of its Cluster.',
};
