import { canonicalDnsName, isDnsName } from '../names.ts';
import { printable } from '../printable.ts';
import { isIndependent } from '../tables/evidence-sources.ts';
import type { IssuedVerdict } from '../tables/issued-verdicts.ts';
import type { Reason } from '../tables/reasons.ts';
import { MINUTE_MS } from '../time.ts';
import type { Certificate } from '../x509/certificate.ts';
import type { GeneralName } from '../x509/certificate-request.ts';
import { type Evidence, isLive } from './evidence/evidence.ts';
import { nodeWithoutInstance } from './evidence/node-kinds.ts';
import { type ApprovalPolicy, DEFAULT_POLICY, type KeyPolicy, KUBELET_SERVING_SIGNER } from './policy.ts';
import type { ClusterContext } from './request.ts';
import { mayBeControlPlane, proveOwnership } from './rules/ownership.ts';
import { reservedAddress, reservedDnsName } from './rules/reserved-names.ts';
import { enumerate, NODE_PREFIX } from './rules/rules.ts';
import { isFor } from './selection.ts';
import type { NameProof } from './verdict.ts';

/** A kubelet serving certificate that was issued, as far as it is judged. */
export interface IssuedClaim {
  /** Whose it should be. */
  readonly node: string;
  readonly dnsNames: readonly string[];
  readonly addresses: readonly string[];
  /** What no evidence makes right. */
  readonly fault?: IssuedFault | undefined;
  /** As {@link Certificate} has it; absent where only its names are known. */
  readonly key?: string | undefined;
  /** Milliseconds since the epoch. */
  readonly notBefore: number;
}

export interface IssuedFault {
  /** For people: `it is an authority`. */
  readonly why: string;
  /** Its holder can answer for more than its own node. */
  readonly isAnother: boolean;
}

export interface JudgedIssued {
  readonly verdict: IssuedVerdict;
  /** For people; absent where every name is proven. */
  readonly why?: string;
}

/** What the certificates of one cluster are judged by. */
export interface IssuedGrounds {
  readonly cluster: ClusterContext;
  readonly evidence: Evidence;
  readonly policies: readonly ApprovalPolicy[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/**
 * A Machine gets its node and its addresses, and a moved address leaves its old owner, within minutes. A signer of Kubernetes dates back what it signs by five
 * minutes (kube-controller-manager, `pkg/controller/certificates/authority`). What could still be explained by that is not held against a certificate.
 */
const SETTLED_MS = 20 * MINUTE_MS;

/** id-kp-serverAuth, RFC 5280 §4.2.1.12. */
const SERVER_AUTH = '1.3.6.1.5.5.7.3.1';

/**
 * What a certificate says of the node that it was issued to, and what its signer should have refused. Pure.
 *
 * Source: `ValidateKubeletServingCSR` in kubernetes/pkg/apis/certificates.
 */
export function claimOf(certificate: Certificate, node: string): IssuedClaim {
  const { dnsNames, addresses, notBefore, key } = certificate;
  return { node, dnsNames, addresses, fault: faultOf(certificate, node), key, notBefore };
}

/** The same of what a request was issued. Who asked has the key: only the node itself may ask. Pure. */
export function claimOfRequest(certificate: Certificate, requester: string): IssuedClaim {
  const isNode = requester.startsWith(NODE_PREFIX);
  const node = isNode ? requester.slice(NODE_PREFIX.length) : (nodeOfCertificate(certificate) ?? '');
  const claim = claimOf(certificate, node);
  if (isNode) return claim;
  return { ...claim, fault: { why: `${printable(requester, 253)} asked for it, and is no node`, isAnother: true } };
}

/** The node that a serving certificate names; undefined when it names none. */
export function nodeOfCertificate({ commonName }: Certificate): string | undefined {
  return commonName?.startsWith(NODE_PREFIX) ? commonName.slice(NODE_PREFIX.length) : undefined;
}

const another = (why: string): IssuedFault => ({ why, isAnother: true });
const strange = (why: string): IssuedFault => ({ why, isAnother: false });

function faultOf(certificate: Certificate, node: string): IssuedFault | undefined {
  const { commonName, dnsNames, addresses, organizations } = certificate;
  if (certificate.isAuthority) return another('it is an authority: its holder can sign for any name');
  if (organizations.length !== 1 || organizations[0] !== 'system:nodes')
    return another(`it is of the organization ${enumerate(organizations)}, not of system:nodes alone`);
  if (commonName !== `${NODE_PREFIX}${node}`)
    return another(`it is for ${enumerate(commonName === undefined ? [] : [commonName])}`);
  const wild = dnsNames.filter((name) => name.includes('*'));
  if (wild.length > 0) return another(`it has the wildcard ${enumerate(wild)}`);
  const usages = certificate.extendedKeyUsages ?? [];
  if (usages.length === 0 || usages.some((usage) => usage !== SERVER_AUTH))
    return strange('it is not for server authentication alone');
  if (certificate.otherNames) return strange('it has names that are neither DNS names nor addresses');
  const bad = dnsNames.filter((name) => !isDnsName(canonicalDnsName(name)));
  if (bad.length > 0) return strange(`it has a name that no Node can have: ${enumerate(bad)}`);
  if (dnsNames.length + addresses.length === 0) return strange('it has no name');
  const weak = certificate.weakKey ?? certificate.weakSignature;
  return weak === undefined ? undefined : strange(`it is weak: ${weak}`);
}

/**
 * Whether every name of a certificate belongs to its node, by the rules that requests are approved by. A certificate that was proven once is never held against
 * its node; evidence that cannot be read changes no verdict. Pure.
 *
 * @param before what was said of the same certificate the last time
 */
export function judgeIssued(claim: IssuedClaim, grounds: IssuedGrounds, before?: JudgedIssued): JudgedIssued {
  const { dnsNames, addresses, fault, notBefore } = claim;
  const { cluster, evidence, now } = grounds;
  if (fault !== undefined) return { verdict: fault.isAnother ? 'names-another' : 'not-proven', why: fault.why };

  const taken = reservedOf(claim, cluster, evidence);
  if (taken?.isAnother === true) return { verdict: 'names-another', why: taken.why };

  const names: readonly GeneralName[] = [
    ...dnsNames.map((value) => ({ kind: 'dNSName' as const, value })),
    ...addresses.map((value) => ({ kind: 'iPAddress' as const, value })),
  ];
  const judged = selected(grounds).map((policy): Failure | undefined =>
    taken === undefined ? failureOf(claim, names, policy, grounds) : { why: taken.why, kind: 'unproven' },
  );
  if (judged.includes(undefined)) return { verdict: 'proven' };
  const failures = judged.filter((failure) => failure !== undefined);
  const having = (kind: Failure['kind']) => failures.find((failure) => failure.kind === kind);

  // What could not be read might have proven it.
  const unread = having('unread');
  if (unread !== undefined) return before ?? { verdict: 'unknown', why: unread.why };
  const why = failures[0]?.why ?? '';
  if (before?.verdict === 'proven' || before?.verdict === 'no-longer-proven')
    return { verdict: 'no-longer-proven', why };
  const isSettled = now - notBefore >= SETTLED_MS;
  // A name does not move; an address does.
  const isAnother = failures.every(
    ({ kind }) => kind === "another's name" || (kind === "another's address" && isSettled),
  );
  if (isAnother) return { verdict: 'names-another', why };
  if (having('untold') !== undefined) return { verdict: 'unknown', why };
  return { verdict: isSettled || having("another's address") !== undefined ? 'not-proven' : 'unknown', why };
}

/** Where a kubelet showed a certificate in a handshake. */
export interface ShownBy {
  /** The node that was meant. */
  readonly node: string;
  readonly address: string;
  /** Whether the server has its private key. */
  readonly keyProven: boolean;
}

/**
 * The same for a certificate that a kubelet shows: it is judged for the node that it names. Where that is another one than was meant, either the address is that
 * node's by now, or its key is where it does not belong. Pure.
 */
export function judgeShown(
  certificate: Certificate,
  { node: meant, address, keyProven }: ShownBy,
  grounds: IssuedGrounds,
  before?: JudgedIssued,
): JudgedIssued {
  const node = nodeOfCertificate(certificate) ?? meant;
  const judged = judgeIssued(claimOf(certificate, node), grounds, before);
  if (node === meant || judged.verdict !== 'proven') return judged;
  const at = grounds.evidence.holdersOf('ip', address).owners.filter((owner) => isLive(owner) && isIndependent(owner));
  if (at.some(({ nodes }) => nodes.includes(node))) return judged;
  const why = `it is of node ${printable(node, 253)}, and shown where ${printable(meant, 253)} should be`;
  const isMeant = keyProven && at.some(({ nodes }) => nodes.includes(meant));
  return isMeant
    ? { verdict: 'names-another', why: `${why}, by a server that has its key` }
    : { verdict: 'unknown', why };
}

/** Why one policy does not prove a certificate. `untold`: nothing that it trusts can tell. */
interface Failure {
  readonly why: string;
  readonly kind: "another's name" | "another's address" | 'unproven' | 'untold' | 'unread';
}

function failureOf(
  { node, key }: IssuedClaim,
  names: readonly GeneralName[],
  policy: ApprovalPolicy,
  { evidence, cluster }: IssuedGrounds,
): Failure | undefined {
  const { proofs, failure } = proveOwnership(names, node, evidence, policy, cluster);
  if (failure === undefined)
    return key === undefined || allowsKey(policy.keys, key)
      ? undefined
      : { kind: 'unproven', why: `its key is ${printable(key, 80)}, which the policy does not allow` };
  const why = failure.message;
  if (failure.reason === 'EvidenceUnreadable') return { kind: 'unread', why };
  if (failure.hostile) return { kind: proofs.some(isAnothersName) ? "another's name" : "another's address", why };
  return { kind: canTell(node, policy, evidence, failure.reason) ? 'unproven' : 'untold', why };
}

function isAnothersName({ kind, proven, ownedBy }: NameProof): boolean {
  return kind === 'dns' && !proven && ownedBy !== undefined;
}

/** Nothing was read that a policy trusts, a node of a kind that has no object, and what only the certificate before proved: that is no word against a certificate. */
function canTell(node: string, { evidence: trusted }: ApprovalPolicy, { readings }: Evidence, reason: Reason): boolean {
  if (trusted.includes('renewal')) return false;
  if (!readings.some(({ ok, source }) => ok && trusted.includes(source))) return false;
  return reason !== 'EvidenceMissing' || nodeWithoutInstance(node) === undefined;
}

function selected({ policies, cluster }: IssuedGrounds): readonly ApprovalPolicy[] {
  const own = policies.filter((policy) => policy.signers.includes(KUBELET_SERVING_SIGNER) && isFor(policy, cluster));
  return own.length === 0 ? [DEFAULT_POLICY] : own;
}

/** A name that no node may have; the worst one. */
function reservedOf(
  { node, dnsNames, addresses }: IssuedClaim,
  cluster: ClusterContext,
  evidence: Evidence,
): IssuedFault | undefined {
  const mayBe = mayBeControlPlane(node, evidence);
  const taken = [
    ...dnsNames.map((name) => ({ name, reserved: reservedDnsName(canonicalDnsName(name), cluster, mayBe) })),
    ...addresses.map((name) => ({ name, reserved: reservedAddress(name, cluster) })),
  ].flatMap(({ name, reserved }) =>
    reserved === undefined
      ? []
      : [{ why: `it has ${printable(name, 253)}, which is ${reserved.why}`, isAnother: reserved.hostile }],
  );
  return taken.find(({ isAnother }) => isAnother) ?? taken[0];
}

/** @param key as certificates have it: `P-256`, `RSA-2048`, `Ed25519`, `ML-DSA-65` */
function allowsKey({ ecdsaCurves, rsaMinBits, ed25519, mlDsa }: KeyPolicy, key: string): boolean {
  if (key.startsWith('RSA-')) return Number(key.slice('RSA-'.length)) >= rsaMinBits;
  if (key.startsWith('ML-DSA-')) return mlDsa;
  return key === 'Ed25519' ? ed25519 : ecdsaCurves.some((curve) => curve === key);
}
