import type { InstanceQuery } from '../aws/ec2-instances.ts';
import { AwsError } from '../aws/errors.ts';
import { listSigningRequests } from '../kubernetes/certificate-signing-requests.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { readClusterObject } from '../kubernetes/cluster-object.ts';
import { KubernetesError } from '../kubernetes/errors.ts';
import { listKind } from '../kubernetes/list.ts';
import { listMachines, type MachineSelection } from '../kubernetes/machines.ts';
import { eachInTurns, inTurns, stepsInTurns } from '../processor-time.ts';
import { approvalSubjectOf } from '../resources/approval-subject.ts';
import type { Cluster } from '../resources/cluster.ts';
import { readSigningRequest, type SigningRequest, type UnreadableRequest } from '../resources/signing-request.ts';
import { EVIDENCE_SOURCES, needsNodes } from '../tables/evidence-sources.ts';
import type { Reason } from '../tables/reasons.ts';
import { gateReason } from './decide-approval.ts';
import { ownerFromInstance } from './evidence/ec2.ts';
import {
  type Evidence,
  indexInSteps,
  type Owner,
  type ReadableSource,
  type SourceReading,
} from './evidence/evidence.ts';
import { readHybridNodes } from './evidence/hybrid.ts';
import { ownerFromMachine } from './evidence/machine.ts';
import { ownerFromNode } from './evidence/node.ts';
import { type AskedRequests, collectAsked } from './fates.ts';
import { collectOpenRequests, type OpenRequest, type OpenRequests } from './open-requests.ts';
import { type ApprovalPolicy, KUBELET_SERVING_SIGNER } from './policy.ts';
import type { ClusterContext } from './request.ts';
import { NODE_PREFIX } from './rules/rules.ts';
import { isFor } from './selection.ts';
import { type Handshake, readServedCertificates } from './served-certificates.ts';

const SHOWN_UNREADABLE = 100;
/** As many as one call of a `listInstances` takes. */
const NODES_AT_ONCE = 2_000;

/** One cluster and open connections to it. */
export interface SweepTarget {
  readonly cluster: ClusterContext;
  readonly workload: KubernetesClient;
  /** Where the cluster's Machines are; absent when Cluster API is not part of the picture. */
  readonly management?: KubernetesClient;
  /** Of its Cluster object there: Machines of other namespaces prove nothing. */
  readonly machinesNamespace: string;
  /** Of the cluster, where it is known: EC2 instances of another VPC prove nothing. */
  readonly vpcId?: string | undefined;
  /** DescribeInstances, page by page; absent when the cluster's account is not read. */
  readonly listInstances?: (query: InstanceQuery, signal: AbortSignal) => AsyncIterable<readonly unknown[]>;
  /** Shakes hands with the kubelets of nodes that ask, where a policy trusts renewals; absent where the lane does not reach them. */
  readonly handshake?: Handshake;
}

/** The requests for one signer. Those that are not open are only counted, so that memory follows the open ones. */
export interface ListedRequests {
  readonly open: readonly OpenRequest[];
  readonly ignored: ReadonlyMap<Reason, number>;
  /** The first ones of {@link unreadableCount}. */
  readonly unreadable: readonly UnreadableRequest[];
  readonly unreadableCount: number;
}

/** Everything one sweep read. */
export interface Observed extends ListedRequests {
  /** The target's, with what was learned of its endpoints and its service CIDRs. */
  readonly cluster: ClusterContext;
  readonly evidence: Evidence;
  /** What nodes asked for, 15 to 60 minutes ago. */
  readonly asked: AskedRequests;
}

/**
 * Reads all that one sweep needs: one paged LIST of the requests, and, only when some are open, one paged LIST for each source of evidence
 * that a policy for this cluster names, and beside Machines one of their Cluster. A source that cannot be read is part of the result; failing to list the requests is not, and throws.
 *
 * @param now milliseconds since the epoch, by which requests have an age, and certificates that nodes serve are valid or not
 * @throws KubernetesError when the requests cannot be listed
 */
export async function observe(
  target: SweepTarget,
  policies: readonly ApprovalPolicy[],
  signal: AbortSignal,
  now: () => number = Date.now,
): Promise<Observed> {
  const selecting = policies.filter((policy) => isFor(policy, target.cluster));
  const asked = collectAsked(now());
  let reading: Promise<ReadEvidence> | undefined;
  const listed = await listRequests(target.workload, {
    signerName: KUBELET_SERVING_SIGNER,
    signal,
    seen: (csr) => asked.add(csr),
    // From the first open request on, evidence is read beside the further pages; an idle cluster costs one LIST.
    opened: () => {
      reading ??= readEvidence(target, selecting, signal);
    },
  });
  const requests = listed.open;
  const { object, readings } = (await reading) ?? { readings: [] };
  const cluster = withLearned(target, object);
  const evidence = [...readings, ...(await readInstances(target, requests, selecting, signal))];
  evidence.push(...hybridNodes(cluster, requests, selecting, evidence));
  evidence.push(...(await readRenewals({ ...target, cluster }, requests, selecting, evidence, now, signal)));
  return {
    cluster,
    ...listed,
    // Many Machines take a while to index.
    evidence: await stepsInTurns(indexInSteps(evidence)),
    asked: asked.all(),
  };
}

export interface Listing {
  readonly signerName: string;
  readonly signal: AbortSignal;
  /** @default the newest of each requester, as many as a sweep has memory for */
  readonly open?: OpenRequests;
  /** Bytes of `spec.request` that a kubelet's never has more of. @default what the decoder takes */
  readonly maxRequestBytes?: number;
  /** Told of every request that can be read, open or not. */
  readonly seen?: (csr: SigningRequest) => void;
  /** Told of every request that is open. */
  readonly opened?: () => void;
}

/**
 * All requests for one signer, in one paged LIST. What cannot be read or held is part of the result.
 *
 * @throws KubernetesError when they cannot be listed
 */
export async function listRequests(client: KubernetesClient, listing: Listing): Promise<ListedRequests> {
  const { signerName, signal, open = collectOpenRequests(), maxRequestBytes = Infinity, seen, opened } = listing;
  const ignored = new Map<Reason, number>();
  const ignore = (reason: Reason) => ignored.set(reason, (ignored.get(reason) ?? 0) + 1);
  const unreadable: UnreadableRequest[] = [];
  let unreadableCount = 0;
  const unread = (request: UnreadableRequest) => {
    unreadableCount += 1;
    if (unreadable.length < SHOWN_UNREADABLE) unreadable.push(request);
  };
  const look = (item: unknown): void => {
    const read = readSigningRequest(item);
    if (!read.ok) {
      unread(read);
      return;
    }
    const { csr } = read;
    seen?.(csr);
    const gate = gateReason(csr, signerName);
    if (gate !== undefined) {
      ignore(gate.reason);
      return;
    }
    if ((csr.request?.length ?? 0) > maxRequestBytes) {
      unread({ name: csr.name, problem: 'spec.request is no kubelet’s: too large' });
      return;
    }
    opened?.();
    const added = open.add(csr, approvalSubjectOf(item));
    if (added === 'superseded') ignore('Superseded');
    if (added === 'refused')
      unread({ name: csr.name, problem: 'there are more open requests than one sweep can hold' });
  };
  for await (const page of listSigningRequests(client, { signerName, signal })) await eachInTurns(page, look);
  return { open: open.all(), ignored, unreadable, unreadableCount };
}

/** What is reserved is never too much: what fleet.yaml says, what the Cluster says, and where connections led. */
function withLearned({ cluster, workload }: SweepTarget, object: Cluster | undefined): ClusterContext {
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

interface ReadEvidence {
  /** Of the cluster in Cluster API, where Machines are read. */
  readonly object?: Cluster | undefined;
  readonly readings: readonly SourceReading[];
}

async function readEvidence(
  target: SweepTarget,
  policies: readonly ApprovalPolicy[],
  signal: AbortSignal,
): Promise<ReadEvidence> {
  const wanted = new Set(policies.flatMap(({ evidence }) => evidence));
  // A CIDR counts only for an address that the Node shows and no other Node does.
  // A node that is gone renews nothing, and an address that another Node shows is not the old one's.
  const nodes = async (object?: Cluster): Promise<readonly SourceReading[]> => {
    if (![...wanted].some(needsNodes)) return [];
    if (!knowsServices(withLearned(target, object))) return [SERVICES_NOT_KNOWN];
    return [await readSource('node', listKind(target.workload, 'nodes', { signal }), ownerFromNode)];
  };
  const { cluster, management, machinesNamespace } = target;
  if (!wanted.has('machine') || management === undefined) return { readings: await nodes() };

  const selection = { clusterName: cluster.name, namespace: machinesNamespace, signal };
  const clusterObject = readCluster(management, selection);
  const [machines, object, others] = await Promise.all([
    readSource('machine', listMachines(management, selection), (item) => ownerFromMachine(item, cluster.name)),
    clusterObject,
    clusterObject.then((read) => nodes(read instanceof KubernetesError ? undefined : read)),
  ]);
  if (object instanceof KubernetesError)
    return { readings: [believed(machines, notRead('machine', object)), ...others] };
  const mayLie = !knowsServices(withLearned(target, object)) && !TOLD_BY_NO_GUEST.has(object.infrastructure ?? '');
  return { object, readings: [believed(machines, mayLie ? MACHINES_MAY_LIE : undefined), ...others] };
}

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

/** What is wrong with the Machines themselves says more than a doubt. */
function believed(machines: SourceReading, doubt: SourceReading | undefined): SourceReading {
  return machines.ok ? (doubt ?? machines) : machines;
}

/**
 * Where the addresses of a Machine do not come from its guest: from the Hardware of Tinkerbell, from the NICs of CloudStack. That of vSphere reports
 * what VMware Tools say, which anyone with root there chooses; of others this is not known.
 *
 * Source: cluster-api-provider-tinkerbell `machine/scope.go`, cluster-api-provider-cloudstack `pkg/cloud/instance.go`, cluster-api-provider-vsphere
 * `sanitizeIPAddrs`.
 */
const TOLD_BY_NO_GUEST: ReadonlySet<string> = new Set(['TinkerbellCluster', 'CloudStackCluster']);

function hybridNodes(
  cluster: ClusterContext,
  requests: readonly OpenRequest[],
  policies: readonly ApprovalPolicy[],
  readings: readonly SourceReading[],
): readonly SourceReading[] {
  if (!policies.some(({ evidence }) => evidence.includes('hybrid'))) return [];
  const reading = readHybridNodes(cluster, nodesOf(requests), readings);
  return reading === undefined ? [] : [reading];
}

async function readRenewals(
  { cluster, workload: { caPem }, handshake }: SweepTarget,
  requests: readonly OpenRequest[],
  policies: readonly ApprovalPolicy[],
  readings: readonly SourceReading[],
  now: () => number,
  signal: AbortSignal,
): Promise<readonly SourceReading[]> {
  if (requests.length === 0 || !policies.some(({ evidence }) => evidence.includes('renewal'))) return [];
  const nodes = nodesOf(requests);
  return [await readServedCertificates({ cluster, nodes, readings, handshake, caPem, now, signal })];
}

function nodesOf(requests: readonly OpenRequest[]): ReadonlySet<string> {
  return new Set(requests.map(({ csr }) => csr.username.slice(NODE_PREFIX.length)));
}

/** A node may say that the address of a Service is its own; only service CIDRs tell. */
function knowsServices({ serviceCidrs = [] }: ClusterContext): boolean {
  return serviceCidrs.length > 0;
}

const SERVICES_NOT_KNOWN: SourceReading = {
  source: 'node',
  ok: false,
  problem:
    'Nodes are not believed while the service CIDRs of the cluster are not known: a node may show the address of a Service as its own, or have a certificate for it',
  remedy:
    'Write its serviceCidrs in fleet.yaml, or for a workload cluster spec.clusterNetwork.services.cidrBlocks of its Cluster; or take node, hybrid, renewal and patterns out of the evidence of its policy.',
};

const MACHINES_MAY_LIE: SourceReading = {
  source: 'machine',
  ok: false,
  problem:
    'Machines are not believed while the service CIDRs of the cluster are not known: their addresses may be what the guest says, and so the address of a Service',
  remedy:
    'Write serviceCidrs of the cluster in fleet.yaml (on the command line --service-cidr), or spec.clusterNetwork.services.cidrBlocks of its Cluster.',
};

/**
 * EC2 is asked for the nodes that have an open request and no others: in one VPC, what counts of an instance is no other's. Only what Machines, Nodes and
 * certificates say can be what another instance has, also one that does not run, so where a policy trusts these, all instances of the cluster are read.
 */
async function readInstances(
  { cluster, vpcId, listInstances, management }: SweepTarget,
  requests: readonly OpenRequest[],
  policies: readonly ApprovalPolicy[],
  signal: AbortSignal,
): Promise<readonly SourceReading[]> {
  const wanted = new Set(policies.flatMap(({ evidence }) => evidence));
  if (requests.length === 0 || !wanted.has('ec2')) return [];
  if (listInstances !== undefined) {
    const nodes = nodesOf(requests);
    const others = [...wanted].some(needsNodes) || (wanted.has('machine') && management !== undefined);
    const pages = others
      ? listInstances({ nodes: [], vpcId, cluster: cluster.name }, signal)
      : inParts([...nodes], (part) => listInstances({ nodes: part, vpcId }, signal));
    return [await readSource('ec2', pages, (item) => instanceOwner(item, cluster.name, vpcId, nodes))];
  }
  // Elsewhere a policy that names EC2 finds none, and Machines speak for the nodes.
  return cluster.provider === 'eks' && management === undefined ? [EC2_NOT_READ] : [];
}

/** Weak addresses, which on a busy instance are hundreds, only explain what the nodes that ask do not get. */
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
    'A deployed certmarshal reads them for the EKS clusters that it discovers. Here, name the management cluster if Cluster API made this one, or let the policy trust the Nodes (evidence: [node]).',
};

type ListedSource = Exclude<ReadableSource, 'renewal' | 'hybrid'>;

/** Four times the nodes that Kubernetes supports in a cluster. */
const MAX_OWNERS = 20_000;
const MIB = 1024 * 1024;
/** What a name takes beside its characters: the string, and its entry in the index. */
const NAME_OVERHEAD = 100;

/** What one source says of a cluster. One that cannot be read, or has too much to say, is part of the result. */
export async function readSource(
  source: ListedSource,
  pages: AsyncIterable<readonly unknown[]>,
  ownerOf: (item: unknown) => Owner | undefined,
): Promise<SourceReading> {
  const owners: Owner[] = [];
  let lookedAt = 0;
  let bytes = 0;
  const look = (item: unknown): boolean => {
    lookedAt += 1;
    const owner = ownerOf(item);
    if (owner !== undefined) {
      owners.push(owner);
      bytes += bytesOf(owner);
    }
    return owners.length > MAX_OWNERS || bytes > EVIDENCE_SOURCES[source].maxMib * MIB;
  };
  try {
    for await (const page of pages)
      for await (const isTooMuch of inTurns(page, look)) if (isTooMuch) return tooMuch(source);
  } catch (error) {
    if (!(error instanceof KubernetesError) && !(error instanceof AwsError)) throw error;
    return notRead(source, error);
  }
  return { source, ok: true, lookedAt, owners };
}

function notRead(
  source: ListedSource,
  { kind, object, problem, remedy }: Pick<KubernetesError | AwsError, 'kind' | 'object' | 'problem' | 'remedy'>,
): SourceReading {
  return { source, ok: false, kind, problem: `${object}: ${problem}`, remedy };
}

function bytesOf({ object, nodes, dnsNames, addresses, weakAddresses = [] }: Owner): number {
  const names = [object, ...nodes, ...dnsNames, ...addresses, ...weakAddresses.map(({ address }) => address)];
  return names.reduce((sum, name) => sum + name.length + NAME_OVERHEAD, 0);
}

/** Half of them would prove what the other half contests. */
function tooMuch(source: ListedSource): SourceReading {
  return {
    source,
    ok: false,
    kind: 'too-large',
    problem: `there are more than ${MAX_OWNERS} of them, or more names and addresses than ${EVIDENCE_SOURCES[source].maxMib} MiB hold`,
    remedy: 'Find out who makes so many of them; Kubernetes supports 5,000 nodes in a cluster.',
  };
}
