import { isIP } from 'node:net';
import type { InstanceQuery } from '../aws/ec2-instances.ts';
import { AwsError } from '../aws/errors.ts';
import { MAX_ADDRESSES } from '../identifiers.ts';
import { listSigningRequests } from '../kubernetes/certificate-signing-requests.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { readClusterObject } from '../kubernetes/cluster-object.ts';
import { KubernetesError, type SkippedItem } from '../kubernetes/errors.ts';
import { listKind } from '../kubernetes/list.ts';
import { listMachines, type MachineSelection } from '../kubernetes/machines.ts';
import { readServiceCidrs } from '../kubernetes/service-cidrs.ts';
import { printable } from '../printable.ts';
import { eachInTurns, inTurns, stepsInTurns } from '../processor-time.ts';
import { approvalSubjectOf } from '../resources/approval-subject.ts';
import type { Cluster } from '../resources/cluster.ts';
import { readSigningRequest, type SigningRequest, type UnreadableRequest } from '../resources/signing-request.ts';
import { needsNodes } from '../tables/evidence-sources.ts';
import type { Reason } from '../tables/reasons.ts';
import { verdictSentence } from '../words/verdict-words.ts';
import { collectClaims } from './claims.ts';
import { decodeRequest, gateReason } from './decide-approval.ts';
import {
  type Believed,
  believe,
  type KnownTarget,
  knowsServices,
  wantedSources,
  withLearned,
} from './evidence/believed.ts';
import { collectOwners, type ListedSource } from './evidence/collect-owners.ts';
import { ownerFromInstance } from './evidence/ec2.ts';
import { type Evidence, indexInSteps, type Owner, type SourceReading } from './evidence/evidence.ts';
import { readHybridNodes } from './evidence/hybrid.ts';
import { ownerFromMachine } from './evidence/machine.ts';
import { ownerFromNode } from './evidence/node.ts';
import { collectOpenRequests, type OpenRequest, type OpenRequests } from './open-requests.ts';
import { type ApprovalPolicy, KUBELET_SERVING_SIGNER } from './policy.ts';
import { type ClusterContext, canonicalNames } from './request.ts';
import { NODE_PREFIX } from './rules/rules.ts';
import { policiesFor } from './selection.ts';
import { collectApprovals, type OwnApproval } from './unissued.ts';

const SHOWN_UNREADABLE = 100;
const SHOWN_MISNAMED = 20;
/** The most that one call of `listInstances` accepts. */
const NODES_AT_ONCE = 2_000;

/** One cluster and open connections to it. */
export interface SweepTarget {
  readonly cluster: ClusterContext;
  readonly workload: KubernetesClient;
  /** The cluster that has its Machines; absent without Cluster API. */
  readonly management?: KubernetesClient;
  /** Namespace of its Cluster object: Machines of other namespaces prove nothing. */
  readonly machinesNamespace: string;
  /** VPC of the cluster, if known: EC2 instances of another VPC prove nothing. */
  readonly vpcId?: string | undefined;
  /** What the names of its API endpoint resolved to in the last 30 days. */
  readonly endpointAddresses?: readonly string[] | undefined;
  /** The addresses of a name. @default none */
  readonly resolve?: ((name: string) => Promise<readonly string[]>) | undefined;
  /** DescribeInstances, page by page; absent if the cluster's account is not read. */
  readonly listInstances?: (query: InstanceQuery, signal: AbortSignal) => AsyncIterable<readonly unknown[]>;
}

/** Requests for one signer. Those that are not open are only counted, so that memory grows only with open ones. */
export interface ListedRequests {
  readonly open: readonly OpenRequest[];
  readonly ignored: ReadonlyMap<Reason, number>;
  /** The first ones of {@link unreadableCount}. */
  readonly unreadable: readonly UnreadableRequest[];
  readonly unreadableCount: number;
  /** The first ones of kubelets that the API server takes for another user. */
  readonly misnamed?: readonly { readonly csr: string; readonly message: string }[];
}

/** Everything that one sweep read. */
export interface Observed extends ListedRequests {
  /** The target's cluster, with the endpoints and service CIDRs that were learned. */
  readonly cluster: ClusterContext;
  readonly evidence: Evidence;
  readonly endpointAddresses?: Believed['endpointAddresses'];
  readonly approvals: readonly OwnApproval[];
}

export interface ObserveOptions {
  /** An open request whose evidence is read although the list may have no room for it. */
  readonly wanted?: OpenRequest;
  /** Called for every readable request, open or not. */
  readonly listed?: ((csr: SigningRequest) => void) | undefined;
}

/**
 * Reads what one sweep needs: one paged LIST of the requests and, only if some are open, one paged LIST for each source
 * of evidence that a policy for this cluster names, and with Machines also their Cluster. A source that cannot be read
 * is part of the result.
 *
 * @param now milliseconds since the epoch
 * @throws KubernetesError when the requests cannot be listed
 */
export async function observe(
  target: SweepTarget,
  policies: readonly ApprovalPolicy[],
  signal: AbortSignal,
  now: () => number = Date.now,
  { wanted, listed: onListed }: ObserveOptions = {},
): Promise<Observed> {
  const selecting = policiesFor(policies, target.cluster);
  const claims = collectClaims(now());
  const approvals = collectApprovals();
  // Concurrent with the list, which may have no room for the wanted request.
  let reading = wanted && readEvidence(target, selecting, signal);
  // If the list fails first, this rejection would be unhandled.
  reading?.catch(() => undefined);
  const listed = await listRequests(target.workload, {
    signerName: KUBELET_SERVING_SIGNER,
    signal,
    seen: (csr) => {
      onListed?.(csr);
      approvals.add(csr);
      if (csr.username.startsWith(NODE_PREFIX)) claims.add(csr);
    },
    // The first open request starts it, concurrent with further pages; an idle cluster costs one LIST.
    opened: () => {
      reading ??= readEvidence(target, selecting, signal);
    },
  });
  const requests = wanted === undefined ? listed.open : [...listed.open, wanted];
  const believed: Believed = (await reading) ?? { cluster: withLearned(target), readings: [] };
  const { cluster, readings } = await withInstances(target, believed, nodesOf(requests), selecting, signal, requests);
  return {
    cluster,
    ...listed,
    open: listed.open.map((request) => ({ ...request, claims: claims.of(request.csr.username) })),
    // Indexing many Machines takes a while.
    evidence: await stepsInTurns(indexInSteps(readings)),
    endpointAddresses: believed.endpointAddresses,
    approvals: approvals.all(),
  };
}

/**
 * Reads the evidence about some nodes that the policies of a cluster trust, as a sweep does for nodes with an open
 * request. A source that cannot be read is part of the evidence.
 */
export async function observeNodes(
  target: SweepTarget,
  nodes: ReadonlySet<string>,
  policies: readonly ApprovalPolicy[],
  signal: AbortSignal,
  listed?: readonly SourceReading[],
): Promise<Pick<Observed, 'cluster' | 'evidence'>> {
  const selecting = policiesFor(policies, target.cluster);
  const believed = readEvidence(target, selecting, signal, listed);
  const { cluster, readings } = await withInstances(target, believed, nodes, selecting, signal);
  return { cluster, evidence: await stepsInTurns(indexInSteps(readings)) };
}

/**
 * Adds the EC2 evidence of some nodes, and the evidence of hybrid ones that follows from all readings.
 *
 * @param requests if one asks for a name that these instances lack, all of the cluster are read, to see whose it is
 */
async function withInstances(
  target: Parameters<typeof readInstances>[0],
  believed: Believed | Promise<Believed>,
  nodes: ReadonlySet<string>,
  selecting: readonly ApprovalPolicy[],
  signal: AbortSignal,
  requests?: readonly OpenRequest[],
): Promise<Believed> {
  const [{ cluster, readings }, instances] = await Promise.all([
    believed,
    readInstances(target, nodes, selecting, signal, requests),
  ]);
  const read = [...readings, ...instances];
  return { cluster, readings: [...read, ...hybridNodes(cluster, nodes, selecting, read)] };
}

export interface Listing {
  readonly signerName: string;
  readonly signal: AbortSignal;
  /** @default the newest of each requester, as many as a sweep has memory for */
  readonly open?: OpenRequests;
  /** Largest `spec.request` of a kubelet. Bytes. @default the limit of the decoder */
  readonly maxRequestBytes?: number;
  /** Called for every readable request, open or not. */
  readonly seen?: (csr: SigningRequest) => void;
  /** Called for every request that cannot be read. */
  readonly malformed?: () => void;
  /** Called for every open request. */
  readonly opened?: () => void;
}

/**
 * Lists all requests for one signer, in one paged LIST. Requests that cannot be read or held are part of the result.
 */
export async function listRequests(client: KubernetesClient, listing: Listing): Promise<ListedRequests> {
  const { signerName, signal, open = collectOpenRequests(), maxRequestBytes = Infinity } = listing;
  const ignored = new Map<Reason, number>();
  const ignore = (reason: Reason) => ignored.set(reason, (ignored.get(reason) ?? 0) + 1);
  const unreadable: UnreadableRequest[] = [];
  let unreadableCount = 0;
  const misnamed: { csr: string; message: string }[] = [];
  const unread = (request: UnreadableRequest) => {
    unreadableCount += 1;
    if (unreadable.length < SHOWN_UNREADABLE) unreadable.push(request);
  };
  const look = (item: unknown): void => {
    const read = readSigningRequest(item);
    if (!read.ok) {
      unread(read);
      listing.malformed?.();
      return;
    }
    const { csr } = read;
    listing.seen?.(csr);
    const gate = gateReason(csr, signerName);
    if (gate !== undefined) {
      ignore(gate.reason);
      if (gate.reason === 'RequesterMisnamed' && misnamed.length < SHOWN_MISNAMED)
        misnamed.push({ csr: printable(csr.name, 253), message: verdictSentence(gate.facts) });
      return;
    }
    if ((csr.request?.length ?? 0) > maxRequestBytes) {
      unread({ name: csr.name, problem: 'spec.request is larger than that of any kubelet' });
      return;
    }
    listing.opened?.();
    const added = open.add(csr, approvalSubjectOf(item));
    if (added === 'superseded') ignore('Superseded');
    if (added === 'refused')
      unread({ name: csr.name, problem: 'there are more open requests than one sweep can hold' });
  };
  try {
    for await (const page of listSigningRequests(client, { signerName, signal })) await eachInTurns(page, look);
  } catch (error) {
    if (!(error instanceof KubernetesError) || error.skipped === undefined) throw error;
    const { items, count } = error.skipped;
    for (const item of items) unread({ name: item.name, problem: tooLarge(item), remedy: TOO_LARGE_REMEDY });
    unreadableCount += count - items.length;
  }
  return { open: open.all(), ignored, unreadable, unreadableCount, misnamed };
}

const TOO_LARGE_REMEDY = 'Find out why this user makes such requests, and delete it: kubectl delete csr NAME.';

function tooLarge({ after, signerName = 'unknown', username = 'unknown' }: SkippedItem): string {
  const place = after === undefined ? '' : `, listed after ${printable(after, 253)}`;
  return `it has more fields than the request of any kubelet and is not judged: requested by ${printable(username)} of signer ${printable(signerName)}${place}`;
}

/** Patterns need Nodes too: a CIDR counts only for an address that this Node shows and no other. */
async function readEvidence(
  target: SweepTarget,
  policies: readonly ApprovalPolicy[],
  signal: AbortSignal,
  listed?: readonly SourceReading[],
): Promise<Believed> {
  const wanted = wantedSources(policies);
  const of = (source: SourceReading['source']) => listed?.find((reading) => reading.source === source);
  const { cluster, workload, management, machinesNamespace } = target;
  const reading = readServiceCidrs(workload, signal);
  const readNodes = async (object?: Cluster): Promise<SourceReading | undefined> => {
    if (listed !== undefined) return of('node');
    const isOfUse = wanted.nodes && knowsServices(withLearned(target, object, await reading));
    return isOfUse ? readSource('node', listKind(workload, 'nodes', { signal }), ownerFromNode) : undefined;
  };
  if (!wanted.machines || management === undefined)
    return believe(target, wanted, {
      nodes: await readNodes(),
      services: await reading,
      resolved: await resolveEndpoint(target),
    });

  const selection = { clusterName: cluster.name, namespace: machinesNamespace, signal };
  const clusterObject = readCluster(management, selection);
  const [machines, object, nodes, services, resolved] = await Promise.all([
    listed !== undefined
      ? of('machine')
      : readSource('machine', listMachines(management, selection), (item) => ownerFromMachine(item, cluster.name)),
    clusterObject,
    clusterObject.then(async (read) => readNodes(read instanceof KubernetesError ? undefined : read)),
    reading,
    clusterObject.then(async (read) => resolveEndpoint(target, read)),
  ]);
  return believe(target, wanted, { machines, object, nodes, services, resolved });
}

/** What the name of the API endpoint resolves to now; without one in the Cluster, that of the connection. */
async function resolveEndpoint(
  { resolve, ...target }: KnownTarget & Pick<SweepTarget, 'resolve'>,
  object?: Cluster | KubernetesError,
): Promise<readonly string[]> {
  if (resolve === undefined) return [];
  const own = object instanceof KubernetesError ? undefined : object?.endpoint;
  const names = own !== undefined && isIP(own) === 0 ? [own] : withLearned(target).endpoints;
  const addresses = await Promise.all(names.filter((name) => isIP(name) === 0).map(resolve));
  return [...new Set(addresses.flat())].slice(0, MAX_ADDRESSES);
}

/** Reads the Cluster object, or returns why it cannot be read. */
async function readCluster(
  management: KubernetesClient,
  selection: MachineSelection,
): Promise<Cluster | KubernetesError> {
  try {
    return await readClusterObject(management, selection);
  } catch (error) {
    if (!(error instanceof KubernetesError)) throw error;
    return error;
  }
}

function hybridNodes(
  cluster: ClusterContext,
  nodes: ReadonlySet<string>,
  policies: readonly ApprovalPolicy[],
  readings: readonly SourceReading[],
): readonly SourceReading[] {
  if (!policies.some(({ evidence }) => evidence.includes('hybrid'))) return [];
  const reading = readHybridNodes(cluster, nodes, readings);
  return reading === undefined ? [] : [reading];
}

/** Whether a request asks for a name that none of these objects has. */
async function asksForMore(requests: readonly OpenRequest[], owners: readonly Owner[]): Promise<boolean> {
  const listed = new Set(owners.flatMap(({ nodes, dnsNames, addresses }) => [...nodes, ...dnsNames, ...addresses]));
  const isMore = ({ csr }: OpenRequest): boolean => {
    const decoded = decodeRequest(csr);
    return decoded.ok && canonicalNames(decoded.request).some((name) => !listed.has(name));
  };
  for await (const more of inTurns(requests, isMore)) if (more) return true;
  return false;
}

function nodesOf(requests: readonly OpenRequest[]): ReadonlySet<string> {
  return new Set(requests.map(({ csr }) => csr.username.slice(NODE_PREFIX.length)));
}

/**
 * Reads only the instances of these nodes: in one VPC, no two instances share a name that counts. Machines and Nodes can
 * have a name of another instance, even of a stopped one. So if a policy trusts these, all instances of the cluster are
 * read.
 */
async function readInstances(
  {
    cluster,
    vpcId,
    listInstances,
    management,
  }: Pick<SweepTarget, 'cluster' | 'vpcId' | 'listInstances' | 'management'>,
  nodes: ReadonlySet<string>,
  policies: readonly ApprovalPolicy[],
  signal: AbortSignal,
  requests: readonly OpenRequest[] = [],
): Promise<readonly SourceReading[]> {
  const wanted = new Set(policies.flatMap(({ evidence }) => evidence));
  if (nodes.size === 0 || !wanted.has('ec2')) return [];
  if (listInstances !== undefined) {
    const read = async (pages: AsyncIterable<readonly unknown[]>): Promise<SourceReading> =>
      readSource('ec2', pages, (item) => instanceOwner(item, cluster.name, vpcId, nodes));
    const readAll = async () => read(listInstances({ nodes: [], vpcId, cluster: cluster.name }, signal));
    if ([...wanted].some(needsNodes) || (wanted.has('machine') && management !== undefined)) return [await readAll()];
    const own = await read(inParts([...nodes], (part) => listInstances({ nodes: part, vpcId }, signal)));
    if (!own.ok || !(await asksForMore(requests, own.owners))) return [own];
    const all = await readAll();
    return [all.ok ? { ...all, owners: [...own.owners, ...all.owners] } : own];
  }
  // Elsewhere EC2 has no instances of the cluster, and Machines represent the nodes.
  return cluster.provider === 'eks' && management === undefined ? [EC2_NOT_READ] : [];
}

/**
 * Drops the weak addresses of other nodes, hundreds on a busy instance: they only explain what a requesting node does
 * not get.
 */
function instanceOwner(
  instance: unknown,
  cluster: string,
  vpcId: string | undefined,
  asking: ReadonlySet<string>,
): Owner | undefined {
  const owner = ownerFromInstance(instance, cluster, vpcId);
  if (owner === undefined || owner.nodes.some((node) => asking.has(node))) return owner;
  const { weakAddresses: _, ...strong } = owner;
  return strong;
}

async function* inParts(
  nodes: readonly string[],
  listInstances: (nodes: readonly string[]) => AsyncIterable<readonly unknown[]>,
): AsyncGenerator<readonly unknown[]> {
  for (let start = 0; start < nodes.length; start += NODES_AT_ONCE)
    yield* listInstances(nodes.slice(start, start + NODES_AT_ONCE));
}

const EC2_NOT_READ: SourceReading = {
  source: 'ec2',
  ok: false,
  problem: 'the account and Region of the EC2 instances are not known here',
  remedy:
    'A deployed certmarshal reads them for the EKS clusters that it discovers. Here, name the management cluster if Cluster API made this one, or let the policy trust Nodes (evidence: [node]).',
};

/** Reads one source of a cluster. A source that is unreadable or too large is part of the result. */
export async function readSource(
  source: ListedSource,
  pages: AsyncIterable<readonly unknown[]>,
  ownerOf: (item: unknown) => Owner | undefined,
): Promise<SourceReading> {
  const owners = collectOwners(source);
  try {
    for await (const page of pages)
      for await (const fits of inTurns(page, (item) => owners.add(ownerOf(item)))) if (!fits) return owners.reading();
  } catch (error) {
    if (!(error instanceof KubernetesError) && !(error instanceof AwsError)) throw error;
    return owners.reading(error);
  }
  return owners.reading();
}
