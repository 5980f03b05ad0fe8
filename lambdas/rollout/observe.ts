import { machineAddresses } from '../allowed-addresses.ts';
import { KUBELET_SERVING_SIGNER } from '../approval/policy.ts';
import { NODE_PREFIX } from '../approval/rules/rules.ts';
import type { Problem } from '../contracts/problem.ts';
import { listSigningRequests } from '../kubernetes/certificate-signing-requests.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { clusterApiVersion } from '../kubernetes/cluster-api.ts';
import { hasInfrastructureTemplate } from '../kubernetes/infrastructure-templates.ts';
import { getLease } from '../kubernetes/leases.ts';
import { listKind } from '../kubernetes/list.ts';
import { printable } from '../printable.ts';
import { OPT_IN, OPT_IN_ANNOTATION } from '../resources/annotations.ts';
import { type Cluster, readCluster } from '../resources/cluster.ts';
import { readEksAnywhere } from '../resources/eks-anywhere.ts';
import { field, text } from '../resources/fields.ts';
import type { KubeadmControlPlane } from '../resources/kubeadm-control-plane.ts';
import { type Lease, readLease } from '../resources/lease.ts';
import { CONTROL_PLANE_LABEL, isMachineOf, roleOfMachine } from '../resources/machine.ts';
import { type MachineHealthCheck, readMachineHealthCheck } from '../resources/machine-health-check.ts';
import { readSigningRequest } from '../resources/signing-request.ts';
import type { handshakes } from '../tls/handshakes.ts';
import { type Certificate, readable } from '../x509/certificate.ts';
import { decodeBundle } from '../x509/certificate-bundle.ts';
import { EKS_ANYWHERE_NAMESPACE, firstMade, ownersCluster, type SeenEksAnywhere } from './eks-anywhere-owner.ts';
import { machineDependencies } from './machine-dependencies.ts';
import { observeEtcd } from './observe-etcd.ts';
import type { ObservedMachine, ObservedRollout, Sibling } from './observed.ts';
import { observedMachine } from './observed-machine.ts';
import { createReader, type ListEnd, type Reader } from './reader.ts';
import { ROLLOUT_LEASE } from './rollout-lease.ts';
import { servedCertificates } from './served-certificates.ts';
import { type SeenControlPlane, type SiblingMachine, seenControlPlane, siblingMachine, siblingOf } from './siblings.ts';

/** One cluster, and the connections for reading and writing its rollouts. */
export interface RolloutTarget {
  readonly id: string;
  readonly name: string;
  /** Its management cluster; itself if it manages itself. */
  readonly management: KubernetesClient;
  readonly managesItself: boolean;
  /** Namespace of its Cluster, if known. @default found by name, which must be unique */
  readonly namespace?: string;
  /**
   * Namespace of the owner's Cluster of EKS Anywhere. @default found by name; with several, its `auto` does not count
   */
  readonly eksAnywhereNamespace?: string;
  /** Port of the API server on each control plane machine. @default 6443, or what the Cluster says */
  readonly apiServerPort?: number;
  /** The cluster itself, for its CSRs. @default they are not read */
  readonly workload?: KubernetesClient;
  /** A policy in mode `enforce` selects its kubelets. @default unknown */
  readonly approves?: boolean;
  /** Absent if the machines are unreachable: then nothing begins, and nothing can be verified. */
  readonly handshakes?: typeof handshakes;
  /** PEM of the CAs that clients of the cluster trust, if available. @throws KubernetesError or AwsError */
  readonly authorities?: () => Promise<string>;
  /**
   * May read `<cluster>-apiserver-etcd-client`, which contains a private key besides the certificate. @default false
   */
  readonly readEtcdClientSecret?: boolean;
}

const API_SERVER_PORT = 6443;
const MAX_CLUSTERS = 2_000;
/** Three of a cluster, and those being created. */
const MAX_MACHINES = 10_000;
const MAX_HEALTH_CHECKS = 5_000;
const MAX_REQUESTS = 20_000;
/** Cluster API allows any odd number; more than seven are useless for etcd. */
const MAX_OWN_MACHINES = 32;

/**
 * Reads everything that the next step of a rollout depends on: one LIST a kind, and a handshake with each control plane
 * machine. Never throws for a problem of the cluster: failed reads are in `unread`.
 *
 * The Lease is read first: if it is unchanged when it is taken, nothing has begun unseen.
 */
export async function observeRollout(target: RolloutTarget, signal: AbortSignal): Promise<ObservedRollout> {
  const { id, name, management, managesItself, approves } = target;
  const reader = createReader();
  const lease = await observeLease(management, reader, signal);
  const [clusters, eksAnywheres, upgrades, planes] = await Promise.all([
    clustersOf(target, reader, signal),
    eksAnywheresOf(target, reader, signal),
    upgradesOf(management, reader, signal),
    controlPlanesOf(management, reader, signal),
  ]);
  const cluster = theOne(
    preferred(clusters),
    `Cluster ${name}`,
    'Name its namespace: several namespaces of the management cluster have one.',
    reader,
  );
  const base = {
    cluster: { id, name, managesItself, approves },
    lease,
    unread: reader.unread,
  };
  if (cluster === undefined) {
    return { ...base, machines: [], healthChecks: [], siblings: [], authorities: [] };
  }
  const { namespace } = cluster;
  const isOwn = (candidate: SeenControlPlane): boolean =>
    candidate.cluster === name && candidate.namespace === namespace;
  const within = planes.end === 'too-large' ? await controlPlanesOf(management, reader, signal, namespace) : planes;
  const own = within.seen.filter(isOwn);
  const others = planes.seen.filter((candidate) => !isOwn(candidate));
  const plane = theOne(own, `KubeadmControlPlane of ${namespace}/${name}`, 'Find out who made the others.', reader);
  const controlPlane = plane?.read;
  if (plane !== undefined && controlPlane === undefined)
    reader.unread.push(unreadable('KubeadmControlPlane', namespace, name));

  const template = controlPlane?.template;
  const [seen, templateFound, authorities] = await Promise.all([
    machinesOf(target, cluster, controlPlane, reader, signal),
    template === undefined
      ? undefined
      : reader.one(async () => hasInfrastructureTemplate(management, { ...template, signal })),
    givenAuthorities(target, reader),
  ]);
  const addresses = machineAddresses(management);
  const eksAnywhere = namespace === EKS_ANYWHERE_NAMESPACE ? ownerOf(target, eksAnywheres, reader) : undefined;
  const owner = eksAnywheres.objects.get(eksAnywhere?.namespace);
  const [served, healthChecks, etcd, waitingRequests, needed] = await Promise.all([
    servedCertificates(seen.own, target.handshakes, {
      port: target.apiServerPort ?? cluster.apiServerPort ?? API_SERVER_PORT,
      proof: true,
      authorities,
      addresses,
      signal,
    }),
    healthChecksOf(target, namespace, seen.labels, reader, signal),
    cluster.managedEtcd || controlPlane?.etcd === 'external'
      ? observeEtcd(target, { namespace, managed: cluster.managedEtcd, addresses }, reader, signal)
      : undefined,
    controlPlane?.etcd === 'stacked' && controlPlane.conditions.EtcdClusterHealthy.status === 'Unknown'
      ? waitingRequestsOf(target, seen.own, reader, signal)
      : undefined,
    machineDependencies(management, owner, reader, target.handshakes, signal),
  ]);
  return {
    ...base,
    capiCluster: cluster,
    eksAnywhere: eksAnywhere && { ...eksAnywhere, controlPlaneUpgrade: upgrades.has(controlPlane?.name) },
    controlPlane: controlPlane && { ...controlPlane, templateFound: templateFound === true },
    machines: served.machines,
    apiServer: toleratedBy(target, served.machines),
    etcd,
    waitingRequests,
    dependencies: needed.map(({ where, bundle: { certificates, problem } }) => ({
      where,
      notAfter: Math.max(0, ...readable(certificates).map(({ notAfter }) => notAfter)),
      problem,
    })),
    healthChecks,
    siblings: siblingsOf(others, seen.others, eksAnywheres.optedIn),
    ...([planes.end, seen.end, eksAnywheres.end].includes('too-large') ? { moreSiblings: true } : {}),
    authorities: endsOf([...(authorities ?? []), ...served.authorities]),
  };
}

/** Behind the address of the API server is one of the machines. */
function toleratedBy(
  { managesItself, management, workload }: RolloutTarget,
  machines: readonly ObservedMachine[],
): ObservedRollout['apiServer'] {
  const own = managesItself ? management : workload;
  if (own?.recovering === undefined) return undefined;
  const { notBefore, notAfter, sha256 } = own.recovering;
  if (machines.some(({ served }) => served.kind === 'certificate' && served.fingerprint === sha256)) return undefined;
  return { url: printable(own.server, 260), notBefore, notAfter };
}

async function observeLease(
  management: KubernetesClient,
  reader: Reader,
  signal: AbortSignal,
): Promise<Lease | undefined> {
  const object = await reader.one(async () => getLease(management, { ...ROLLOUT_LEASE, signal }));
  const lease = readLease(object);
  if (object !== undefined && lease === undefined)
    reader.unread.push(unreadable('Lease', ROLLOUT_LEASE.namespace, ROLLOUT_LEASE.name));
  return lease;
}

async function clustersOf(
  { name, namespace, management }: RolloutTarget,
  reader: Reader,
  signal: AbortSignal,
): Promise<readonly Cluster[]> {
  const seen: Cluster[] = [];
  const pages = listKind(management, 'clusters', { clusterName: name, namespace, signal });
  await reader.each(pages, MAX_CLUSTERS, (object) => {
    const read = readCluster(object);
    // A server may ignore the selector.
    if (read?.name === name) seen.push(read);
  });
  return seen;
}

/** A user who may create Clusters can choose any name, but not in this namespace, which is that of EKS Anywhere. */
function preferred(clusters: readonly Cluster[]): readonly Cluster[] {
  const own = clusters.filter(({ namespace }) => namespace === EKS_ANYWHERE_NAMESPACE);
  return own.length === 1 ? own : clusters;
}

interface SeenEksAnywheres {
  /** Clusters with the name of the cluster. */
  readonly own: readonly SeenEksAnywhere[];
  /** By their namespaces. */
  readonly objects: ReadonlyMap<string | undefined, unknown>;
  /** Unique names whose Cluster is opted in. */
  readonly optedIn: ReadonlySet<string>;
  /** All of that name were read. */
  readonly whole: boolean;
  readonly end: ListEnd;
}

/** All of them: they contain the opt-ins of the other owners. */
async function eksAnywheresOf(
  { name, management, eksAnywhereNamespace }: RolloutTarget,
  reader: Reader,
  signal: AbortSignal,
): Promise<SeenEksAnywheres> {
  let own: SeenEksAnywhere[] = [];
  const objects = new Map<string | undefined, unknown>();
  const agrees = new Map<string, boolean>();
  const lookAtOwn = (object: unknown): void => {
    const read = text(object, 'metadata', 'name') === name ? readEksAnywhere(object) : undefined;
    if (read === undefined) return;
    own.push(read);
    objects.set(read.namespace, object);
  };
  const look = (object: unknown): void => {
    lookAtOwn(object);
    const found = text(object, 'metadata', 'name');
    if (found === undefined) return;
    const optedIn = text(object, 'metadata', 'annotations', OPT_IN_ANNOTATION) === OPT_IN;
    agrees.set(found, optedIn && !agrees.has(found));
  };
  // If fleet.yaml names its namespace, EKS Anywhere is installed.
  const fine = eksAnywhereNamespace === undefined ? (['not-found'] as const) : [];
  const pages = listKind(management, 'eksAnywhereClusters', { signal });
  const end = await reader.each(pages, MAX_CLUSTERS, look, ...fine, 'too-large');
  let endOfOwn = end;
  if (end === 'too-large') {
    own = [];
    const ofName = listKind(management, 'eksAnywhereClusters', {
      clusterName: name,
      namespace: eksAnywhereNamespace,
      signal,
    });
    endOfOwn = await reader.each(ofName, MAX_CLUSTERS, lookAtOwn, ...fine);
  }
  const optedIn = new Set([...agrees].flatMap(([of, agreed]) => (agreed ? [of] : [])));
  return { own, objects, optedIn, whole: endOfOwn === 'whole', end };
}

function ownerOf(
  { name, eksAnywhereNamespace }: RolloutTarget,
  { own, whole }: SeenEksAnywheres,
  reader: Reader,
): SeenEksAnywhere | undefined {
  const found = ownersCluster(own, name, eksAnywhereNamespace);
  if (found.kind === 'one') return found.cluster;
  if (found.kind === 'contested') return firstMade(found.clusters);
  // Its bans are unknown.
  if (found.problem !== undefined && whole) reader.unread.push(found.problem);
  return undefined;
}

/** Names of the control planes that EKS Anywhere upgrades in place. Source: EKS Anywhere, controllers/kubeadmcontrolplane_controller.go, `controlPlaneUpgrade`. */
async function upgradesOf(
  management: KubernetesClient,
  reader: Reader,
  signal: AbortSignal,
): Promise<ReadonlySet<string | undefined>> {
  const names = new Set<string | undefined>();
  const look = (object: unknown): void => void names.add(text(object, 'spec', 'controlPlane', 'name'));
  const pages = listKind(management, 'controlplaneupgrades', { namespace: EKS_ANYWHERE_NAMESPACE, signal });
  await reader.each(pages, MAX_CLUSTERS, look, 'not-found');
  return names;
}

/** In one namespace, or in all: then it is no problem if others have more than are read. */
async function controlPlanesOf(
  management: KubernetesClient,
  reader: Reader,
  signal: AbortSignal,
  namespace?: string,
): Promise<{ readonly seen: readonly SeenControlPlane[]; readonly end: ListEnd }> {
  const apiVersion = await reader.one(async () =>
    clusterApiVersion(management, signal, 'controlplane.cluster.x-k8s.io'),
  );
  const seen: SeenControlPlane[] = [];
  if (apiVersion === undefined) return { seen, end: 'unread' };
  const look = (object: unknown): void => {
    const plane = seenControlPlane(object, apiVersion);
    if (plane !== undefined) seen.push(plane);
  };
  const pages = listKind(management, 'kubeadmcontrolplanes', { namespace, signal });
  // An excess of other clusters need not be seen.
  const fine = namespace === undefined ? (['too-large'] as const) : [];
  const end = await reader.each(pages, MAX_CLUSTERS, look, ...fine);
  return { seen, end };
}

interface SeenMachines {
  readonly own: readonly ObservedMachine[];
  /** Our machines, as seen by selectors of health checks. */
  readonly labels: readonly unknown[];
  /** Of other clusters, by their namespace and name. */
  readonly others: ReadonlyMap<string, readonly SiblingMachine[]>;
  readonly end: ListEnd;
}

async function machinesOf(
  { name, management }: RolloutTarget,
  { namespace, endpoint }: Cluster,
  controlPlane: KubeadmControlPlane | undefined,
  reader: Reader,
  signal: AbortSignal,
): Promise<SeenMachines> {
  const ownObjects: unknown[] = [];
  const others = new Map<string, SiblingMachine[]>();
  const isOwn = (object: unknown): boolean =>
    text(object, 'metadata', 'namespace') === namespace &&
    isMachineOf(object, name) &&
    roleOfMachine(object) === 'control-plane';
  const lookAtOwn = (object: unknown): void => {
    // One more than is read, so that an excess is reported.
    if (isOwn(object) && ownObjects.length <= MAX_OWN_MACHINES) ownObjects.push(object);
  };
  const look = (object: unknown): void => {
    if (isOwn(object)) return lookAtOwn(object);
    const key = `${text(object, 'metadata', 'namespace')}/${text(object, 'spec', 'clusterName')}`;
    const group = others.get(key) ?? [];
    others.set(key, group);
    group.push(siblingMachine(object));
  };
  const end = await reader.each(
    listKind(management, 'machines', { labels: CONTROL_PLANE_LABEL, signal }),
    MAX_MACHINES,
    look,
    'too-large',
  );
  if (end === 'too-large') {
    ownObjects.length = 0;
    const ofNamespace = listKind(management, 'machines', { labels: CONTROL_PLANE_LABEL, namespace, signal });
    await reader.each(ofNamespace, MAX_MACHINES, lookAtOwn);
  }

  const own: ObservedMachine[] = [];
  const labels: unknown[] = [];
  const role = controlPlane?.etcd === 'external' ? 'control-plane' : 'stacked';
  for (const object of ownObjects) {
    const machine = observedMachine(object, { owner: controlPlane?.uid, role, endpoint });
    if (machine === undefined || own.length === MAX_OWN_MACHINES) {
      reader.unread.push(unreadable('Machine', namespace, `${text(object, 'metadata', 'name')}`));
      continue;
    }
    own.push(machine);
    labels.push({ metadata: { namespace, labels: field(object, 'metadata', 'labels') } });
  }
  return { own, labels, others, end };
}

async function waitingRequestsOf(
  { workload }: RolloutTarget,
  machines: readonly ObservedMachine[],
  reader: Reader,
  signal: AbortSignal,
): Promise<ObservedRollout['waitingRequests']> {
  if (workload === undefined) return undefined;
  const nodes = new Set(machines.map(({ node }) => `${NODE_PREFIX}${node}`));
  const waiting: { readonly node: string; readonly name: string; readonly createdAt: number }[] = [];
  const pages = listSigningRequests(workload, { signerName: KUBELET_SERVING_SIGNER, signal });
  const look = (object: unknown): void => {
    const read = readSigningRequest(object);
    if (!read.ok || !nodes.has(read.csr.username)) return;
    const { username, name, createdAt, conditions, issued } = read.csr;
    if (createdAt === undefined || conditions.length > 0 || issued) return;
    waiting.push({ node: username.slice(NODE_PREFIX.length), name: printable(name), createdAt });
  };
  await reader.each(pages, MAX_REQUESTS, look, 'too-large');
  return waiting;
}

async function healthChecksOf(
  { name, management }: RolloutTarget,
  namespace: string,
  machines: readonly unknown[],
  reader: Reader,
  signal: AbortSignal,
): Promise<readonly MachineHealthCheck[]> {
  const seen: MachineHealthCheck[] = [];
  await reader.each(listKind(management, 'machinehealthchecks', { namespace, signal }), MAX_HEALTH_CHECKS, (object) => {
    const check = readMachineHealthCheck(object, name, machines);
    if (check !== undefined) seen.push(check);
  });
  return seen;
}

/** Undefined if unavailable; empty if unreadable. */
async function givenAuthorities(
  { authorities }: RolloutTarget,
  reader: Reader,
): Promise<readonly Certificate[] | undefined> {
  if (authorities === undefined) return undefined;
  const pem = await reader.one(authorities);
  if (pem === undefined) return [];
  const { certificates, problem } = decodeBundle(pem);
  const wrong = problem ?? certificates.flatMap((read) => (read.ok ? [] : [read.problem]))[0];
  if (wrong !== undefined)
    reader.unread.push({
      kind: 'malformed',
      object: 'the CAs of the cluster',
      message: printable(wrong),
      remedy: 'Check what a client of the cluster is told to trust: certificate-authority-data of its kubeconfig.',
    });
  return readable(certificates);
}

function endsOf(authorities: readonly Certificate[]): ObservedRollout['authorities'] {
  const byFingerprint = new Map(authorities.map((authority) => [authority.fingerprint, authority]));
  return [...byFingerprint.values()].map(({ subject, notAfter }) => ({ name: printable(subject), notAfter }));
}

function siblingsOf(
  planes: readonly SeenControlPlane[],
  machines: ReadonlyMap<string, readonly SiblingMachine[]>,
  optedIn: ReadonlySet<string>,
): readonly Sibling[] {
  return planes.flatMap((plane) => {
    const { namespace, cluster } = plane;
    const agreed = namespace === EKS_ANYWHERE_NAMESPACE && optedIn.has(cluster);
    return siblingOf(plane, machines.get(`${namespace}/${cluster}`) ?? [], agreed) ?? [];
  });
}

/** Undefined if missing; several are a problem, because it is unknown which is meant. */
function theOne<T>(found: readonly T[], object: string, remedy: string, reader: Reader): T | undefined {
  const [first, second] = found;
  if (second === undefined) return first;
  reader.unread.push({ kind: 'ambiguous', object: printable(object), message: `there are ${found.length}`, remedy });
  return undefined;
}

function unreadable(kind: string, namespace: string, name: string): Problem {
  return {
    kind: 'malformed',
    object: `${kind} ${printable(namespace)}/${printable(name)}`,
    message: 'it lacks what every object has, or there are more than certmarshal reads',
    remedy:
      'Check that this is a management cluster: an API server writes name, uid, resourceVersion and creationTimestamp.',
  };
}
