import type { HandshakeResult, HandshakeTarget } from '../tls/handshake.ts';
import { type Certificate, readable } from '../x509/certificate.ts';
import { decodeBundle } from '../x509/certificate-bundle.ts';
import { isLive, type Owner, type SourceReading } from './evidence/evidence.ts';
import { ownerFromServedCertificate } from './evidence/renewal.ts';
import type { ClusterContext } from './request.ts';
import { reservedAddress } from './rules/reserved-names.ts';

/** Connects to one server by TLS. Never throws; ends soon after its signal aborts. */
export type Handshake = (target: HandshakeTarget, signal: AbortSignal) => Promise<HandshakeResult>;

const KUBELET_PORT = 10_250;
const ADDRESSES_A_NODE = 2;
const NODES_A_SWEEP = 500;
const AT_ONCE = 32;
const ANSWER_MS = 3_000;
/** For all nodes: those that hang must not use up the sweep of those proven otherwise. Milliseconds. */
const ALL_ANSWERS_MS = 15_000;

export interface RenewalQuery {
  readonly cluster: ClusterContext;
  /** Names of the nodes that have an open request. */
  readonly nodes: ReadonlySet<string>;
  /** Readings of the other sources; must include Nodes. */
  readonly readings: readonly SourceReading[];
  /** Absent if the lane cannot reach nodes. */
  readonly handshake: Handshake | undefined;
  /** The CA bundle that the connection to the API server trusts. */
  readonly caPem: string | undefined;
  readonly now: () => number;
  readonly signal: AbortSignal;
}

/**
 * Reads the certificates that requesting nodes serve now. Only nodes that have a Node are dialled, at the addresses of
 * their Machine or instance if it has any, otherwise at those of the Node.
 */
export async function readServedCertificates(query: RenewalQuery): Promise<SourceReading> {
  const { cluster, nodes, readings, handshake, caPem, now, signal } = query;
  if (handshake === undefined)
    return unread(
      'this lane cannot reach nodes',
      'Sweep the cluster from a network that reaches port 10250 of its nodes, or remove renewal from evidence in its policy.',
    );
  const live = readings.find(({ source }) => source === 'node');
  if (live?.ok !== true)
    return unread('Nodes could not be read, so it is unknown which nodes still exist', NODES_REMEDY);
  const authorities = caPem === undefined ? [] : authoritiesOf(caPem);
  if (authorities.length === 0)
    return unread(
      'the connection to the API server trusts no CA bundle of its own, so it is unknown which CA may sign for kubelets',
      'Give the kubeconfig the CA of the cluster (certificate-authority-data), or remove renewal from evidence in its policy.',
    );

  const addressesOf = addressBook(readings, nodes, cluster);
  const known = [...nodes].filter((node) => addressesOf.has(node));
  const asked = known.slice(0, NODES_A_SWEEP);
  const owners: Owner[] = [];
  const without = new Map<string, string>();
  for (const node of known.slice(NODES_A_SWEEP))
    without.set(node, `its certificate was not checked: more than ${NODES_A_SWEEP} nodes ask at once`);

  const deadline = AbortSignal.any([signal, AbortSignal.timeout(ALL_ANSWERS_MS)]);
  const lookAt = async (node: string): Promise<void> => {
    const proof = await servedBy(node, addressesOf.get(node) ?? [], { handshake, authorities, now, deadline });
    if (typeof proof === 'string') without.set(node, proof);
    else owners.push(proof);
  };
  const queue = asked.values();
  const worker = async (): Promise<void> => {
    for (const node of queue) await lookAt(node);
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, asked.length) }, worker));
  return { source: 'renewal', ok: true, lookedAt: asked.length, owners, without };
}

/** The first address that shows a certificate of the node decides; if none does, the last failure is the reason. */
async function servedBy(
  node: string,
  addresses: readonly string[],
  {
    handshake,
    authorities,
    now,
    deadline,
  }: {
    readonly handshake: Handshake;
    readonly authorities: readonly Certificate[];
    readonly now: () => number;
    readonly deadline: AbortSignal;
  },
): Promise<Owner | string> {
  let why = 'it has no known address';
  for (const host of addresses) {
    if (deadline.aborted) return 'its certificate was not checked: the time for all nodes was used up';
    const where = `${host.includes(':') ? `[${host}]` : host}:${KUBELET_PORT}`;
    const result = await answerInTime(handshake, { host, port: KUBELET_PORT }, deadline);
    if (result === undefined) why = `${where} did not answer within ${ANSWER_MS / 1000} s`;
    else if (!result.ok) why = `${where} shows no certificate: ${result.failure.message}`;
    else if (result.keyProven !== true)
      why = `${where} did not finish the handshake, so it may not have the private key`;
    else {
      const proof = ownerFromServedCertificate({ node, where, chain: result.chain }, authorities, now());
      if (proof.ok) return proof.owner;
      why = proof.why;
    }
  }
  return why;
}

/** Does not rely on the handshake to obey its signal: one that hangs is abandoned. */
async function answerInTime(
  handshake: Handshake,
  target: HandshakeTarget,
  deadline: AbortSignal,
): Promise<HandshakeResult | undefined> {
  const signal = AbortSignal.any([deadline, AbortSignal.timeout(ANSWER_MS)]);
  const { promise: ended, resolve } = Promise.withResolvers<undefined>();
  const end = () => resolve(undefined);
  signal.addEventListener('abort', end, { once: true });
  try {
    return await Promise.race([handshake(target, signal), ended]);
  } finally {
    signal.removeEventListener('abort', end);
  }
}

/**
 * Addresses of the nodes that have a Node; those that a node cannot write take precedence. Reserved addresses are never
 * dialled.
 */
function addressBook(
  readings: readonly SourceReading[],
  nodes: ReadonlySet<string>,
  cluster: ClusterContext,
): ReadonlyMap<string, readonly string[]> {
  const ownersIn = (matches: (reading: SourceReading) => boolean): readonly Owner[] =>
    readings.flatMap((reading) => (reading.ok && matches(reading) ? reading.owners.filter(isLive) : []));
  const usable = ({ addresses }: Owner): readonly string[] =>
    addresses.filter((address) => reservedAddress(address, cluster) === undefined);

  const book = new Map<string, readonly string[]>();
  for (const owner of ownersIn(({ source }) => source === 'node'))
    for (const node of owner.nodes) if (nodes.has(node)) book.set(node, usable(owner).slice(0, ADDRESSES_A_NODE));
  for (const owner of ownersIn(({ source }) => source === 'machine' || source === 'ec2'))
    for (const node of owner.nodes)
      if (book.has(node) && usable(owner).length > 0) book.set(node, usable(owner).slice(0, ADDRESSES_A_NODE));
  return book;
}

function authoritiesOf(caPem: string): readonly Certificate[] {
  return readable(decodeBundle(caPem).certificates);
}

const NODES_REMEDY =
  'Grant get and list of nodes (certmarshal rbac prints it), and write serviceCidrs of the cluster; or remove renewal from evidence in its policy.';

function unread(problem: string, remedy: string): SourceReading {
  return { source: 'renewal', ok: false, problem, remedy };
}
