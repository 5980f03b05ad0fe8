import type { VerdictFacts } from '../../contracts/verdict-facts.ts';
import { onceForEach } from '../../lazy.ts';
import { addressRanges, canonicalDnsName, readsAsAddress, spellsAddress } from '../../names.ts';
import { printable } from '../../printable.ts';
import { EVIDENCE_SOURCES, type EvidenceSource, isIndependent, needsNodes } from '../../tables/evidence-sources.ts';
import type { Reason } from '../../tables/reasons.ts';
import type { GeneralName } from '../../x509/certificate-request.ts';
import {
  type Evidence,
  isLive,
  type Owner,
  type Owners,
  type ReadableSource,
  type SourceReading,
  type WeakAddress,
} from '../evidence/evidence.ts';
import { nodeWithoutInstance } from '../evidence/node-kinds.ts';
import type { ApprovalPolicy } from '../policy.ts';
import type { ClusterContext } from '../request.ts';
import type { NameProof } from '../verdict.ts';
import { isEndpoint, reservedAddress } from './reserved-names.ts';

/** Whether every requested name belongs to the node, and if not, the most useful reason. */
export interface OwnershipResult {
  readonly proofs: readonly NameProof[];
  /** Absent when every name is proven. */
  readonly failure?: {
    readonly reason: Reason;
    readonly facts: VerdictFacts;
    readonly hostile: boolean;
    /** An independent source shows it at a live object of another node, and has an object of this one. */
    readonly isOfAnother?: boolean;
  };
}

const independenceOf = (source: EvidenceSource): number => EVIDENCE_SOURCES[source].independence;

/**
 * Proves each DNS name and address of a request, once, for the requesting node, by the sources of the policy. A name is
 * proven if a live object of this node lists it, and no object of another node that is equally or more independent has
 * it, live or not.
 */
export function proveOwnership(
  names: readonly GeneralName[],
  node: string,
  evidence: Evidence,
  policy: ApprovalPolicy,
  cluster: Pick<ClusterContext, 'endpoints'>,
): OwnershipResult {
  const known = ownersOfNode(names, node, evidence, policy);
  const proofs: NameProof[] = [];
  const judgedNames = new Set<string>();
  let failure: OwnershipResult['failure'];
  let worst = -1;
  for (const name of names) {
    if (name.kind !== 'dNSName' && name.kind !== 'iPAddress') continue;
    const asked = askedName(name);
    const key = `${asked.kind} ${asked.canonical}`;
    if (judgedNames.has(key)) continue;
    judgedNames.add(key);
    const { proof, failure: why } = proveName(asked, node, known, evidence, policy);
    proofs.push(proof);
    if (why === undefined) continue;
    const { isOfAnother, ...plain } = why;
    const shown = isOfAnother && isSharedEndpoint(asked, known, cluster) ? { ...plain, hostile: false } : why;
    // What belongs to another node says more than what no node has.
    const weight = Number(shown.hostile) + Number(shown.isOfAnother === true);
    if (weight > worst) [failure, worst] = [shown, weight];
  }
  return { proofs, failure };
}

/** The endpoint's address moves between control plane machines, and their lists of it may lag. */
function isSharedEndpoint(
  { kind, canonical }: AskedName,
  { mayBeControlPlane: mayBe }: OwnersOfNode,
  cluster: Pick<ClusterContext, 'endpoints'>,
): boolean {
  return (kind === 'ip' || mayBe) && isEndpoint(canonical, cluster);
}

type OwnerFacts = Extract<VerdictFacts, { readonly cause: 'of-another' }>['owner'];
type NameFacts = Extract<VerdictFacts, { readonly cause: 'of-another' }>['name'];

interface AskedName {
  readonly kind: 'dns' | 'ip';
  readonly canonical: string;
  /** As asked, printable. */
  readonly name: string;
}

function askedName({ kind, value }: Extract<GeneralName, { kind: 'dNSName' | 'iPAddress' }>): AskedName {
  const name = printable(value, 253);
  return kind === 'dNSName'
    ? { kind: 'dns', canonical: canonicalDnsName(value), name }
    : { kind: 'ip', canonical: value, name };
}

interface OwnersOfNode {
  /** The one live object of each source, the most independent first. */
  readonly trusted: readonly Owner[];
  /** Per source with several live objects of the node: its objects. */
  readonly ambiguous: readonly (readonly Owner[])[];
  /** An object of the node that is not live, if a source of the policy has no live one. */
  readonly notLive: Owner | undefined;
  /** An EC2 instance that has a requested address under another name, if no object is the node. */
  readonly namesake: string | undefined;
  readonly mayBeControlPlane: boolean;
}

function ownersOfNode(
  names: readonly GeneralName[],
  node: string,
  evidence: Evidence,
  policy: ApprovalPolicy,
): OwnersOfNode {
  const trusted: Owner[] = [];
  const ambiguous: Owner[][] = [];
  let notLive: Owner | undefined;
  const { owners: all, more } = evidence.ownersOf(node);
  for (const source of policy.evidence) {
    if (source === 'hybrid' && !namesNode(names, node)) continue;
    const owners = all.filter((owner) => owner.source === source);
    const live = owners.filter(isLive);
    if (live.length > 1 || more.some((crowded) => crowded === source)) ambiguous.push(owners);
    else if (live.length === 1) trusted.push(...live);
    else notLive ??= owners[0];
  }
  // A rival has to match the most independent proof of a name.
  return {
    trusted: trusted.toSorted(byIndependence),
    ambiguous,
    notLive,
    namesake: all.length === 0 ? namesakeOf(names, evidence) : undefined,
    mayBeControlPlane: mayBeControlPlane(node, evidence),
  };
}

/** A guest with another hostname than its instance, as DHCP options may give it. */
function namesakeOf(names: readonly GeneralName[], evidence: Evidence): string | undefined {
  for (const name of names) {
    if (name.kind !== 'iPAddress') continue;
    for (const { source, object, nodes } of evidence.holdersOf('ip', name.value).owners) {
      const called = nodes.find((node) => !node.startsWith('i-'));
      if (source === 'ec2' && called !== undefined)
        return `${printable(object, 100)} has ${name.value}, but is called ${printable(called, 253)}: check the hostname of the node, and the domain in the DHCP options of its VPC`;
    }
  }
  return undefined;
}

/** EKS itself approves a hybrid node only with its own name among the DNS names. */
function namesNode(names: readonly GeneralName[], node: string): boolean {
  return names.some((name) => name.kind === 'dNSName' && canonicalDnsName(name.value) === node);
}

/** Whether the node is a Machine or instance of the control plane, or no independent source knows it yet. */
export function mayBeControlPlane(node: string, evidence: Evidence): boolean {
  const known = evidence.ownersOf(node).owners.filter(isIndependent);
  return known.length === 0 || known.some(({ controlPlane }) => controlPlane);
}

function byIndependence(a: Owner, b: Owner): number {
  return independenceOf(b.source) - independenceOf(a.source);
}

type Failure = NonNullable<OwnershipResult['failure']>;

function proveName(
  asked: AskedName,
  node: string,
  known: OwnersOfNode,
  evidence: Evidence,
  policy: ApprovalPolicy,
): { readonly proof: NameProof; readonly failure?: Failure } {
  const { kind, canonical, name } = asked;
  const base = { kind, name };
  const factsName = { kind, value: name };
  const holders = evidence.holdersOf(kind, canonical);
  const owner = known.trusted.find((one) => holders.owners.includes(one) && weakOf(one, canonical) === undefined);
  const byPattern = owner === undefined && matchesPattern(kind, canonical, node, evidence, policy);
  const rank = owner !== undefined ? independenceOf(owner.source) : independenceOf('patterns');
  const sameName = kind === 'dns' ? evidence.ownersOf(canonical) : undefined;
  // A source at least as independent with too many objects for one name: those left out might contest it.
  const crowded = holders.more.find((source) => independenceOf(source) >= rank);
  if (crowded !== undefined)
    return fail(base, {
      reason: 'SanContested',
      facts: { cause: 'crowded', name: factsName, source: crowded },
      hostile: false,
    });
  const rival = firstRival(node, rank, holders, sameName);

  if (owner !== undefined || byPattern) {
    const provenBy =
      owner !== undefined
        ? { source: owner.source, object: owner.object }
        : ({ source: 'patterns', object: `pattern of policy ${policy.name}` } as const);
    // An unread source of this independence might have contested the proof.
    const silent = unreadSource(evidence, policy, (source) => independenceOf(source) >= rank);
    if (rival === undefined && silent !== undefined) return fail(base, unread(factsName, silent));
    if (rival === undefined) return { proof: { ...base, proven: true, provenBy } };
    return fail(
      { ...base, ownedBy: ownedBy(rival) },
      {
        reason: 'SanContested',
        facts: {
          cause: 'contested',
          name: factsName,
          node: printable(node, 100),
          object: provenBy.object,
          owner: ownerFacts(rival),
        },
        hostile: false,
      },
    );
  }

  if (rival !== undefined) {
    // If the node has no object yet, a name may reach that late.
    const isOfAnother = known.trusted.length > 0 && isWitness(rival);
    return fail(
      { ...base, ownedBy: ownedBy(rival) },
      {
        reason: 'SanNotOwned',
        facts: { cause: 'of-another', name: factsName, owner: ownerFacts(rival) },
        hostile: isOfAnother && !mayMove(canonical, sameName),
        isOfAnother,
      },
    );
  }
  return fail(base, unproven(factsName, canonical, node, known, evidence, policy));
}

/**
 * The most useful object of another node that has a name and is at least as independent as `rank`; live ones first. A
 * Node's name belongs to that node even if no evidence lists it: it proves nothing, but no other node gets it.
 *
 * If only EC2 proves names, instances that do not run are not read: EC2 reuses an address of a VPC only after its
 * instance is terminated, so the instance that proves a name is the only one with it. If another source may prove names
 * too, all instances of the cluster are read, in every state.
 */
function firstRival(node: string, rank: number, ...having: readonly (Owners | undefined)[]): Owner | undefined {
  let first: Owner | undefined;
  for (const entry of having)
    for (const owner of entry?.owners ?? []) {
      if (owner.nodes.includes(node) || independenceOf(owner.source) < rank) continue;
      if (first === undefined || isMoreTelling(owner, first)) first = owner;
    }
  return first;
}

function isMoreTelling(a: Owner, b: Owner): boolean {
  return isLive(a) === isLive(b) ? independenceOf(a.source) > independenceOf(b.source) : isLive(a);
}

/** Why no object lists the name, the most useful reason first. */
function unproven(
  name: NameFacts,
  canonical: string,
  node: string,
  known: OwnersOfNode,
  evidence: Evidence,
  policy: ApprovalPolicy,
): Failure {
  const silent = unreadSource(evidence, policy, () => true);
  if (silent !== undefined) return unread(name, silent);
  const several = known.ambiguous[0];
  if (several !== undefined)
    return {
      reason: 'EvidenceAmbiguous',
      facts: {
        cause: 'ambiguous',
        node: printable(node, 100),
        count: several.length,
        objects: several.slice(0, 3).map(({ object }) => printable(object, 100)),
      },
      hostile: false,
    };
  const objects = known.trusted.map(({ object }) => printable(object, 100));
  // A Machine can have its Node shortly before its addresses.
  if (!known.trusted.some((owner) => listsAddresses(owner) || owner.listsNoDnsName !== true)) {
    const facts: VerdictFacts =
      objects.length === 0 ? missing(node, known, evidence, policy) : { cause: 'no-address', objects };
    return { reason: 'EvidenceMissing', facts, hostile: false };
  }
  for (const owner of known.trusted) {
    const weak = weakOf(owner, canonical);
    if (weak !== undefined)
      return { reason: 'SanNotOwned', facts: { cause: 'weak', name, why: printable(weak.why, 400) }, hostile: false };
  }
  return { reason: 'SanNotOwned', facts: { cause: 'unlisted', name, objects }, hostile: false };
}

function weakOf({ weakAddresses = [] }: Owner, canonical: string): WeakAddress | undefined {
  return weakAddresses.find(({ address }) => address === canonical);
}

function listsAddresses({ addresses, weakAddresses = [] }: Owner): boolean {
  return addresses.length > 0 || weakAddresses.length > 0;
}

/** Shows who has a name: live, and not written by a node. */
export function isWitness(owner: Owner): boolean {
  return isLive(owner) && isIndependent(owner);
}

/** Whether a name moves from node to node as addresses do: an address, or spelled like one and not the name of a node. */
function mayMove(canonical: string, called: Owners | undefined): boolean {
  if (called === undefined || readsAsAddress(canonical)) return true;
  return spellsAddress(canonical) && !called.owners.some(isWitness);
}

/**
 * The first of some claimed names that a source shows at a live object of another node and not at this one, of which it
 * lists addresses; otherwise undefined.
 */
export function claimedOfAnother(
  claimed: readonly string[],
  node: string,
  evidence: Evidence,
  policy: ApprovalPolicy,
  cluster: ClusterContext,
): VerdictFacts | undefined {
  if (claimed.length === 0) return undefined;
  const { trusted } = ownersOfNode([], node, evidence, policy);
  const listing = new Set(trusted.filter(listsAddresses).map(({ source }) => source));
  for (const name of claimed) {
    const asked = askedName(
      spellsAddress(name) ? { kind: 'dNSName', value: name } : { kind: 'iPAddress', value: name },
    );
    const { owners, more } = evidence.holdersOf(asked.kind, name);
    const isOwn =
      owners.some(({ nodes }) => nodes.includes(node)) || trusted.some((owner) => weakOf(owner, name) !== undefined);
    if (isOwn || more.length > 0 || (asked.kind === 'ip' && reservedAddress(name, cluster) !== undefined)) continue;
    const rival = owners.find((owner) => isWitness(owner) && listing.has(owner.source));
    if (rival !== undefined)
      return { cause: 'of-another', name: { kind: asked.kind, value: asked.name }, owner: ownerFacts(rival) };
  }
  return undefined;
}

/** Why no object proves anything for the node. */
function missing(
  node: string,
  { notLive, namesake }: OwnersOfNode,
  evidence: Evidence,
  policy: ApprovalPolicy,
): VerdictFacts {
  const about = { node: printable(node, 100), without: whyWithout(node, evidence, policy) };
  if (notLive !== undefined) return { cause: 'former', ...about, owner: ownerFacts(notLive) };
  return {
    cause: 'unnamed',
    ...about,
    looked: evidence.readings.flatMap((reading) =>
      reading.ok && policy.evidence.includes(reading.source)
        ? [{ source: reading.source, count: reading.lookedAt }]
        : [],
    ),
    trusted: policy.evidence,
    // An instance is there before its node asks; a Machine gets its node later.
    yet: evidence.readings.some(({ source, ok }) => ok && source === 'machine') || undefined,
    why: nodeWithoutInstance(node) ?? namesake,
  };
}

/**
 * The first unread source of the policy that `isAsked` accepts. A source that the cluster does not have has no reading.
 */
function unreadSource(
  evidence: Evidence,
  policy: ApprovalPolicy,
  isAsked: (source: ReadableSource) => boolean,
): ReadableSource | undefined {
  const counts = (source: ReadableSource) =>
    policy.evidence.includes(source) || (source === 'node' && policy.evidence.some(needsNodes));
  return evidence.readings.find(({ ok, source }) => !ok && counts(source) && isAsked(source))?.source;
}

function unread(name: NameFacts, source: ReadableSource): Failure {
  return { reason: 'EvidenceUnreadable', facts: { cause: 'unread', name, source }, hostile: false };
}

/** "it is EC2 instance i-0abc, so not a hybrid node". */
function whyWithout(node: string, evidence: Evidence, policy: ApprovalPolicy): string | undefined {
  for (const reading of evidence.readings) {
    const why =
      reading.ok && policy.evidence.includes(reading.source)
        ? (reading.without?.get(node) ?? hybridWithoutName(node, reading))
        : undefined;
    if (why !== undefined) return printable(why, 200);
  }
  return undefined;
}

/** Explains a hybrid node that is known, but whose request lacks its name. */
function hybridWithoutName(node: string, { source, owners }: Extract<SourceReading, { ok: true }>): string | undefined {
  return source === 'hybrid' && owners.some(({ nodes }) => nodes.includes(node))
    ? 'the DNS names of the request lack the name of the node'
    : undefined;
}

/**
 * Binds patterns to the requester. A CIDR counts only for an address that its own Node shows. A DNS pattern counts only
 * for a node that has a Node, and whose name is one label: with dots in it, two nodes could spell the same name.
 */
function matchesPattern(
  kind: 'dns' | 'ip',
  canonical: string,
  node: string,
  evidence: Evidence,
  policy: ApprovalPolicy,
): boolean {
  if (!policy.evidence.includes('patterns')) return false;
  const { owners } = evidence.ownersOf(node);
  const own = owners.find(({ source }) => source === 'node');
  // A Node can outlive its machine.
  if (own === undefined || !owners.every(isLive)) return false;
  if (kind === 'ip') return evidence.holdersOf(kind, canonical).owners.includes(own) && cidrsOf(policy).has(canonical);
  if (node.includes('.')) return false;
  return policy.patterns.dnsNames.some(
    (pattern) => canonicalDnsName(pattern.replaceAll('{node}', () => node)) === canonical,
  );
}

const cidrsOf = onceForEach(({ patterns }: ApprovalPolicy) => addressRanges(patterns.cidrs));

function ownerFacts({ nodes: [node], object, notLive }: Owner): OwnerFacts {
  return {
    node: node && printable(node, 100),
    object: printable(object, 150),
    notLive: notLive && printable(notLive, 150),
  };
}

function ownedBy({ nodes: [node = ''], source, object }: Owner): NonNullable<NameProof['ownedBy']> {
  return { node: printable(node, 253), source, object: printable(object, 300) };
}

function fail(base: Omit<NameProof, 'proven'>, failure: Failure): { proof: NameProof; failure: Failure } {
  return { proof: { ...base, proven: false }, failure };
}
