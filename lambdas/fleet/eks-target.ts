import type { EksCluster } from '../aws/eks-clusters.ts';
import type { DEFAULT_LANE as DefaultLane, EksDiscovery, Lane } from '../config/fleet.ts';
import { read } from '../contracts/contract.ts';
import type { Problem } from '../contracts/problem.ts';
import { type AwsScope, type EksAccess, Target } from '../contracts/target.ts';
import { printable } from '../printable.ts';
import { isWanted } from './cluster-selection.ts';
import type { FoundCluster } from './discover.ts';
import { type EksSource, eksClusterId } from './sources.ts';
import { targetAudit } from './target-audit.ts';

const DEFAULT_LANE: typeof DefaultLane = 'default';

/** States with a working API server. Source: EKS API Reference, Cluster, status. */
const SERVING: ReadonlySet<string> = new Set(['ACTIVE', 'UPDATING']);

/** Interprets DescribeCluster for a cluster whose name may be selected. Pure. */
export function describedCluster(
  { scope, entries }: Pick<EksSource, 'scope' | 'entries'>,
  cluster: EksCluster,
  id: string,
  lanes: readonly Lane[],
): FoundCluster {
  const entry = entries.find((candidate) => isWanted(candidate, cluster.name, cluster.tags));
  if (entry === undefined) return { id, untagged: true };
  const { name, status, endpoint, certificateAuthority, serviceCidrs, remoteNodeNetworks, vpcId } = cluster;
  if (!SERVING.has(status)) return { id, problem: notServing(id, status) };
  if (endpoint === undefined || certificateAuthority === undefined) return { id, problem: withoutEndpoint(id) };
  const lane = laneOf(cluster, entry, lanes);
  if (lane === undefined) return { id, problem: withoutLane(id, cluster) };
  const said = { name, endpoint, certificateAuthority, vpcId, serviceCidrs, remoteNodeNetworks };
  const target = read(Target, eksTarget(said, { scope, entry, lane }), 'target');
  return target.ok ? { id, target: target.value } : { id, problem: unusable(id, target.problem) };
}

/** Facts that only EKS knows. */
export interface SaidByEks
  extends Pick<EksCluster, 'name' | 'serviceCidrs' | 'remoteNodeNetworks'>,
    Pick<EksAccess, 'endpoint' | 'certificateAuthority'> {
  readonly vpcId: string | undefined;
}

/** The target of an EKS cluster, from EKS and `fleet.yaml`. */
export function eksTarget(
  { name, endpoint, certificateAuthority, vpcId, serviceCidrs, remoteNodeNetworks }: SaidByEks,
  { scope, entry, lane }: { readonly scope: AwsScope; readonly entry: EksDiscovery; readonly lane: string },
): Target {
  return {
    id: eksClusterId(scope, name),
    // An empty list means unknown: every cluster has Services.
    cluster: {
      name,
      provider: 'eks',
      serviceCidrs: serviceCidrs.length === 0 ? undefined : serviceCidrs,
      remoteNodeNetworks: remoteNodeNetworks.length === 0 ? undefined : remoteNodeNetworks,
    },
    access: { kind: 'eks', endpoint, certificateAuthority, scope },
    instances: { ...scope, vpcId },
    lane,
    ...targetAudit(entry),
  };
}

/** Every lane that an EKS cluster of an entry can be in, wherever its endpoint is reachable from. */
export function lanesFor(vpcId: string | undefined, entry: EksDiscovery, lanes: readonly Lane[]): readonly string[] {
  const own = vpcId === undefined ? [] : lanes.filter((lane) => lane.vpcId === vpcId).map(({ name }) => name);
  return [entry.lane ?? DEFAULT_LANE, ...own];
}

/**
 * A restricted endpoint is swept from a lane in its VPC, or from the lane that the entry names, which may be routed
 * there or allow-listed. The default lane is on no allow list: it has no fixed address.
 */
function laneOf(
  { endpointAccess, vpcId }: EksCluster,
  entry: EksDiscovery,
  lanes: readonly Lane[],
): string | undefined {
  if (endpointAccess === 'public') return entry.lane ?? DEFAULT_LANE;
  return lanes.find((lane) => lane.vpcId === vpcId)?.name ?? entry.lane;
}

/** It is being created or deleted on purpose. */
const PASSING: ReadonlySet<string> = new Set(['CREATING', 'PENDING', 'DELETING']);

function notServing(id: string, status: string): Problem {
  return {
    kind: PASSING.has(status) ? 'passing' : 'status',
    object: `cluster ${id}`,
    message: `EKS says that it is ${printable(status, 50)}, so nothing is swept there`,
    remedy:
      status === 'FAILED'
        ? 'Check its health issues in EKS; a cluster whose creation failed can only be deleted.'
        : 'Nothing to do if it is being created or deleted: the next discovery checks again.',
  };
}

function withoutEndpoint(id: string): Problem {
  return {
    kind: 'invalid',
    object: `cluster ${id}`,
    message: 'DescribeCluster returns no endpoint or no CA bundle for it',
    remedy: 'Check the cluster in EKS; the next discovery asks again.',
  };
}

function withoutLane(id: string, { vpcId, endpointAccess }: EksCluster): Problem {
  const vpc = printable(vpcId ?? 'an unknown VPC', 50);
  const isPrivate = endpointAccess === 'private';
  const why = isPrivate
    ? 'its endpoint is private'
    : 'its public endpoint has an allow list (publicAccessCidrs), and the default lane has no fixed address to put on it';
  const other = isPrivate
    ? 'name a lane that is routed there in this entry of discovery'
    : 'put the Elastic IP of the NAT gateway of another lane on the allow list, and name that lane in this entry of discovery';
  return {
    kind: 'lane',
    object: `cluster ${id}`,
    message: `${why}, and no lane is in its VPC ${vpc}`,
    remedy: `Add a lane to fleet.yaml with vpcId: ${vpc}, its subnets and security groups, and deploy; or ${other}.`,
  };
}

function unusable(id: string, problem: string): Problem {
  return {
    kind: 'invalid',
    object: `cluster ${id}`,
    message: `the answer of DescribeCluster cannot be used: ${problem}`,
    remedy: 'Check the cluster in EKS; the next discovery asks again.',
  };
}
