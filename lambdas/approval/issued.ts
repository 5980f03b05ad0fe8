import { canonicalDnsName, isDnsName, readsAsAddress } from '../names.ts';
import { printable } from '../printable.ts';
import type { IssuedVerdict } from '../tables/issued-verdicts.ts';
import { verdictSentence } from '../words/verdict-words.ts';
import type { Certificate } from '../x509/certificate.ts';
import type { Evidence, Owner } from './evidence/evidence.ts';
import { nodeWithoutInstance } from './evidence/node-kinds.ts';
import { type ApprovalPolicy, DEFAULT_POLICY, type KeyPolicy, KUBELET_SERVING_SIGNER } from './policy.ts';
import type { ClusterContext } from './request.ts';
import { isWitness, mayBeControlPlane, type OwnershipResult, proveOwnership } from './rules/ownership.ts';
import { isEndpoint, reservedAddress, reservedDnsName } from './rules/reserved-names.ts';
import { enumerate, NODE_PREFIX } from './rules/rules.ts';
import { isFor } from './selection.ts';
import type { NameProof } from './verdict.ts';

/** What an issued kubelet serving certificate claims for its node. */
export interface IssuedClaim extends Pick<Certificate, 'dnsNames' | 'addresses' | 'key'> {
  /** The node that should have it. */
  readonly node: string;
  readonly fault?: Fault | undefined;
}

/** What is wrong with any owner of the names. */
interface Fault {
  /** For people: `it is a CA: …`. */
  readonly why: string;
  /** Its holder can pose as more than its own node. */
  readonly isAnother: boolean;
}

export interface JudgedIssued {
  readonly verdict: IssuedVerdict;
  /** For people; absent if every name is proven. */
  readonly why?: string | undefined;
  /** Each name, by the policy that proves most. */
  readonly names: readonly NameProof[];
  /** An address in it is another's: if the next audit sees that too, it names another. */
  readonly addressOfAnother?: true;
  readonly evidenceUnread?: true;
}

/** The verdict of the last audit on the same certificate. */
export type LastVerdict = Pick<JudgedIssued, 'verdict' | 'why' | 'addressOfAnother'>;

/** The grounds on which certificates of one cluster are judged. */
export interface IssuedGrounds {
  readonly cluster: ClusterContext;
  readonly evidence: Evidence;
  readonly policies: readonly ApprovalPolicy[];
  /** Names of the Nodes and Machines that exist. */
  readonly nodes: ReadonlySet<string>;
}

/** id-kp-serverAuth, id-kp-clientAuth and anyExtendedKeyUsage, RFC 5280 §4.2.1.12. */
const SERVER_AUTH = '1.3.6.1.5.5.7.3.1';
const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2';
const ANY_USAGE = '2.5.29.37.0';

/** The node of a user name or common name; empty if it names no node. */
export function nodeOf(identity = ''): string {
  return identity.startsWith(NODE_PREFIX) ? identity.slice(NODE_PREFIX.length) : '';
}

/**
 * The claim of the certificate of a request. The requester has the key, so only the node itself may ask. Pure.
 *
 * @param isNode whether the requester is in the group of nodes too
 */
export function claimOfRequest(certificate: Certificate, requester: string, isNode: boolean): IssuedClaim {
  const node = nodeOf(requester);
  const claim = claimOf(certificate, node);
  if (isNode && node !== '') return claim;
  return { ...claim, fault: another(`${printable(requester, 253)} asked for it, and is not a node`) };
}

function claimOf(certificate: Certificate, node: string): IssuedClaim {
  const { dnsNames, addresses, key } = certificate;
  return { node, dnsNames, addresses, key, fault: faultOf(certificate, node) };
}

const another = (why: string): Fault => ({ why, isAnother: true });
const strange = (why: string): Fault => ({ why, isAnother: false });

/** What its signer should have rejected. Source: `ValidateKubeletServingCSR` in kubernetes/pkg/apis/certificates. */
function faultOf(certificate: Certificate, node: string): Fault | undefined {
  const { commonName, dnsNames, addresses, organizations } = certificate;
  const usages = certificate.extendedKeyUsages ?? [ANY_USAGE];
  // An API server accepts it from a client too, and takes its subject as the identity.
  const isClient = usages.some((usage) => usage === CLIENT_AUTH || usage === ANY_USAGE);
  const subject = (why: string): Fault => (isClient ? another(`${why}, and for client authentication`) : strange(why));
  if (certificate.isAuthority) return another('it is a CA: its holder can sign for any name');
  const named = nodeOf(commonName);
  if (named !== '' && named !== node) return another(`it is for ${enumerate([`${NODE_PREFIX}${named}`])}`);
  const wild = dnsNames.filter((name) => name.includes('*'));
  if (wild.length > 0) return another(`it has the wildcard ${enumerate(wild)}`);
  if (organizations.length !== 1 || organizations[0] !== 'system:nodes')
    return subject(`it is of the organization ${enumerate(organizations)}, not of system:nodes alone`);
  if (named === '') return subject(`it is for ${enumerate(commonName === undefined ? [] : [commonName])}`);
  if (usages.some((usage) => usage !== SERVER_AUTH)) return strange('it is not for server authentication alone');
  if (certificate.otherNames) return strange('it has names that are neither DNS names nor addresses');
  const bad = dnsNames.filter((name) => !isDnsName(canonicalDnsName(name)));
  if (bad.length > 0) return strange(`it has a name that no Node can have: ${enumerate(bad)}`);
  if (dnsNames.length + addresses.length === 0) return strange('it has no name');
  const weak = certificate.weakKey ?? certificate.weakSignature;
  return weak === undefined ? undefined : strange(`it is weak: ${weak}`);
}

/**
 * Whether every name of a certificate belongs to its node now, by the rules for approving requests. An unread source
 * makes no verdict milder. Pure.
 */
export function judgeIssued(claim: IssuedClaim, grounds: IssuedGrounds, last?: LastVerdict): JudgedIssued {
  const { fault, node } = claim;
  const { proofs, failure } = bestProofs(claim, grounds);
  const doubts = proofs.map((proof) => doubtOf(proof, node, grounds));
  // No evidence proves a reserved name.
  const names = proofs.map((proof, index) =>
    doubts[index]?.isReserved === true ? { ...proof, proven: false } : proof,
  );
  const stranger = fault?.isAnother === true ? fault : doubts.find((doubt) => doubt?.of === 'name');
  if (stranger !== undefined) return { verdict: 'names-another', why: stranger.why, names };
  const address = doubts.find((doubt) => doubt?.of === 'address');
  if (address !== undefined) return { ...ofAddress(address.why, last), names };
  const why = fault?.why ?? doubts.find((doubt) => doubt !== undefined)?.why ?? failure?.why;
  if (why === undefined) return { verdict: 'proven', names };
  if (failure?.isUnread === true && (fault === undefined || last?.verdict === 'names-another'))
    return { ...withoutEvidence(why, last), names };
  return { verdict: fault === undefined && failure?.isUntold === true ? 'unknown' : 'not-proven', why, names };
}

/** Addresses move, and lists of them are late: only what two audits in a row see is held against a certificate. */
function ofAddress(why: string, last: LastVerdict | undefined): LastVerdict {
  const isSecond = last?.verdict === 'names-another' || last?.addressOfAnother === true;
  return isSecond ? { verdict: 'names-another', why } : { verdict: 'not-proven', why, addressOfAnother: true };
}

function withoutEvidence(why: string, last: LastVerdict | undefined): Omit<JudgedIssued, 'names'> {
  return last?.verdict === 'names-another' || last?.verdict === 'not-proven'
    ? { ...last, evidenceUnread: true }
    : { verdict: 'unknown', why, evidenceUnread: true };
}

/** Where a kubelet showed a certificate in a handshake. */
export interface ShownBy {
  /** The node that was dialled. */
  readonly node: string;
  readonly address: string;
  /** Whether the server proved that it has the private key. */
  readonly keyProven: boolean;
}

/**
 * {@link judgeIssued} for a certificate that a kubelet shows, judged for the node that it names. If that is not the
 * dialled one, either the address now belongs to that node, or the key is in the wrong place. Pure.
 */
export function judgeShown(
  certificate: Certificate,
  { node: dialled, address, keyProven }: ShownBy,
  grounds: IssuedGrounds,
  last?: LastVerdict,
): JudgedIssued {
  const node = nodeOf(certificate.commonName) || dialled;
  const judged = judgeIssued(claimOf(certificate, node), grounds, last);
  if (node === dialled || judged.verdict !== 'proven') return judged;
  const { owners } = grounds.evidence.holdersOf('ip', address);
  const isAt = (name: string) => owners.some((owner) => isWitness(owner) && owner.nodes.includes(name));
  if (isAt(node)) return judged;
  const { names } = judged;
  const why = `it belongs to node ${printable(node, 253)}, but is shown where ${printable(dialled, 253)} should be`;
  if (grounds.evidence.readings.some(({ ok }) => !ok)) return { ...withoutEvidence(why, last), names };
  return keyProven && isAt(dialled) ? { ...ofAddress(why, last), names } : { verdict: 'unknown', why, names };
}

interface Proved {
  readonly proofs: readonly NameProof[];
  readonly failure?: {
    readonly why: string;
    readonly isUnread: boolean;
    /** No source that the policy trusts can tell: the node is gone, not there yet, or of a kind without objects. */
    readonly isUntold: boolean;
  };
}

/** By a policy that proves all, else by the one that proves most. */
function bestProofs(claim: IssuedClaim, grounds: IssuedGrounds): Proved {
  const { node, dnsNames, addresses } = claim;
  const { cluster, evidence, policies } = grounds;
  const names = [
    ...dnsNames.map((value) => ({ kind: 'dNSName' as const, value, canonical: canonicalDnsName(value) })),
    ...addresses.map((value) => ({ kind: 'iPAddress' as const, value, canonical: value })),
  ];
  // A control plane machine has the key of the API server: the names of the endpoint give it nothing more.
  const isOwner = isControlPlane(node, evidence);
  const shared = names.filter(({ canonical }) => isOwner && isEndpoint(canonical, cluster));
  const others = names.filter((name) => !shared.includes(name));
  const endpoint = shared.map(({ kind, value }): NameProof => {
    return { kind: kind === 'dNSName' ? 'dns' : 'ip', name: printable(value, 253), proven: true };
  });
  const serving = policies.filter((one) => one.signers.includes(KUBELET_SERVING_SIGNER) && isFor(one, cluster));
  const all = (serving.length === 0 ? [DEFAULT_POLICY] : serving).map((policy): Proved => {
    const owned = proveOwnership(others, node, evidence, policy, cluster);
    return { proofs: [...endpoint, ...owned.proofs], failure: failureOf(claim, owned, policy, grounds) };
  });
  const { proofs, failure } = all.reduce((one, other) => (rankOf(other) > rankOf(one) ? other : one));
  const some = (what: 'isUnread' | 'isUntold') => all.some((one) => one.failure?.[what]);
  return { proofs, failure: failure && { ...failure, isUnread: some('isUnread'), isUntold: some('isUntold') } };
}

function rankOf({ proofs, failure }: Proved): number {
  return failure === undefined ? Number.POSITIVE_INFINITY : proofs.filter(({ proven }) => proven).length;
}

function failureOf(
  { node, key }: IssuedClaim,
  { proofs, failure }: OwnershipResult,
  policy: ApprovalPolicy,
  { evidence, nodes }: IssuedGrounds,
): Proved['failure'] {
  if (failure === undefined) {
    if (allowsKey(policy.keys, key)) return undefined;
    return { why: `its key is ${key}, which the policy does not allow`, isUnread: false, isUntold: false };
  }
  const readings = evidence.readings.filter(({ source }) => policy.evidence.includes(source));
  const isMissing = failure.reason === 'EvidenceMissing' && proofs.every(({ ownedBy }) => ownedBy === undefined);
  const hasNone = !nodes.has(node) || nodeWithoutInstance(node) !== undefined;
  return {
    why: verdictSentence(failure.facts),
    isUnread: failure.reason === 'EvidenceUnreadable' || readings.some(({ ok }) => !ok),
    isUntold: (isMissing && hasNone) || readings.every(({ ok }) => !ok),
  };
}

interface Doubt {
  readonly why: string;
  /** What it takes from another: a name that stays, or one that moves as addresses do. */
  readonly of?: 'name' | 'address' | undefined;
  readonly isReserved?: true;
}

/** Why a name is not the node's, whatever a policy proves. */
function doubtOf({ kind, name }: NameProof, node: string, { cluster, evidence }: IssuedGrounds): Doubt | undefined {
  const canonical = kind === 'dns' ? canonicalDnsName(name) : name;
  const isOwner = isControlPlane(node, evidence);
  const holders = evidence.holdersOf(kind, canonical).owners.filter(isWitness);
  const isOwn = kind === 'dns' && holders.some(({ nodes }) => nodes.includes(node));
  const mayBe = mayBeControlPlane(node, evidence);
  const reserved = kind === 'dns' ? reservedDnsName(canonical, cluster, mayBe) : reservedAddress(canonical, cluster);
  if (reserved !== undefined) {
    const ofEndpoint = isEndpoint(canonical, cluster);
    if (ofEndpoint && isOwner) return undefined;
    // A machine may have a name like that of a Service, in its own domain.
    const isAnother = reserved.hostile || (reserved.isOfCluster && !isOwn) || (ofEndpoint && !mayBe);
    const of = kind === 'dns' ? ('name' as const) : ('address' as const);
    return { why: `it has ${name}, which is ${reserved.why}`, of: isAnother ? of : undefined, isReserved: true };
  }
  const isRival = ({ nodes }: Owner) => nodes.length > 0 && !nodes.includes(node);
  const belongsTo = ({ nodes: [other], object }: Owner) =>
    `${kind === 'dns' ? 'DNS name' : 'IP'} ${name} belongs to ${printable(other ?? '', 253)} (${printable(object, 150)})`;
  const called = kind === 'dns' && !readsAsAddress(canonical) ? evidence.ownersOf(canonical).owners : [];
  const namesake = called.filter(isWitness).find(isRival);
  if (namesake !== undefined) return { why: belongsTo(namesake), of: 'name' };
  // Guests may share a hostname, and one that no object names may have another than its instance.
  if (isOwn || !evidence.ownersOf(node).owners.some(isWitness)) return undefined;
  // An endpoint known only by its name moves between control plane machines.
  const rival = holders.find((owner) => isRival(owner) && !(isOwner && owner.controlPlane === true));
  return rival && { why: belongsTo(rival), of: 'address' };
}

function isControlPlane(node: string, evidence: Evidence): boolean {
  return evidence.ownersOf(node).owners.some((owner) => owner.controlPlane === true && isWitness(owner));
}

/** @param key as certificates have it: `P-256`, `RSA-2048`, `Ed25519`, `ML-DSA-65` */
function allowsKey({ ecdsaCurves, rsaMinBits, ed25519, mlDsa }: KeyPolicy, key: string): boolean {
  if (key.startsWith('RSA-')) return Number(key.slice('RSA-'.length)) >= rsaMinBits;
  if (key.startsWith('ML-DSA-')) return mlDsa;
  return key === 'Ed25519' ? ed25519 : ecdsaCurves.some((curve) => curve === key);
}
