import { printable } from '../printable.ts';
import type { GeneralName } from '../x509/certificate-request.ts';
import type { Evidence, Owner, ReadableSource } from './evidence.ts';
import { addressRanges, canonicalAddress, canonicalDnsName, spellsAddress } from './names.ts';
import { nodeWithoutInstance } from './node-kinds.ts';
import type { ApprovalPolicy, EvidenceSource } from './policy.ts';
import type { Reason } from './reasons.ts';
import { deniedBy, type Renewal, type RenewalFault, renewalFor } from './renewal.ts';
import type { NameProof } from './verdict.ts';

/** Whether every requested name belongs to the node, and if not, the most telling reason. */
export interface OwnershipResult {
  readonly proofs: readonly NameProof[];
  /** Absent when every name is proven. */
  readonly failure?: { readonly reason: Reason; readonly message: string; readonly hostile: boolean };
}

// Sources nobody can write from the node outrank those that the node writes, so a lying Node cannot contest a Machine. A certificate says who
// had its names when it was issued: everybody who has one of them now contests it, and it contests nobody.
const INDEPENDENCE: Readonly<Record<EvidenceSource, number>> = { machine: 2, ec2: 2, node: 1, renewal: 0, patterns: 0 };

/**
 * Proves each DNS name and address of a request for the node that asks, by the sources the policy names. A name is proven
 * when a live owner of that very node lists it and no equally independent owner of another node does.
 */
export function proveOwnership(
  names: readonly GeneralName[],
  node: string,
  evidence: Evidence,
  policy: ApprovalPolicy,
): OwnershipResult {
  const known = ownersOfNode(names, node, evidence, policy);
  const proofs: NameProof[] = [];
  let failure: OwnershipResult['failure'];
  for (const name of names) {
    if (name.kind !== 'dNSName' && name.kind !== 'iPAddress') continue;
    const judged = proveName(name, node, known, evidence, policy);
    proofs.push(judged.proof);
    // A name that is provably another's says more than one that is merely unknown.
    if (judged.failure !== undefined && (failure === undefined || (judged.failure.hostile && !failure.hostile)))
      failure = judged.failure;
  }
  return failure === undefined ? { proofs } : { proofs, failure };
}

interface OwnersOfNode {
  readonly trusted: readonly Owner[];
  /** Sources in which several live objects claim to be the node. */
  readonly ambiguous: readonly (readonly Owner[])[];
  readonly renewal: Renewal | undefined;
}

function ownersOfNode(
  names: readonly GeneralName[],
  node: string,
  evidence: Evidence,
  policy: ApprovalPolicy,
): OwnersOfNode {
  const trusted: Owner[] = [];
  const ambiguous: Owner[][] = [];
  const all = evidence.ownersOf(node);
  for (const source of policy.evidence) {
    if (source === 'renewal') continue;
    const owners = all.filter((owner) => owner.source === source);
    if (owners.length === 1) trusted.push(...owners);
    else if (owners.length > 1) ambiguous.push(owners);
  }
  // The most independent proof of a name is the one that a rival has to match.
  return { trusted: trusted.toSorted(byIndependence), ambiguous, renewal: renewalFor(names, node, evidence, policy) };
}

function byIndependence(a: Owner, b: Owner): number {
  return INDEPENDENCE[b.source] - INDEPENDENCE[a.source];
}

type Failure = NonNullable<OwnershipResult['failure']>;

function proveName(
  name: Extract<GeneralName, { kind: 'dNSName' | 'iPAddress' }>,
  node: string,
  known: OwnersOfNode,
  evidence: Evidence,
  policy: ApprovalPolicy,
): { readonly proof: NameProof; readonly failure?: Failure } {
  const kind = name.kind === 'dNSName' ? 'dns' : 'ip';
  const canonical = kind === 'dns' ? canonicalDnsName(name.value) : canonicalAddress(name.value);
  const label = `${kind === 'dns' ? 'DNS name' : 'IP'} ${printable(name.value, 100)}`;
  const base = { kind, name: printable(name.value, 253) } as const;
  if (canonical === undefined)
    return fail(base, { reason: 'SanMalformed', message: `${label} is not an address`, hostile: true });

  const listed = known.trusted.find((candidate) =>
    (kind === 'dns' ? candidate.dnsNames : candidate.addresses).includes(canonical),
  );
  const byPattern = listed === undefined && matchesPattern(kind, canonical, node, evidence, policy);
  // Last, so that it takes no proof from the others.
  const renewed = listed === undefined && !byPattern ? renewedBy(kind, canonical, node, known, evidence) : undefined;
  const owner = listed ?? renewed;
  const rank = owner !== undefined ? INDEPENDENCE[owner.source] : INDEPENDENCE.patterns;
  const rival = holdersOf(kind, canonical, evidence).find(
    (holder) => !holder.nodes.includes(node) && INDEPENDENCE[holder.source] >= rank,
  );

  if (owner !== undefined || byPattern) {
    const provenBy =
      owner !== undefined
        ? { source: owner.source, object: owner.object }
        : ({ source: 'patterns', object: `pattern of policy ${policy.name}` } as const);
    // A source that could have contested the proof and was not read might have done so.
    const silent = unreadSource(evidence, policy, rank + 1);
    if (rival === undefined && silent !== undefined) return fail(base, unread(label, silent));
    if (rival === undefined) return { proof: { ...base, proven: true, provenBy } };
    return fail(
      { ...base, ownedBy: ownedBy(rival) },
      {
        reason: 'SanContested',
        message: `${label} is owned by ${printable(node, 100)} (${provenBy.object}) and by ${describe(rival)}`,
        hostile: false,
      },
    );
  }

  const [other] = holdersOf(kind, canonical, evidence)
    .filter((holder) => !holder.nodes.includes(node))
    .toSorted(byIndependence);
  if (other !== undefined)
    return fail(
      { ...base, ownedBy: ownedBy(other) },
      {
        reason: 'SanNotOwned',
        message: `${label} belongs to ${describe(other)}`,
        // Only against a node whose own names are known: a name that moves may reach its new Machine late.
        hostile: known.trusted.length > 0 && INDEPENDENCE[other.source] === INDEPENDENCE.machine,
      },
    );
  return fail(base, unproven(label, kind, canonical, node, known, evidence, policy));
}

function renewedBy(
  kind: 'dns' | 'ip',
  canonical: string,
  node: string,
  { renewal }: OwnersOfNode,
  evidence: Evidence,
): Owner | undefined {
  if (renewal === undefined || renewal.fault !== undefined) return undefined;
  return deniedBy(kind, canonical, node, evidence) === undefined ? renewal.certificate : undefined;
}

/** Why the certificate that the node serves does not prove a name that nothing else proves. */
function notRenewed(
  kind: 'dns' | 'ip',
  canonical: string,
  node: string,
  { renewal }: OwnersOfNode,
  evidence: Evidence,
): RenewalFault | undefined {
  if (renewal === undefined || renewal.fault !== undefined) return renewal?.fault;
  const denied = deniedBy(kind, canonical, node, evidence);
  if (denied === undefined) return undefined;
  return { reason: 'SanNotOwned', why: `the ${printable(renewal.certificate.object, 150)} has it, but ${denied}` };
}

/** Nobody lists the name: why not, from the most to the least telling. */
function unproven(
  label: string,
  kind: 'dns' | 'ip',
  canonical: string,
  node: string,
  known: OwnersOfNode,
  evidence: Evidence,
  policy: ApprovalPolicy,
): Failure {
  const silent = unreadSource(evidence, policy, 0);
  if (silent !== undefined) return unread(label, silent);
  const several = known.ambiguous[0];
  if (several !== undefined)
    return {
      reason: 'EvidenceAmbiguous',
      message: `${several.length} objects claim to be node ${printable(node, 100)}: ${several
        .slice(0, 3)
        .map((owner) => printable(owner.object, 100))
        .join(', ')}`,
      hostile: false,
    };
  const fault = notRenewed(kind, canonical, node, known, evidence);
  if (known.trusted.length === 0) {
    if (fault !== undefined)
      return { reason: fault.reason, message: `${label} is not proven: ${fault.why}`, hostile: false };
    const missing = `${lookedAt(evidence, policy)} names node ${printable(node, 100)}`;
    const why = nodeWithoutInstance(node);
    return {
      reason: 'EvidenceMissing',
      message: `${why === undefined ? `${missing} yet` : `${missing}: ${why}`}${withoutCertificate(node, evidence, policy)}`,
      hostile: false,
    };
  }
  const weak = known.trusted
    .flatMap(({ weakAddresses = [] }) => weakAddresses)
    .find(({ address }) => kind === 'ip' && address === canonical);
  if (weak !== undefined)
    return { reason: 'SanNotOwned', message: `${label} ${printable(weak.why, 200)}`, hostile: false };
  const objects = known.trusted.map((owner) => printable(owner.object, 100)).join(', ');
  return {
    reason: 'SanNotOwned',
    message: `${label} is not among the names of ${objects}${fault === undefined ? '' : `; ${fault.why}`}`,
    // Addresses move, and evidence may lag; a foreign DNS name does not come about by itself.
    hostile: kind === 'dns' && !spellsAddress(canonical) && known.trusted.some((owner) => owner.dnsNames.length > 0),
  };
}

function unreadSource(evidence: Evidence, policy: ApprovalPolicy, rank: number): ReadableSource | undefined {
  return evidence.readings.find(
    ({ ok, source }) => !ok && policy.evidence.includes(source) && INDEPENDENCE[source] >= rank,
  )?.source;
}

function unread(label: string, source: ReadableSource): Failure {
  return {
    reason: 'EvidenceUnreadable',
    message: `${label} is not proven: ${SOURCE_NAMES[source]} could not be read`,
    hostile: false,
  };
}

/**
 * Who has a name now. A Node's name is a name of that node even where no evidence lists it: it proves nothing, but nobody else gets it. That a certificate has a
 * name is of another day.
 */
function holdersOf(kind: 'dns' | 'ip', canonical: string, evidence: Evidence): readonly Owner[] {
  const holders = evidence.holdersOf(kind, canonical);
  const all = kind === 'ip' ? holders : [...holders, ...evidence.ownersOf(canonical)];
  return all.filter(({ source }) => source !== 'renewal');
}

const SOURCE_NAMES: Readonly<Record<ReadableSource, string>> = {
  machine: 'Machines',
  ec2: 'EC2 instances',
  node: 'Nodes',
  renewal: 'serving certificates',
};

/** "; what it serves at 10.0.1.23:10250 ended 2 h ago". */
function withoutCertificate(node: string, evidence: Evidence, policy: ApprovalPolicy): string {
  if (!policy.evidence.includes('renewal')) return '';
  for (const reading of evidence.readings) {
    const why = reading.ok ? reading.without?.get(node) : undefined;
    if (why !== undefined) return `; ${printable(why, 200)}`;
  }
  return '';
}

/** "no Machine (42 looked at)". */
function lookedAt(evidence: Evidence, policy: ApprovalPolicy): string {
  const parts: string[] = [];
  for (const reading of evidence.readings) {
    if (!reading.ok || !policy.evidence.includes(reading.source)) continue;
    parts.push(`no ${SOURCE_NAMES[reading.source].slice(0, -1)} (${reading.lookedAt} looked at)`);
  }
  return parts.length === 0
    ? `no evidence was read (policy asks for ${policy.evidence.join(', ')}); nothing`
    : parts.join(' and ');
}

/**
 * Patterns are bound to the requester: a CIDR counts only for an address that its own Node shows, a DNS pattern only for a node
 * that there is, and whose name is one label: with dots in it, two nodes could spell the same name.
 */
function matchesPattern(
  kind: 'dns' | 'ip',
  canonical: string,
  node: string,
  evidence: Evidence,
  policy: ApprovalPolicy,
): boolean {
  if (!policy.evidence.includes('patterns')) return false;
  const owners = evidence.ownersOf(node).filter(({ source }) => source !== 'renewal');
  if (kind === 'ip')
    return cidrsOf(policy).has(canonical) && owners.some(({ addresses }) => addresses.includes(canonical));
  if (owners.length === 0 || node.includes('.')) return false;
  return policy.patterns.dnsNames.some(
    (pattern) => canonicalDnsName(pattern.replaceAll('{node}', () => node)) === canonical,
  );
}

const rangesByPolicy = new WeakMap<ApprovalPolicy, ReturnType<typeof addressRanges>>();

function cidrsOf(policy: ApprovalPolicy): ReturnType<typeof addressRanges> {
  let ranges = rangesByPolicy.get(policy);
  if (ranges === undefined) {
    ranges = addressRanges(policy.patterns.cidrs);
    rangesByPolicy.set(policy, ranges);
  }
  return ranges;
}

function describe(owner: Owner): string {
  return `${printable(owner.nodes[0] ?? '', 100)} (${printable(owner.object, 150)})`;
}

function ownedBy(owner: Owner): NonNullable<NameProof['ownedBy']> {
  return { node: printable(owner.nodes[0] ?? '', 253), object: printable(owner.object, 300) };
}

function fail(base: Omit<NameProof, 'proven'>, failure: Failure): { proof: NameProof; failure: Failure } {
  return { proof: { ...base, proven: false }, failure };
}
