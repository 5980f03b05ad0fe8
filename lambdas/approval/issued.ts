import { canonicalDnsName, isDnsName } from '../names.ts';
import { printable } from '../printable.ts';
import type { CountedRequest } from '../resources/signing-request.ts';
import type { IssuedVerdict } from '../tables/issued-verdicts.ts';
import type { Reason } from '../tables/reasons.ts';
import { MINUTE_MS } from '../time.ts';
import { verdictSentence } from '../words/verdict-words.ts';
import type { Certificate } from '../x509/certificate.ts';
import type { CertificateRequest, GeneralName } from '../x509/certificate-request.ts';
import type { Evidence, Owner, Owners } from './evidence/evidence.ts';
import { nodeWithoutInstance } from './evidence/node-kinds.ts';
import { type ApprovalPolicy, DEFAULT_POLICY, type KeyPolicy, KUBELET_SERVING_SIGNER } from './policy.ts';
import type { ClusterContext } from './request.ts';
import { isWitness, mayBeControlPlane, proveOwnership } from './rules/ownership.ts';
import { isEndpoint, reservedAddress, reservedDnsName } from './rules/reserved-names.ts';
import { enumerate, NODE_PREFIX } from './rules/rules.ts';
import { isFor } from './selection.ts';
import type { NameProof } from './verdict.ts';

/** What is judged of an issued kubelet serving certificate. */
export interface IssuedClaim {
  /** The node that should have it. */
  readonly node: string;
  readonly dnsNames: readonly string[];
  /** Canonical. */
  readonly addresses: readonly string[];
  /** A fault that no evidence outweighs. */
  readonly fault?: IssuedFault | undefined;
  /** As in {@link Certificate}; absent if only its names are known. */
  readonly key?: string | undefined;
  /** Milliseconds since the epoch. */
  readonly notBefore: number;
  /** Known only from its request: whether a machine still uses it is unknown. */
  readonly ofRequest?: true;
}

export interface IssuedFault {
  /** For people: `it is a CA: …`. */
  readonly why: string;
  /** Its holder can pose as more than its own node. */
  readonly isAnother: boolean;
}

export interface JudgedIssued {
  readonly verdict: IssuedVerdict;
  /** For people; absent if every name is proven. */
  readonly why?: string | undefined;
  /** Names that are not proven. */
  readonly unproven?: readonly string[];
  /** The owner of its addresses at issuance is unknown: they may have moved since. */
  readonly mayHaveMoved?: true | undefined;
  /** It is unknown because evidence could not be read. */
  readonly evidenceUnread?: true | undefined;
}

/** The verdict of an earlier audit on the same certificate. */
export interface EarlierVerdict extends JudgedIssued {
  /** Since when every audit has said so. Milliseconds since the epoch. */
  readonly since: number;
  /** Every name in it was once proven. */
  readonly wasProven: boolean;
}

/** The history of the machines behind the nodes. */
export interface KnownMachines {
  /** When the current machine of a node was created. Milliseconds since the epoch; undefined if unknown. */
  bornAt(node: string): number | undefined;
  /** When the Machine of a node was created, if Cluster API has one. Milliseconds since the epoch. */
  madeAt(node: string): number | undefined;
  /**
   * Whether the previous audit saw a canonical address at a node; undefined if it is not an address, the node was not
   * seen, or that audit was later than `until`.
   *
   * @param until milliseconds since the epoch
   */
  hadAddress(node: string, address: string, until: number): boolean | undefined;
}

/** The grounds on which certificates of one cluster are judged. */
export interface IssuedGrounds {
  readonly cluster: ClusterContext;
  readonly evidence: Evidence;
  readonly policies: readonly ApprovalPolicy[];
  readonly machines: KnownMachines;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/**
 * A Machine gets its node and its addresses, and a moved address leaves its old owner, within minutes. A signer of
 * Kubernetes backdates certificates by five minutes (kube-controller-manager, `pkg/controller/certificates/authority`).
 * Nothing that this could explain is held against a certificate.
 */
const SETTLED_MS = 20 * MINUTE_MS;

/** Longer than approved requests are kept plus one audit: evidence read now still describes the time of issuance. */
const JUST_NOW_MS = 120 * MINUTE_MS;

/** id-kp-serverAuth, id-kp-clientAuth and anyExtendedKeyUsage, RFC 5280 §4.2.1.12. */
const SERVER_AUTH = '1.3.6.1.5.5.7.3.1';
const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2';
const ANY_USAGE = '2.5.29.37.0';

/**
 * What a certificate claims about its node, and what its signer should have rejected. Pure.
 *
 * Source: `ValidateKubeletServingCSR` in kubernetes/pkg/apis/certificates.
 */
export function claimOf(certificate: Certificate, node: string): IssuedClaim {
  const { dnsNames, addresses, notBefore, key } = certificate;
  return { node, dnsNames, addresses, fault: faultOf(certificate, node), key, notBefore };
}

/**
 * The names in a request that is approved and not issued yet. Its signer rejects other faults, or they are judged when
 * it is issued. Pure.
 *
 * @param createdAt milliseconds since the epoch
 */
export function claimOfApproved(
  { subjectAltNames }: CertificateRequest,
  { requester, ofNodes, createdAt }: Pick<CountedRequest, 'requester' | 'ofNodes' | 'createdAt'>,
): IssuedClaim {
  const named = (wanted: 'dNSName' | 'iPAddress') =>
    subjectAltNames.flatMap((name) => (name.kind === wanted ? [name.value] : []));
  return {
    node: nodeOf(requester),
    dnsNames: named('dNSName'),
    addresses: named('iPAddress'),
    notBefore: createdAt,
    ...askedBy(requester, ofNodes),
  };
}

/**
 * {@link claimOf} for the certificate of a request. The requester has the key, so only the node itself may ask. Pure.
 *
 * @param isNode whether the requester is in the group of nodes too
 */
export function claimOfRequest(certificate: Certificate, requester: string, isNode: boolean): IssuedClaim {
  return { ...claimOf(certificate, nodeOf(requester)), ...askedBy(requester, isNode) };
}

function askedBy(requester: string, isNode: boolean): Pick<IssuedClaim, 'ofRequest' | 'fault'> {
  if (isNode && nodeOf(requester) !== '') return { ofRequest: true };
  return { fault: another(`${printable(requester, 253)} asked for it, and is not a node`) };
}

/** The node that a serving certificate names; undefined if it names none. */
export function nodeOfCertificate({ commonName }: Pick<Certificate, 'commonName'>): string | undefined {
  return nodeOf(commonName) || undefined;
}

/** The node of a user name or common name; empty if it names no node. */
export function nodeOf(identity = ''): string {
  return identity.startsWith(NODE_PREFIX) ? identity.slice(NODE_PREFIX.length) : '';
}

const another = (why: string): IssuedFault => ({ why, isAnother: true });
const strange = (why: string): IssuedFault => ({ why, isAnother: false });

function faultOf(certificate: Certificate, node: string): IssuedFault | undefined {
  const { commonName, dnsNames, addresses, organizations } = certificate;
  const usages = certificate.extendedKeyUsages ?? [ANY_USAGE];
  // An API server accepts it from a client too, and takes its subject as the identity.
  const isClient = usages.some((usage) => usage === CLIENT_AUTH || usage === ANY_USAGE);
  const subject = (why: string): IssuedFault =>
    isClient ? another(`${why}, and for client authentication`) : strange(why);
  if (certificate.isAuthority) return another('it is a CA: its holder can sign for any name');
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
 * Whether every name of a certificate belongs to its node, by the rules for approving requests. A certificate that was
 * once proven is never held against its node; unreadable evidence changes no verdict. Pure.
 *
 * @param before the previous verdict on the same certificate
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

/**
 * A control plane machine has the key of the API server: the names of the endpoint, which move between such machines,
 * give it nothing more.
 */
function withoutOwnEndpoint(claim: IssuedClaim, { cluster, evidence }: IssuedGrounds): IssuedClaim {
  const isControlPlane = evidence
    .ownersOf(claim.node)
    .owners.some((owner) => owner.controlPlane === true && isWitness(owner));
  if (!isControlPlane) return claim;
  return {
    ...claim,
    dnsNames: claim.dnsNames.filter((name) => !isEndpoint(canonicalDnsName(name), cluster)),
    addresses: claim.addresses.filter((address) => !isEndpoint(address, cluster)),
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
  const failures: Failure[] = [];
  for (const policy of servingPolicies(grounds)) {
    const failure =
      failureOf(claim, names, policy, grounds) ?? (taken && { why: taken.why, kind: 'unproven', unproven: [] });
    if (failure === undefined) return { verdict: 'proven' };
    failures.push(failure);
  }
  const first = failures[0]!;
  const having = (kind: Failure['kind']) => failures.find((failure) => failure.kind === kind);
  const unproven = [...first.unproven, ...reserved.keys()];
  const isSettled = grounds.now - notBefore >= SETTLED_MS;
  const neverTold = before === undefined || before.verdict === 'unknown';
  const unread = having('unread');
  const hasMoved = failures.some(({ kind, wasTheirs }) => kind === "another's address" && wasTheirs !== true);
  const mayHaveMoved =
    before?.mayHaveMoved ?? ((isSettled && (unread === undefined ? hasMoved : neverTold)) || undefined);
  const judgedAs = (verdict: IssuedVerdict, why = first.why): JudgedIssued => ({
    verdict,
    why,
    unproven,
    mayHaveMoved,
  });

  // An unread source might have proven it.
  if (unread !== undefined)
    return withoutEvidence(
      before === undefined ? judgedAs('unknown', unread.why) : judgedAs(before.verdict, before.why),
    );
  if (before?.wasProven === true) return judgedAs('no-longer-proven');
  if (claim.ofRequest === true && isOfEarlierMachine(claim, grounds.machines))
    return judgedAs('unknown', 'it was issued to a machine that has been replaced since');
  // A name does not move from node to node, so it needs no time to settle.
  const isAnother = failures.some(
    ({ kind, wasTheirs }) =>
      kind === "another's name" ||
      (kind === "another's address" && isSettled && wasTheirs === true && mayHaveMoved !== true) ||
      (kind === "another's address" && before?.verdict === 'names-another'),
  );
  if (isAnother) return judgedAs('names-another');
  if (having('untold') !== undefined) return judgedAs('unknown');
  return judgedAs(isSettled || having("another's address") !== undefined ? 'not-proven' : 'unknown');
}

/** A known verdict still holds; only an unknown one waits for evidence. */
function withoutEvidence(judged: JudgedIssued): JudgedIssued {
  return { ...judged, evidenceUnread: judged.verdict === 'unknown' ? true : undefined };
}

/**
 * Whether an earlier machine with the name of the node got the certificate; the current one has its own key. A Node
 * does not show that: it can be recreated while its machine stays.
 */
export function isOfEarlierMachine(
  { node, notBefore }: Pick<IssuedClaim, 'node' | 'notBefore'>,
  machines: KnownMachines,
): boolean {
  const madeAt = machines.madeAt(node);
  return madeAt !== undefined && madeAt - notBefore >= SETTLED_MS;
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
  { node: meant, address, keyProven }: ShownBy,
  grounds: IssuedGrounds,
  before?: EarlierVerdict,
): JudgedIssued {
  const node = nodeOfCertificate(certificate) ?? meant;
  const judged = judgeIssued(claimOf(certificate, node), grounds, before);
  if (node === meant || (judged.verdict !== 'proven' && judged.verdict !== 'no-longer-proven')) return judged;
  // The current owner of the address is unknown.
  if (grounds.evidence.readings.some(({ ok }) => !ok))
    return withoutEvidence(before ?? { verdict: 'unknown', why: 'evidence could not be read' });
  const at = counting(grounds.evidence.holdersOf('ip', address));
  if (at.some(({ nodes }) => nodes.includes(node))) return judged;
  const why = shownElsewhere(node, meant);
  const isMeant = keyProven && at.some(({ nodes }) => nodes.includes(meant));
  // A recently reassigned address is listed late.
  const isLasting =
    before?.verdict === 'names-another' || (before?.why === why && grounds.now - before.since >= SETTLED_MS);
  return { verdict: isMeant && isLasting ? 'names-another' : 'unknown', why };
}

/** Explains a certificate of one node at the address of another. */
export function shownElsewhere(node: string, meant: string): string {
  return `it belongs to node ${printable(node, 253)}, but is shown where ${printable(meant, 253)} should be`;
}

/**
 * Why one policy does not prove a certificate. `untold`: no source that it trusts can tell.
 */
interface Failure {
  readonly why: string;
  readonly kind: "another's name" | "another's address" | 'unproven' | 'untold' | 'unread';
  readonly unproven: readonly string[];
  /** For an address: its current owner had it when the certificate was issued, as far as known. */
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
  const why = verdictSentence(failure.facts);
  // An unread source might contest the other owner.
  const isUnread = evidence.readings.some(({ ok, source }) => !ok && policy.evidence.includes(source));
  if (isUnread || failure.reason === 'EvidenceUnreadable') return { kind: 'unread', why, unproven };
  const ofAnother = proofs.flatMap((proof) => ownerOf(proof, node, evidence) ?? []);
  const name = ofAnother.find(({ isItsName }) => isItsName);
  if (name !== undefined) return { kind: "another's name", why: belongsTo(name), unproven };
  const [first] = ofAnother;
  if (failure.isOfAnother && first !== undefined) {
    const lasting = ofAnother.find((one) => hadIt(one, notBefore, grounds));
    return { kind: "another's address", why: belongsTo(lasting ?? first), unproven, wasTheirs: lasting !== undefined };
  }
  if (first !== undefined) return { kind: 'unproven', why: belongsTo(first), unproven };
  return { kind: canTell(node, policy, evidence, failure.reason) ? 'unproven' : 'untold', why, unproven };
}

interface NameOfAnother {
  readonly kind: NameProof['kind'];
  readonly canonical: string;
  readonly owner: Owner;
  /** It is the name of a node, not just a name or address that it has for now. */
  readonly isItsName: boolean;
}

/** The objects that show who has a name. */
function counting({ owners }: Owners): readonly Owner[] {
  return owners.filter(isWitness);
}

/** The owner of a name that the node does not have. */
function ownerOf({ kind, name }: NameProof, node: string, evidence: Evidence): NameOfAnother | undefined {
  const canonical = kind === 'dns' ? canonicalDnsName(name) : name;
  const called = kind === 'dns' ? evidence.ownersOf(canonical).owners : [];
  const having = [...called, ...evidence.holdersOf(kind, canonical).owners].filter(isWitness);
  const [owner] = having;
  if (owner === undefined || having.some(({ nodes }) => nodes.includes(node))) return undefined;
  return { kind, canonical, owner, isItsName: called.includes(owner) };
}

function belongsTo({ kind, canonical, owner: { nodes, object } }: NameOfAnother): string {
  const label = kind === 'dns' ? 'DNS name' : 'IP';
  return `${label} ${printable(canonical, 253)} belongs to ${printable(nodes[0] ?? '', 253)} (${printable(object, 150)})`;
}

/**
 * Whether its machine is older than the certificate, and an audit saw the address there at issuance; for a recent
 * certificate, that no audit contradicts is enough.
 */
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

/**
 * Whether missing proof counts against a certificate. It does not if no source that the policy trusts was read, or if the
 * node is of a kind without objects.
 */
function canTell(node: string, { evidence: trusted }: ApprovalPolicy, evidence: Evidence, reason: Reason): boolean {
  if (!evidence.readings.some(({ ok, source }) => ok && trusted.includes(source))) return false;
  return reason !== 'EvidenceMissing' || nodeWithoutInstance(node) === undefined;
}

/** The policies for serving certificates of a cluster; the default one if none selects it. Pure. */
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
                isAnother: reserved.hostile || (reserved.isOfCluster && !isOwnName(name, node, evidence)),
              },
            ],
          ],
    ),
  );
}

/**
 * A machine may have a name like that of a Service, in its own domain: its requests are not approved, but it takes no
 * name from a Service.
 */
function isOwnName(name: string, node: string, evidence: Evidence): boolean {
  const canonical = canonicalDnsName(name);
  return counting(evidence.holdersOf('dns', canonical)).some(({ nodes }) => nodes.includes(node));
}

/** @param key as certificates have it: `P-256`, `RSA-2048`, `Ed25519`, `ML-DSA-65` */
function allowsKey({ ecdsaCurves, rsaMinBits, ed25519, mlDsa }: KeyPolicy, key: string): boolean {
  if (key.startsWith('RSA-')) return Number(key.slice('RSA-'.length)) >= rsaMinBits;
  if (key.startsWith('ML-DSA-')) return mlDsa;
  return key === 'Ed25519' ? ed25519 : ecdsaCurves.some((curve) => curve === key);
}
