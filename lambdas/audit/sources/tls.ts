import { type AddressRule, machineAddresses } from '../../allowed-addresses.ts';
import type { Observation, UnreadObservation } from '../../contracts/observation.ts';
import { hostOf } from '../../kubernetes/connection.ts';
import { printable } from '../../printable.ts';
import { eachInTurns } from '../../processor-time.ts';
import { CERTIFICATE_CLASSES } from '../../tables/certificate-classes.ts';
import { timestamp } from '../../time.ts';
import type { HandshakeFailure, HandshakeResult } from '../../tls/handshake.ts';
import { handshakes } from '../../tls/handshakes.ts';
import { type Certificate, readable } from '../../x509/certificate.ts';
import {
  isSelfSigned,
  leadsTo,
  VERIFICATIONS_A_HANDSHAKE,
  type Verifications,
  verifications,
} from '../../x509/issued-by.ts';
import type { AuditContext, AuditSource, Origin, SourceObservations } from '../audit-source.ts';
import { DEFAULT_PORTS } from '../audit-target.ts';
import { certificateObservation, type Sighting } from '../certificate-observation.ts';
import type { IssuedJudge } from '../issued-certificates.ts';
import { placeOf, type ServerTarget, serversOf } from './tls-targets.ts';

/** Short enough for a second address of a machine within the deadline of the source. */
const HANDSHAKE_MS = 5_000;
/** Servers that hang must not delay the others. */
const CONCURRENCY = 256;
/** Four times the nodes that Kubernetes supports in a cluster, each with a kubelet. */
const MAX_SERVERS = 20_000;
/** Signatures verified for all servers together, besides 2 for each: most need 1, some 2. */
const MORE_VERIFICATIONS = 200;

const SILENT: ReadonlySet<string> = new Set(['refused', 'unreachable', 'timeout', 'closed', 'aborted']);

/** Handshakes with the API endpoint and, if reachable, with all servers of machines and Nodes. */
export const tlsSource: AuditSource = {
  id: 'tls',
  stage: 'second',
  deadlineMs: 30_000,
  off: () => undefined,
  async observe(context): Promise<SourceObservations> {
    const { target, members } = context;
    const origin = { source: 'tls' as const, observedAt: timestamp(context.now()) };
    const endpoint = endpointOf(context);
    const { provider } = target.cluster;
    const ports = target.ports ?? DEFAULT_PORTS;
    const servers = target.reach.handshakes ? serversOf(members, provider, ports, context.now()) : [];
    const within = servers.slice(0, MAX_SERVERS);

    const [shown, seen, judge] = await Promise.all([
      shakeAll([endpoint], context, target.workload.addresses),
      shakeAll(within, context, machineAddresses(target.workload)),
      // It reads evidence, concurrent with the handshakes, which take most of the time of the source.
      within.some(({ what }) => what === 'kubelet-serving') ? context.issuedJudge() : undefined,
    ]);
    const visits = [...shown, ...seen];
    const observations: Observation[] = [];
    let left = 2 * visits.length + MORE_VERIFICATIONS;
    await eachInTurns(visits, (visit) => {
      const made = left < VERIFICATIONS_A_HANDSHAKE ? undefined : verifications();
      observations.push(...observationsOf(visit, origin, { ...context, judge }, made));
      if (made !== undefined) left -= made.count;
    });
    return {
      observations: [
        ...observations,
        ...(within.length < servers.length ? [tooMany(origin, servers.length)] : []),
        // Not if the endpoint failed: what is off is not missed, but the endpoint is.
        ...(!target.reach.handshakes && shown[0]?.result.ok === true
          ? [{ kind: 'off' as const, ...origin, why: 'handshakes with machines are off' }]
          : []),
      ],
      count: visits.length,
    };
  },
};

/** A server without a member is the API endpoint. */
type Server = Omit<ServerTarget, 'member'> & Partial<Pick<ServerTarget, 'member'>>;

interface Visit {
  readonly server: Server;
  /** The address that answered, otherwise the first one; the name of a server without any. */
  readonly host: string;
  readonly result: HandshakeResult;
}

function endpointOf({ target }: AuditContext): Server {
  const url = new URL(target.workload.server);
  return {
    what: target.cluster.provider === 'eks' ? 'eks-api-server' : 'kube-apiserver',
    port: Number(url.port || 443),
    addresses: [hostOf(url)],
  };
}

const NO_ADDRESS: HandshakeFailure = {
  kind: 'unreachable',
  message: 'it has no known address',
  remedy:
    'Check status.addresses of the Node, kubectl get nodes -o wide, and of its Machine in the management cluster: kubectl get machines.cluster.x-k8s.io -A -o yaml.',
};

/** Dials the first address of every server, then the second one of those that did not answer. */
async function shakeAll(
  servers: readonly Server[],
  { signal }: AuditContext,
  addresses: AddressRule = 'cluster',
): Promise<readonly Visit[]> {
  const options = { timeoutMs: HANDSHAKE_MS, concurrency: CONCURRENCY, signal, addresses };
  const visits: Visit[] = servers.map((server) => ({
    server,
    host: server.member ?? '',
    result: { ok: false, failure: NO_ADDRESS },
  }));
  for (const turn of [0, 1]) {
    const open = [...visits.entries()].flatMap(([index, { server, result }]) => {
      const host = server.addresses[turn];
      return result.ok || host === undefined ? [] : [{ index, server, host, port: server.port, before: result }];
    });
    const results = await handshakes(open, options);
    for (const [at, { index, server, host }] of open.entries()) {
      const result = results[at];
      // If the second address fails too, the failure of the first counts.
      if (result !== undefined && (turn === 0 || result.ok)) visits[index] = { server, host, result };
    }
  }
  return visits;
}

function observationsOf(
  { server, host, result }: Visit,
  origin: Origin,
  context: Pick<AuditContext, 'target' | 'authorities'> & { readonly judge: IssuedJudge | undefined },
  made: Verifications | undefined,
): readonly Observation[] {
  const { member, what, port, nodeAddress } = server;
  const where = placeOf(host, port);
  const place = { ...origin, where, member };
  if (!result.ok) return [unread({ ...place, what }, server, result.failure)];

  const sentAlong = readable(result.chain.slice(1));
  // etcd demands a client certificate and, in TLS 1.2, hangs up before it has proven its key.
  const keyProven = result.keyProven ?? (CERTIFICATE_CLASSES[what].layer === 'etcd' ? undefined : false);
  const ofLeaf = (leaf: Certificate): Sighting => {
    const sighting = leafSighting(leaf, sentAlong, { ...place, what, keyProven }, context.authorities, made);
    const isJudged = sighting.what === 'kubelet-serving' && sighting.issuedByCluster === true && member !== undefined;
    return {
      ...sighting,
      issued: isJudged
        ? context.judge?.(leaf, { node: member, address: host, keyProven: keyProven === true })
        : undefined,
      lacksAddress: nodeAddress !== undefined && !leaf.addresses.includes(nodeAddress) ? nodeAddress : undefined,
    };
  };
  return result.chain.map((read, position): Observation => {
    const sighting: Sighting = { ...place, what: position === 0 ? what : 'ca-bundle' };
    if (read.ok) {
      const { provider } = context.target.cluster;
      const ofPosition = position === 0 ? ofLeaf(read.certificate) : sighting;
      return certificateObservation({ ...ofPosition, position }, read.certificate, provider);
    }
    return {
      kind: 'unread',
      ...place,
      what: sighting.what,
      problem: 'malformed',
      message: `certificate ${position + 1} that ${where} shows: ${read.problem}`,
      remedy: 'Replace it: a client cannot read it either.',
      broken: true,
    };
  });
}

/**
 * `<host>-ca@<seconds>`: the CA that a kubelet without a certificate makes (client-go, util/cert,
 * GenerateSelfSignedCertKey).
 */
const KUBELETS_OWN_CA = /^CN=.+-ca@\d+$/;

function leafSighting(
  leaf: Certificate,
  sentAlong: readonly Certificate[],
  place: Sighting,
  authorities: readonly Certificate[],
  /** Absent if earlier servers used up all verifications: then the issuer stays unknown. */
  made: Verifications | undefined,
): Sighting {
  const { what } = place;
  if (authorities.length === 0 || made === undefined)
    return isOfKubelet(leaf, what, made) ? { ...place, what: 'kubelet-self-signed' } : place;
  if (what !== 'kube-apiserver' && what !== 'kubelet-serving') return place;
  // A server that sends more than is verified is not believed.
  const issuedByCluster = leadsTo(leaf, sentAlong, authorities, made) === true;
  const now = Date.parse(place.observedAt);
  const valid = sentAlong.filter(({ notBefore, notAfter }) => notBefore <= now && now < notAfter);
  // Clients do not accept one that only expired CAs lead to: stakes.ts finds these.
  if (issuedByCluster && leadsTo(leaf, valid, authorities, made) !== true) return place;
  if (!issuedByCluster && isOfKubelet(leaf, what, made)) return { ...place, what: 'kubelet-self-signed' };
  return { ...place, issuedByCluster };
}

function isOfKubelet(leaf: Certificate, what: Sighting['what'], made: Verifications | undefined): boolean {
  return what === 'kubelet-serving' && (KUBELETS_OWN_CA.test(leaf.issuer) || isSelfSigned(leaf, made) === true);
}

function unread(
  place: Pick<UnreadObservation, 'source' | 'observedAt' | 'where' | 'what' | 'member'>,
  { addresses, port, usuallyHidden }: Server,
  { kind, message, remedy }: HandshakeFailure,
): UnreadObservation {
  const tried = addresses.map((address) => placeOf(address, port));
  return {
    kind: 'unread',
    ...place,
    problem: kind,
    message: `${printable(tried.length === 0 ? `port ${port}` : tried.join(' and '))}: ${message}`,
    remedy,
    usual: usuallyHidden === true && SILENT.has(kind) ? true : undefined,
  };
}

function tooMany(origin: Origin, count: number): UnreadObservation {
  return {
    kind: 'unread',
    ...origin,
    problem: 'too-large',
    message: `${count} servers, of which the first ${MAX_SERVERS} are checked`,
    remedy: 'Find Nodes that no longer exist: kubectl get nodes.',
  };
}
