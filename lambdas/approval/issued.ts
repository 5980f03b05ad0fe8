import type { IssuedObservation } from '../contracts/observation.ts';
import { onceForEach } from '../lazy.ts';
import { canonicalDnsName, isDnsName, readsAsAddress } from '../names.ts';
import { printable } from '../printable.ts';
import type { CountedRequest } from '../resources/signing-request.ts';
import { isIndependent } from '../tables/evidence-sources.ts';
import { isBad } from '../tables/issued-verdicts.ts';
import { verdictSentence } from '../words/verdict-words.ts';
import type { Certificate } from '../x509/certificate.ts';
import { MAX_NAMES } from '../x509/general-names.ts';
import type { Evidence, Owner } from './evidence/evidence.ts';
import { nodeWithoutInstance } from './evidence/node-kinds.ts';
import { type ApprovalPolicy, DEFAULT_POLICY, KUBELET_SERVING_SIGNER } from './policy.ts';
import type { ClusterContext } from './request.ts';
import { isWitness, mayBeControlPlane, proveOwnership } from './rules/ownership.ts';
import { isEndpoint, type Reserved, reservedAddress, reservedDnsName } from './rules/reserved-names.ts';
import { enumerate, NODE_PREFIX } from './rules/rules.ts';
import { isFor } from './selection.ts';
import type { NameProof } from './verdict.ts';

/** What certificates of one cluster are judged by. */
export interface IssuedGrounds {
  readonly cluster: ClusterContext;
  readonly evidence: Evidence;
  readonly policies: readonly ApprovalPolicy[];
  /** Names of the Nodes and Machines that exist. */
  readonly nodes: ReadonlySet<string>;
}

/** Who has the key of a certificate: its requester, or the kubelet that shows it. */
export type Bearer =
  | Pick<CountedRequest, 'requester' | 'ofNodes'>
  | {
      /** The node that was dialled. */
      readonly node: string;
      readonly address: string;
      /** Whether the server proved that it has the private key. */
      readonly keyProven: boolean;
    };

export interface JudgedIssued extends IssuedObservation {
  /** Each name, by the policy that proves most. */
  readonly names: readonly NameProof[];
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
 * Whether every name of an issued kubelet serving certificate belongs to its node now, by the rules for approving
 * requests. One that a kubelet shows is judged for the node that it names. An unread source makes no verdict milder.
 * Pure.
 *
 * @param last the verdict of the last audit on the same certificate
 */
export function judgeIssued(
  certificate: Certificate,
  by: Bearer,
  grounds: IssuedGrounds,
  last?: IssuedObservation,
): JudgedIssued {
  const { cluster, evidence } = grounds;
  const node = 'address' in by ? nodeOf(certificate.commonName) || by.node : nodeOf(by.requester);
  const isControlPlane = evidence.ownersOf(node).owners.some((one) => one.controlPlane === true && isWitness(one));
  const isListed = evidence.ownersOf(node).owners.some(isIndependent);
  const mayBe = mayBeControlPlane(node, evidence);
  const of: Subject = { ...grounds, node, isListed, isControlPlane, mayBe, last };
  const all = [
    ...certificate.dnsNames.map((value): Name => {
      const canonical = canonicalDnsName(value);
      return { kind: 'dNSName', value, canonical, reserved: reservedDnsName(canonical, cluster, mayBe) };
    }),
    ...certificate.addresses.map((value): Name => {
      return { kind: 'iPAddress', value, canonical: value, reserved: reservedAddress(value, cluster) };
    }),
  ];
  // A control plane machine has the key of the API server: the names of the endpoint give it nothing more.
  const shared = all.filter(({ canonical }) => isControlPlane && isEndpoint(canonical, cluster));
  const names = all.filter((name) => !shared.includes(name));
  const { proofs, failure } = bestProofs(names, of);
  // No evidence proves a reserved name.
  const reserved = new Set(names.flatMap((name) => (name.reserved === undefined ? [] : proofOf(name, false).name)));
  const fault = faultOf(certificate, node, by);
  const doubts = [fault ?? [], ...names.map((name) => doubtOf(name, of) ?? [])].flat();
  return {
    ...(verdictOf(doubts, failure, fault !== undefined, last) ?? ofPlace(by, node, evidence, last)),
    names: [
      ...shared.map((name) => proofOf(name, true)),
      ...proofs.map((proof) => (reserved.has(proof.name) ? { ...proof, proven: false } : proof)),
    ],
  };
}

interface Subject extends IssuedGrounds {
  readonly node: string;
  /** By an independent source, live or not. */
  readonly isListed: boolean;
  readonly isControlPlane: boolean;
  /** Or no independent source has it yet. */
  readonly mayBe: boolean;
  readonly last: IssuedObservation | undefined;
}

interface Name {
  readonly kind: 'dNSName' | 'iPAddress';
  readonly value: string;
  readonly canonical: string;
  readonly reserved: Reserved | undefined;
}

function proofOf({ kind, value }: Name, proven: boolean): NameProof {
  return { kind: kind === 'dNSName' ? 'dns' : 'ip', name: printable(value, 253), proven };
}

/** Why something in a certificate is not right, whatever a policy proves. */
interface Doubt {
  /** For people: `it is a CA: …`. */
  readonly why: string;
  /** What it takes from another: a right or name that stays, or a name that moves as addresses do. */
  readonly of?: 'name' | 'address' | undefined;
}

/** Undefined if every name is proven. */
function verdictOf(
  doubts: readonly Doubt[],
  failure: Failure | undefined,
  isFaulty: boolean,
  last: IssuedObservation | undefined,
): IssuedObservation | undefined {
  const name = doubts.find(({ of }) => of === 'name');
  if (name !== undefined) return { verdict: 'names-another', why: name.why };
  const address = doubts.find(({ of }) => of === 'address');
  if (address !== undefined) return ofAddress(address.why, last);
  const why = doubts[0]?.why ?? failure?.why;
  if (why === undefined) return undefined;
  if (failure?.gap === 'unread' && (!isFaulty || last?.verdict === 'names-another')) return withoutEvidence(why, last);
  return { verdict: failure?.gap === 'untold' && doubts.length === 0 ? 'unknown' : 'not-proven', why };
}

/** Addresses move, and lists of them are late: only what two audits in a row see is held against a certificate. */
function ofAddress(why: string, last: IssuedObservation | undefined): IssuedObservation {
  const isSecond = last?.verdict === 'names-another' || last?.addressOfAnother === true;
  return isSecond ? { verdict: 'names-another', why } : { verdict: 'not-proven', why, addressOfAnother: true };
}

function withoutEvidence(why: string, last: IssuedObservation | undefined): IssuedObservation {
  return last !== undefined && isBad(last.verdict)
    ? { ...last, evidenceUnread: true }
    : { verdict: 'unknown', why, evidenceUnread: true };
}

/** If a kubelet shows a certificate of another node, either that has the address now, or the key is in the wrong place. */
function ofPlace(by: Bearer, node: string, evidence: Evidence, last: IssuedObservation | undefined): IssuedObservation {
  if (!('address' in by) || by.node === node) return { verdict: 'proven' };
  const { owners } = evidence.holdersOf('ip', by.address);
  const isAt = (name: string) => owners.some((owner) => isWitness(owner) && owner.nodes.includes(name));
  if (isAt(node)) return { verdict: 'proven' };
  const why = `it belongs to node ${printable(node, 253)}, but is shown where ${printable(by.node, 253)} should be`;
  if (evidence.readings.some(({ ok }) => !ok)) return withoutEvidence(why, last);
  return by.keyProven && isAt(by.node) ? ofAddress(why, last) : { verdict: 'unknown', why };
}

const another = (why: string): Doubt => ({ why, of: 'name' });

/** What its signer should have rejected. Source: `ValidateKubeletServingCSR` in kubernetes/pkg/apis/certificates. */
function faultOf(certificate: Certificate, node: string, by: Bearer): Doubt | undefined {
  const { commonName, dnsNames, addresses, organizations } = certificate;
  if (!('address' in by) && !(by.ofNodes && node !== ''))
    return another(`${printable(by.requester, 253)} asked for it, and is not a node`);
  const usages = certificate.extendedKeyUsages ?? [ANY_USAGE];
  // An API server accepts it from a client too, and takes its subject as the identity.
  const isClient = usages.some((usage) => usage === CLIENT_AUTH || usage === ANY_USAGE);
  const subject = (why: string): Doubt => (isClient ? another(`${why}, and for client authentication`) : { why });
  if (certificate.isAuthority) return another('it is a CA: its holder can sign for any name');
  const named = nodeOf(commonName);
  if (named !== '' && named !== node) return another(`it is for ${enumerate([`${NODE_PREFIX}${named}`])}`);
  const wild = dnsNames.filter((name) => name.includes('*'));
  if (wild.length > 0) return another(`it has the wildcard ${enumerate(wild)}`);
  if (organizations.length !== 1 || organizations[0] !== 'system:nodes')
    return subject(`it is of the organization ${enumerate(organizations)}, not of system:nodes alone`);
  if (named === '') return subject(`it is for ${enumerate(commonName === undefined ? [] : [commonName])}`);
  if (usages.some((usage) => usage !== SERVER_AUTH)) return { why: 'it is not for server authentication alone' };
  if (dnsNames.length + addresses.length >= MAX_NAMES) return another(`it has ${MAX_NAMES} names, and perhaps more`);
  if (certificate.otherNames) return { why: 'it has names that are neither DNS names nor addresses' };
  const bad = dnsNames.filter((name) => !isDnsName(canonicalDnsName(name)));
  if (bad.length > 0) return { why: `it has a name that no Node can have: ${enumerate(bad)}` };
  if (dnsNames.length + addresses.length === 0) return { why: 'it has no name' };
  const weak = certificate.weakKey ?? certificate.weakSignature;
  return weak === undefined ? undefined : { why: `it is weak: ${weak}` };
}

function doubtOf(
  asked: Name,
  { node, isListed, isControlPlane, mayBe, cluster, evidence, last }: Subject,
): Doubt | undefined {
  const { canonical, reserved } = asked;
  const { kind, name } = proofOf(asked, false);
  const holders = evidence.holdersOf(kind, canonical).owners.filter(isWitness);
  const isOwn = kind === 'dns' && holders.some(({ nodes }) => nodes.includes(node));
  if (reserved !== undefined) {
    // A machine may have a name like that of a Service, in its own domain.
    const isAnother =
      reserved.hostile || (reserved.isOfCluster && !isOwn) || (isEndpoint(canonical, cluster) && !mayBe);
    // A machine that joins the control plane is listed at the second audit.
    const isStranger = isEndpoint(canonical, cluster) && !isListed && isComplete(evidence, cluster);
    const of = kind === 'dns' && isAnother ? 'name' : 'address';
    return { why: `it has ${name}, which is ${reserved.why}`, of: isAnother || isStranger ? of : undefined };
  }
  const isRival = ({ nodes }: Owner) => nodes.length > 0 && !nodes.includes(node);
  const ofRival = ({ nodes: [other = ''], object }: Owner, of: Doubt['of']): Doubt => {
    const owner = { node: printable(other, 253), object: printable(object, 150) };
    return { why: verdictSentence({ cause: 'of-another', name: { kind, value: name }, owner }), of };
  };
  const namesakes = kind === 'dns' && !readsAsAddress(canonical) ? evidence.ownersOf(canonical).owners : [];
  const namesake = namesakes.filter(isWitness).find(isRival);
  if (namesake !== undefined) return ofRival(namesake, 'name');
  // Guests may share a hostname, and one that no object names may have another than its instance.
  const isOfControlPlane = holders.some(({ controlPlane }) => controlPlane === true) && isComplete(evidence, cluster);
  if (isOwn || !(isListed || isOfControlPlane || last?.verdict === 'names-another')) return undefined;
  // An endpoint known only by its name moves between control plane machines.
  const rival = holders.find((owner) => isRival(owner) && !(isControlPlane && owner.controlPlane === true));
  return rival && ofRival(rival, 'address');
}

/** Sources that show machines of the control plane. */
const ofControlPlane = onceForEach(({ readings }: Evidence) =>
  readings.filter(
    (one) => one.ok && isIndependent(one) && one.owners.some(({ controlPlane }) => controlPlane === true),
  ),
);

/** Whether everything was read, and a source would list a machine of the control plane. EKS hides its own. */
function isComplete(evidence: Evidence, { provider }: ClusterContext): boolean {
  const { readings } = evidence;
  const lists =
    provider === 'eks'
      ? readings.some((one) => one.ok && isIndependent(one) && one.owners.length > 0)
      : ofControlPlane(evidence).length > 0;
  return lists && readings.every(({ ok }) => ok);
}

interface Failure {
  readonly why: string;
  /** Evidence was not read, or no source of the policy can tell: the node is gone, not there yet, or has no object. */
  readonly gap?: 'unread' | 'untold' | undefined;
}

interface Proved {
  readonly proofs: readonly NameProof[];
  readonly failure?: Failure | undefined;
}

/** By a policy that proves all, else by the one that proves most. */
function bestProofs(names: readonly Name[], of: Subject): Proved {
  const serving = of.policies.filter((one) => one.signers.includes(KUBELET_SERVING_SIGNER) && isFor(one, of.cluster));
  const all = (serving.length === 0 ? [DEFAULT_POLICY] : serving).map((policy) => proofsBy(policy, names, of));
  const rankOf = ({ proofs, failure }: Proved) =>
    failure === undefined ? Infinity : proofs.filter(({ proven }) => proven).length;
  const { proofs, failure } = all.reduce((one, other) => (rankOf(other) > rankOf(one) ? other : one));
  const gap = (['unread', 'untold'] as const).find((each) => all.some((one) => one.failure?.gap === each));
  return { proofs, failure: failure && { ...failure, gap } };
}

function proofsBy(policy: ApprovalPolicy, names: readonly Name[], of: Subject): Proved {
  const { node, cluster, evidence, nodes } = of;
  const { proofs, failure } = proveOwnership(names, node, evidence, policy, cluster);
  if (failure === undefined) return { proofs };
  const readings = evidence.readings.filter(({ source }) => policy.evidence.includes(source));
  const isUnread = failure.reason === 'EvidenceUnreadable' || readings.some(({ ok }) => !ok);
  const isMissing = failure.reason === 'EvidenceMissing' && proofs.every(({ ownedBy }) => ownedBy === undefined);
  const hasNone = !nodes.has(node) || nodeWithoutInstance(node) !== undefined;
  const gap = isUnread ? 'unread' : readings.length === 0 || (isMissing && hasNone) ? 'untold' : undefined;
  return { proofs, failure: { why: verdictSentence(failure.facts), gap } };
}
