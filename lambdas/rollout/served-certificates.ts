import type { AddressRule } from '../allowed-addresses.ts';
import { printable } from '../printable.ts';
import type { HandshakeFailureKind, HandshakeResult } from '../tls/handshake.ts';
import type { handshakes } from '../tls/handshakes.ts';
import { type Certificate, readable } from '../x509/certificate.ts';
import { leadsTo } from '../x509/issued-by.ts';
import type { ObservedMachine, Served } from './observed.ts';

/** A machine may have addresses that are unreachable from here. */
const MAX_ADDRESSES = 3;

export interface Serving {
  readonly port: number;
  /**
   * The server must prove that it has the private key. A server that demands a client certificate may end the handshake
   * before that.
   */
  readonly proof: boolean;
  /**
   * CAs of the cluster: a server with a certificate of another issuer is not the machine. If unknown, all machines must
   * agree on the issuer. Empty if unreadable: then no server is accepted.
   */
  readonly authorities: readonly Certificate[] | undefined;
  readonly addresses: AddressRule;
  readonly signal: AbortSignal;
}

/** Certificates of the machines, and the CAs that they send. */
export interface ServedCertificates {
  readonly machines: readonly ObservedMachine[];
  readonly authorities: readonly Certificate[];
}

/** Default of the kubelet's `port`. */
const KUBELET_PORT = 10_250;

/**
 * Connects by TLS to each machine, to its `etcdPorts` and to its kubelet, each at its first address that answers.
 *
 * @param shake undefined if the machines are unreachable: `served` then stays `none`
 */
export async function servedCertificates(
  machines: readonly ObservedMachine[],
  shake: typeof handshakes | undefined,
  serving: Serving,
): Promise<ServedCertificates> {
  if (shake === undefined) return { machines, authorities: [] };
  const ports = new Set(machines.flatMap(({ etcdPorts }) => etcdPorts.map(({ port }) => port)));
  // The CA of stacked etcd is in a Secret with its key.
  const ofEtcd = { ...serving, proof: false, authorities: serving.proof ? undefined : serving.authorities };
  const withKubelet = machines.filter(({ kubelet }) => kubelet !== undefined);
  const [main, kubelets, ...etcd] = await Promise.all([
    servedAt(machines, shake, serving),
    servedAt(withKubelet, shake, { ...serving, port: KUBELET_PORT }),
    ...[...ports].map(async (port) => ({ port, ...(await servedAt(machines, shake, { ...ofEtcd, port })) })),
  ]);
  return {
    machines: machines.map((machine) => ({
      ...machine,
      served: main.served(machine),
      etcdPorts: etcd.map(({ port, served }) => ({ port, served: served(machine) })),
      kubelet: machine.kubelet && kubelets.served(machine),
    })),
    authorities: main.authorities,
  };
}

async function servedAt(
  machines: readonly ObservedMachine[],
  shake: typeof handshakes,
  { port, proof, authorities: trusted, addresses, signal }: Serving,
) {
  const seen = new Map<ObservedMachine, Served>();
  const issuers = new Set<string>();
  const authorities: Certificate[] = [];
  for (let turn = 0; turn < MAX_ADDRESSES; turn += 1) {
    const asked = machines.flatMap((machine) => {
      const host = machine.addresses[turn];
      return host === undefined || seen.get(machine)?.kind === 'certificate' ? [] : [{ machine, host }];
    });
    const results = await shake(
      asked.map(({ host }) => ({ host, port })),
      { addresses, signal },
    );
    for (const [index, { machine, host }] of asked.entries()) {
      const result = results[index];
      if (result === undefined) continue;
      const { served, issuer, sent = [] } = servedOf(result, host, proof, trusted);
      if (served.kind === 'certificate' || !seen.has(machine)) seen.set(machine, served);
      if (issuer !== undefined) issuers.add(issuer);
      authorities.push(...sent);
    }
  }
  // Which of them is the impostor is unknown.
  const agreed = trusted !== undefined || issuers.size <= 1;
  const served = (machine: ObservedMachine): Served => {
    const shown = seen.get(machine) ?? UNADDRESSED;
    return agreed || shown.kind !== 'certificate' ? shown : disagreeing(shown.address);
  };
  return { served, authorities: agreed ? authorities : [] };
}

interface Shown {
  readonly served: Served;
  /** The issuer according to the certificate: its name and key identifier. */
  readonly issuer?: string;
  /** CAs. */
  readonly sent?: readonly Certificate[];
}

const ANSWERED: ReadonlySet<HandshakeFailureKind> = new Set(['not-tls', 'old-tls', 'no-certificate', 'too-large']);

function servedOf(
  result: HandshakeResult,
  address: string,
  proof: boolean,
  trusted: readonly Certificate[] | undefined,
): Shown {
  const failed = (problem: string, remedy: string, foreign?: true): Shown => ({
    served: { kind: 'failed', address, problem, remedy, answered: true, foreign },
  });
  if (!result.ok) {
    const { kind, message: problem, remedy } = result.failure;
    return { served: { kind: 'failed', address, problem, remedy, answered: ANSWERED.has(kind) || undefined } };
  }
  const [leaf, ...others] = result.chain;
  if (leaf?.ok !== true) {
    const why = leaf === undefined ? '' : `: ${leaf.problem}`;
    return failed(`its certificate cannot be read${why}`, 'Find out what answers there.');
  }
  if (proof && result.keyProven !== true)
    return failed(
      'it shows a certificate, but did not prove that it has its key',
      'Find out what answers there: the handshake was not finished.',
    );
  const { certificate } = leaf;
  const sent = readable(others);
  const known = trusted === undefined ? !certificate.selfIssued : leadsTo(certificate, sent, trusted) === true;
  if (!known) return failed(...unknownIssuer(certificate, trusted), trusted?.length === 0 ? undefined : true);
  const { notBefore, notAfter, fingerprint, issuer, authorityKeyId = '' } = certificate;
  return {
    served: { kind: 'certificate', address, notBefore, notAfter, fingerprint },
    issuer: `${issuer}\n${authorityKeyId}`,
    sent: sent.filter(({ isAuthority }) => isAuthority),
  };
}

function unknownIssuer({ issuer }: Certificate, trusted: readonly Certificate[] | undefined): [string, string] {
  if (trusted?.length === 0)
    return [
      'no CA of the cluster could be read, so it is not known whether the machine answers there',
      'See what the report says about the CAs of the cluster, and fix that first.',
    ];
  return [
    `its certificate is not issued by a CA of the cluster; it says ${printable(issuer, 200)} issued it`,
    'Find out who answers at this address: another machine may have it. If it is the right machine, give the kubeconfig of the cluster itself, with its CA in certificate-authority-data.',
  ];
}

function disagreeing(address: string): Served {
  return {
    kind: 'failed',
    address,
    answered: true,
    problem: 'the machines show certificates of several CAs, so one of them may not be the machine',
    remedy:
      'Find out who answers at the address of each machine. If the CA of the cluster is known, it decides: give the kubeconfig of the cluster too.',
  };
}

const UNADDRESSED: Served = {
  kind: 'failed',
  problem: 'the Machine has no address',
  remedy: 'It is checked again the next time; see what its infrastructure provider says.',
};
