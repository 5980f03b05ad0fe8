import { canonicalAddress, canonicalDnsName, isDnsName } from '../names.ts';
import { printable } from '../printable.ts';
import type { CountedRequest } from '../resources/signing-request.ts';
import { isIndependent } from '../tables/evidence-sources.ts';
import type { IssuedVerdict } from '../tables/issued-verdicts.ts';
import type { Reason } from '../tables/reasons.ts';
import { MINUTE_MS } from '../time.ts';
import type { Certificate } from '../x509/certificate.ts';
import type { CertificateRequest, GeneralName } from '../x509/certificate-request.ts';
import { type Evidence, isLive, type Owner, type Owners } from './evidence/evidence.ts';
import { nodeWithoutInstance } from './evidence/node-kinds.ts';
import { type ApprovalPolicy, DEFAULT_POLICY, type KeyPolicy, KUBELET_SERVING_SIGNER } from './policy.ts';
import type { ClusterContext } from './request.ts';
import { mayBeControlPlane, proveOwnership } from './rules/ownership.ts';
import { isEndpoint, reservedAddress, reservedDnsName } from './rules/reserved-names.ts';
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
  /** It is known from its request: whether any machine still uses it is not. */
  readonly ofRequest?: true;
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
  readonly why?: string | undefined;
  /** Names that are not proven. */
  readonly unproven?: readonly string[];
  /** Nothing tells who had its addresses when it was issued: they may have moved since. */
  readonly mayHaveMoved?: true | undefined;
  /** It is unknown because evidence could not be read. */
  readonly evidenceUnread?: true | undefined;
}

/** What an earlier audit said of the same certificate. */
export interface EarlierVerdict extends JudgedIssued {
  /** When it said so for the first time without a break, in milliseconds since the epoch. */
  readonly since: number;
  /** Every name in it was proven once. */
  readonly wasProven: boolean;
}

/** What is known of the machines behind the nodes, beside the names that they have now. */
export interface KnownMachines {
  /** When the machine that is a node now was made, in milliseconds since the epoch; undefined where that is not known. */
  bornAt(node: string): number | undefined;
  /** When the Machine of a node was made, where Cluster API has one. Milliseconds since the epoch. */
  madeAt(node: string): number | undefined;
  /**
   * Whether the audit before saw a canonical address at a node; undefined where that is no address, the node was not seen, or the audit was later than that.
   *
   * @param until milliseconds since the epoch
   */
  hadAddress(node: string, address: string, until: number): boolean | undefined;
}

/** What the certificates of one cluster are judged by. */
export interface IssuedGrounds {
  readonly cluster: ClusterContext;
  readonly evidence: Evidence;
  readonly policies: readonly ApprovalPolicy[];
  readonly machines: KnownMachines;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/**
 * A Machine gets its node and its addresses, and a moved address leaves its old owner, within minutes. A signer of Kubernetes dates back what it signs by five
 * minutes (kube-controller-manager, `pkg/controller/certificates/authority`). What could still be explained by that is not held against a certificate.
 */
export const SETTLED_MS = 20 * MINUTE_MS;

/** As long as requests are kept, and an audit more: no evidence of now is of another day. */
const JUST_NOW_MS = 120 * MINUTE_MS;

/** id-kp-serverAuth, id-kp-clientAuth and anyExtendedKeyUsage, RFC 5280 §4.2.1.12. */
const SERVER_AUTH = '1.3.6.1.5.5.7.3.1';
const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2';
const ANY_USAGE = '2.5.29.37.0';

/**
 * What a certificate says of the node that it was issued to, and what its signer should have refused. Pure.
 *
 * Source: `ValidateKubeletServingCSR` in kubernetes/pkg/apis/certificates.
 */
export function claimOf(certificate: Certificate, node: string): IssuedClaim {
  const { dnsNames, addresses, notBefore, key } = certificate;
  return { node, dnsNames, addresses, fault: faultOf(certificate, node), key, notBefore };
}

/**
 * What a request asks for that was approved and is not issued yet: its names. All else its signer refuses, or is judged when it is issued. Pure.
 *
 * @param createdAt milliseconds since the epoch
 */
export function claimOfApproved(
  { subjectAltNames }: CertificateRequest,
  { requester, ofNodes, createdAt }: Pick<CountedRequest, 'requester' | 'ofNodes' | 'createdAt'>,
): IssuedClaim {
  const own = requester.startsWith(NODE_PREFIX) ? requester.slice(NODE_PREFIX.length) : '';
  const named = (wanted: 'dNSName' | 'iPAddress') =>
    subjectAltNames.flatMap((name) => (name.kind === wanted ? [name.value] : []));
  const claim = {
    node: own,
    dnsNames: named('dNSName'),
    addresses: named('iPAddress'),
    notBefore: createdAt,
    ofRequest: true as const,
  };
  return ofNodes && own !== '' ? claim : { ...claim, fault: askedByNoNode(requester) };
}

/**
 * The same of what a request was issued. Who asked has the key: only the node itself may ask. Pure.
 *
 * @param isNode whether the requester is in the group of nodes too
 */
export function claimOfRequest(certificate: Certificate, requester: string, isNode: boolean): IssuedClaim {
  const own = requester.startsWith(NODE_PREFIX) ? requester.slice(NODE_PREFIX.length) : '';
  const claim = claimOf(certificate, own === '' ? (nodeOfCertificate(certificate) ?? '') : own);
  if (isNode && own !== '') return { ...claim, ofRequest: true };
  return { ...claim, fault: askedByNoNode(requester) };
}

function askedByNoNode(requester: string): IssuedFault {
  return { why: `${printable(requester, 253)} asked for it, and is no node`, isAnother: true };
}

/** The node that a serving certificate names; undefined when it names none. */
export function nodeOfCertificate({ commonName }: Pick<Certificate, 'commonName'>): string | undefined {
  const node = commonName?.startsWith(NODE_PREFIX) ? commonName.slice(NODE_PREFIX.length) : '';
  return node === '' ? undefined : node;
}

const another = (why: string): IssuedFault => ({ why, isAnother: true });
const strange = (why: string): IssuedFault => ({ why, isAnother: false });

function faultOf(certificate: Certificate, node: string): IssuedFault | undefined {
  const { commonName, dnsNames, addresses, organizations } = certificate;
  const usages = certificate.extendedKeyUsages ?? [ANY_USAGE];
  // An API server takes it from a client too, and then its subject is who that is.
  const isClient = usages.some((usage) => usage === CLIENT_AUTH || usage === ANY_USAGE);
  const subject = (why: string): IssuedFault =>
    isClient ? another(`${why}, and for client authentication`) : strange(why);
  if (certificate.isAuthority) return another('it is an authority: its holder can sign for any name');
  const named = nodeOfCertificate(certificate);
  if (named !== undefined && named !== node) return another(`it is for ${enumerate([`${NODE_PREFIX}${named}`])}`);
  const wild = dnsNames.filter((name) => name.includes('*'));
  if (wild.length > 0) return another(`it has the wildcard ${enumerate(wild)}`);
  if (organizations.length !== 1 || organizations[0] !== 'system:nodes')
    return subject(`it is of the organization ${enumerate(organizations)}, not of system:nodes alone`);
  if (named === undefined) return subject(`it is for ${enumerate(commonName === undefined ? [] : [commonName])}`);
  if (usages.some((usage) => usage !== SERVER_AUTH)) return strange('it is not for server authentication alone');
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
export function judgeIssued(given: IssuedClaim, grounds: IssuedGrounds, before?: EarlierVerdict): JudgedIssued {
  const claim = withoutOwnEndpoint(given, grounds);
  const { fault } = claim;
  const reserved = reservedNames(claim, grounds);
  const unproven = [...reserved.keys()];
  const worst = [fault, ...reserved.values()].find((one) => one?.isAnother === true);
  if (worst !== undefined) return { verdict: 'names-another', why: worst.why, unproven };
  const judged = judgeNames(claim, reserved, grounds, before);
  if (fault === undefined || judged.verdict === 'names-another') return judged;
  return { ...judged, verdict: 'not-proven', why: fault.why };
}

/** A machine of the control plane has the key of the API server: the names of the endpoint, which move from one to the next, give it nothing more. */
function withoutOwnEndpoint(claim: IssuedClaim, { cluster, evidence }: IssuedGrounds): IssuedClaim {
  const isControlPlane = evidence
    .ownersOf(claim.node)
    .owners.some((owner) => owner.controlPlane === true && isIndependent(owner) && isLive(owner));
  if (!isControlPlane) return claim;
  return {
    ...claim,
    dnsNames: claim.dnsNames.filter((name) => !isEndpoint(canonicalDnsName(name), cluster)),
    addresses: claim.addresses.filter((address) => !isEndpoint(canonicalAddress(address) ?? address, cluster)),
  };
}

function judgeNames(
  claim: IssuedClaim,
  reserved: ReadonlyMap<string, IssuedFault>,
  grounds: IssuedGrounds,
  before: EarlierVerdict | undefined,
): JudgedIssued {
  const { dnsNames, addresses, notBefore } = claim;
  const names: readonly GeneralName[] = [
    ...dnsNames.map((value) => ({ kind: 'dNSName' as const, value })),
    ...addresses.map((value) => ({ kind: 'iPAddress' as const, value })),
  ].filter(({ value }) => !reserved.has(value));
  const [taken] = reserved.values();
  const judged = servingPolicies(grounds).map(
    (policy): Failure | undefined =>
      failureOf(claim, names, policy, grounds) ??
      (taken === undefined ? undefined : { why: taken.why, kind: 'unproven', unproven: [] }),
  );
  if (judged.includes(undefined)) return { verdict: 'proven' };
  const failures = judged.filter((failure) => failure !== undefined);
  const having = (kind: Failure['kind']) => failures.find((failure) => failure.kind === kind);
  const unproven = [...(failures[0]?.unproven ?? []), ...reserved.keys()];
  const isSettled = grounds.now - notBefore >= SETTLED_MS;
  const neverTold = before === undefined || before.verdict === 'unknown';
  const unread = having('unread');
  const hasMoved = failures.some(({ kind, wasTheirs }) => kind === "another's address" && wasTheirs !== true);
  const mayHaveMoved =
    before?.mayHaveMoved ?? ((isSettled && (unread === undefined ? hasMoved : neverTold)) || undefined);
  const told = (verdict: IssuedVerdict, why = failures[0]?.why): JudgedIssued => ({
    verdict,
    why,
    unproven,
    mayHaveMoved,
  });

  // What could not be read might have proven it.
  if (unread !== undefined)
    return withoutEvidence(before === undefined ? told('unknown', unread.why) : told(before.verdict, before.why));
  if (before?.wasProven === true) return told('no-longer-proven');
  // A name does not move.
  if (claim.ofRequest === true && isOfEarlierMachine(claim, grounds.machines))
    return told('unknown', 'it was issued to a machine that was replaced since');
  const isAnother = failures.some(
    ({ kind, wasTheirs }) =>
      kind === "another's name" ||
      (kind === "another's address" && isSettled && wasTheirs === true && mayHaveMoved !== true) ||
      (kind === "another's address" && before?.verdict === 'names-another'),
  );
  if (isAnother) return told('names-another');
  if (having('untold') !== undefined) return told('unknown');
  const isPlain = having("another's address") !== undefined || having('foreign') !== undefined;
  return told(isSettled || isPlain ? 'not-proven' : 'unknown');
}

/** What was known before still holds; only what is unknown waits for evidence. */
function withoutEvidence(judged: JudgedIssued): JudgedIssued {
  return { ...judged, evidenceUnread: judged.verdict === 'unknown' ? true : undefined };
}

/** A machine that took the name of another has a key of its own. A Node tells nothing of that: it can be made anew while its machine stays. */
export function isOfEarlierMachine(
  { node, notBefore }: Pick<IssuedClaim, 'node' | 'notBefore'>,
  machines: KnownMachines,
): boolean {
  const madeAt = machines.madeAt(node);
  return madeAt !== undefined && madeAt - notBefore >= SETTLED_MS;
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
  before?: EarlierVerdict,
): JudgedIssued {
  const node = nodeOfCertificate(certificate) ?? meant;
  const judged = judgeIssued(claimOf(certificate, node), grounds, before);
  if (node === meant || (judged.verdict !== 'proven' && judged.verdict !== 'no-longer-proven')) return judged;
  // Who is at the address by now cannot be told.
  if (grounds.evidence.readings.some(({ ok }) => !ok))
    return withoutEvidence(before ?? { verdict: 'unknown', why: 'evidence could not be read' });
  const at = counting(grounds.evidence.holdersOf('ip', address));
  if (at.some(({ nodes }) => nodes.includes(node))) return judged;
  const why = shownElsewhere(node, meant);
  const isMeant = keyProven && at.some(({ nodes }) => nodes.includes(meant));
  // An address that was handed on a moment ago is listed late.
  const isLasting =
    before?.verdict === 'names-another' || (before?.why === why && grounds.now - before.since >= SETTLED_MS);
  return { verdict: isMeant && isLasting ? 'names-another' : 'unknown', why };
}

/** Why the certificate of one node says nothing where another one is meant. */
export function shownElsewhere(node: string, meant: string): string {
  return `it is of node ${printable(node, 253)}, and shown where ${printable(meant, 253)} should be`;
}

/** Why one policy does not prove a certificate. `untold`: nothing that it trusts can tell. `foreign`: no node asks for such a name in innocence. */
interface Failure {
  readonly why: string;
  readonly kind: "another's name" | "another's address" | 'foreign' | 'unproven' | 'untold' | 'unread';
  readonly unproven: readonly string[];
  /** Of an address: its owner of now had it when the certificate was issued, as far as anyone can tell. */
  readonly wasTheirs?: boolean;
}

function failureOf(
  { node, key, notBefore }: IssuedClaim,
  names: readonly GeneralName[],
  policy: ApprovalPolicy,
  grounds: IssuedGrounds,
): Failure | undefined {
  const { evidence, cluster } = grounds;
  const { proofs, failure } = proveOwnership(names, node, evidence, policy, cluster);
  const unproven = proofs.flatMap(({ proven, name }) => (proven ? [] : [name]));
  if (failure === undefined)
    return key === undefined || allowsKey(policy.keys, key)
      ? undefined
      : { kind: 'unproven', why: `its key is ${printable(key, 80)}, which the policy does not allow`, unproven };
  const why = failure.message;
  // Another source might contest what this one says is another's.
  const isUnread = evidence.readings.some(({ ok, source }) => !ok && policy.evidence.includes(source));
  if (isUnread || failure.reason === 'EvidenceUnreadable') return { kind: 'unread', why, unproven };
  const ofAnother = proofs.flatMap((proof) => ownerOf(proof, node, evidence) ?? []);
  const name = ofAnother.find(({ isItsName }) => isItsName);
  if (name !== undefined) return { kind: "another's name", why: belongsTo(name), unproven };
  const [first] = ofAnother;
  if (failure.hostile && first !== undefined) {
    const lasting = ofAnother.find((one) => hadIt(one, notBefore, grounds));
    return { kind: "another's address", why: belongsTo(lasting ?? first), unproven, wasTheirs: lasting !== undefined };
  }
  if (failure.hostile) return { kind: 'foreign', why, unproven };
  if (first !== undefined) return { kind: 'unproven', why: belongsTo(first), unproven };
  return { kind: canTell(node, policy, evidence, failure.reason) ? 'unproven' : 'untold', why, unproven };
}

interface NameOfAnother {
  readonly kind: NameProof['kind'];
  readonly canonical: string;
  readonly owner: Owner;
  /** A node is called so; else it is a name or address that it has for now. */
  readonly isItsName: boolean;
}

/** What says who has a name: live objects that no node writes. */
function counting({ owners }: Owners): readonly Owner[] {
  return owners.filter((owner) => isLive(owner) && isIndependent(owner));
}

/** Who has a name that the node has not. */
function ownerOf({ kind, name, proven }: NameProof, node: string, evidence: Evidence): NameOfAnother | undefined {
  if (proven) return undefined;
  const canonical = kind === 'dns' ? canonicalDnsName(name) : (canonicalAddress(name) ?? name);
  const called = kind === 'dns' ? counting(evidence.ownersOf(canonical)) : [];
  const having = counting(evidence.holdersOf(kind, canonical));
  if ([...called, ...having].some(({ nodes }) => nodes.includes(node))) return undefined;
  const owner = called[0] ?? having[0];
  return owner === undefined ? undefined : { kind, canonical, owner, isItsName: called.length > 0 };
}

function belongsTo({ kind, canonical, owner: { nodes, object } }: NameOfAnother): string {
  const label = kind === 'dns' ? 'DNS name' : 'IP';
  return `${label} ${printable(canonical, 253)} belongs to ${printable(nodes[0] ?? '', 253)} (${printable(object, 150)})`;
}

/** Its machine is older, and an audit saw the address there when the certificate was issued, or that was just now. */
function hadIt(
  { canonical, owner: { nodes } }: NameOfAnother,
  at: number,
  { machines, now }: Pick<IssuedGrounds, 'machines' | 'now'>,
): boolean {
  const isJustNow = now - at <= JUST_NOW_MS;
  return nodes.some((other) => {
    const bornAt = machines.bornAt(other);
    if (bornAt === undefined || bornAt > at) return false;
    return isJustNow
      ? machines.hadAddress(other, canonical, now) !== false
      : machines.hadAddress(other, canonical, at + SETTLED_MS) === true;
  });
}

/** Nothing was read that a policy trusts, a node of a kind that has no object, and what only the certificate before proved: that is no word against a certificate. */
function canTell(node: string, { evidence: trusted }: ApprovalPolicy, evidence: Evidence, reason: Reason): boolean {
  const { readings } = evidence;
  const isKnown = evidence.ownersOf(node).owners.some((owner) => isLive(owner) && trusted.includes(owner.source));
  if (trusted.includes('renewal') && !isKnown) return false;
  if (!readings.some(({ ok, source }) => ok && trusted.includes(source))) return false;
  return reason !== 'EvidenceMissing' || nodeWithoutInstance(node) === undefined;
}

/** The policies that a certificate of the cluster is judged by. Pure. */
export function servingPolicies({
  policies,
  cluster,
}: Pick<IssuedGrounds, 'policies' | 'cluster'>): readonly ApprovalPolicy[] {
  const own = policies.filter((policy) => policy.signers.includes(KUBELET_SERVING_SIGNER) && isFor(policy, cluster));
  return own.length === 0 ? [DEFAULT_POLICY] : own;
}

/** Names that no node may have, and why. */
function reservedNames(
  { node, dnsNames, addresses }: IssuedClaim,
  { cluster, evidence }: IssuedGrounds,
): ReadonlyMap<string, IssuedFault> {
  const mayBe = mayBeControlPlane(node, evidence);
  return new Map(
    [
      ...dnsNames.map((name) => ({ name, reserved: reservedDnsName(canonicalDnsName(name), cluster, mayBe) })),
      ...addresses.map((name) => ({ name, reserved: reservedAddress(name, cluster) })),
    ].flatMap(({ name, reserved }) =>
      reserved === undefined
        ? []
        : [
            [
              name,
              {
                why: `it has ${printable(name, 253)}, which is ${reserved.why}`,
                isAnother: reserved.hostile && !isOwnName(name, node, evidence),
              },
            ],
          ],
    ),
  );
}

/** What pods find the API server and Services by. */
const OF_THE_CLUSTER = /^kubernetes(?:\.default(?:\..*)?)?$|\.svc$|\.svc\.cluster\.local$/;

/** A machine may be called like a Service, in a domain of its own: no request of it is approved, and it takes no name from a Service. */
function isOwnName(name: string, node: string, evidence: Evidence): boolean {
  const canonical = canonicalDnsName(name);
  return (
    !OF_THE_CLUSTER.test(canonical) &&
    counting(evidence.holdersOf('dns', canonical)).some(({ nodes }) => nodes.includes(node))
  );
}

/** @param key as certificates have it: `P-256`, `RSA-2048`, `Ed25519`, `ML-DSA-65` */
function allowsKey({ ecdsaCurves, rsaMinBits, ed25519, mlDsa }: KeyPolicy, key: string): boolean {
  if (key.startsWith('RSA-')) return Number(key.slice('RSA-'.length)) >= rsaMinBits;
  if (key.startsWith('ML-DSA-')) return mlDsa;
  return key === 'Ed25519' ? ed25519 : ecdsaCurves.some((curve) => curve === key);
}
