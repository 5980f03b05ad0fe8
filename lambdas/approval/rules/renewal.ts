import { canonicalAddress, canonicalDnsName, spellsAddress } from '../../names.ts';
import { printable } from '../../printable.ts';
import { isIndependent } from '../../tables/evidence-sources.ts';
import type { Reason } from '../../tables/reasons.ts';
import type { GeneralName } from '../../x509/certificate-request.ts';
import { type Evidence, isLive, type Owner } from '../evidence/evidence.ts';
import { nodeWithoutInstance } from '../evidence/node-kinds.ts';
import type { ApprovalPolicy } from '../policy.ts';

/** The certificate that a node serves now, and whether it may prove names of a request. */
export interface Renewal {
  readonly certificate: Owner;
  /** Why it proves no name of the request. */
  readonly fault?: RenewalFault;
}

/** For people, after `DNS name node-1 is not proven: `. */
export interface RenewalFault {
  readonly reason: Extract<Reason, 'SanNotOwned' | 'EvidenceMissing' | 'EvidenceAmbiguous'>;
  readonly why: string;
}

/**
 * The certificate that the requesting node serves, if the policy trusts renewals. It shows who had its names when it
 * was issued. So it counts only for a request of exactly its names, and not for a node whose Machine or instance is not
 * live, or that several objects claim to be. If the policy trusts Machines or instances and those that were read know
 * other nodes but not this one, it counts for nothing: the machine may be gone for good.
 */
export function renewalFor(
  names: readonly GeneralName[],
  node: string,
  evidence: Evidence,
  policy: ApprovalPolicy,
): Renewal | undefined {
  if (!policy.evidence.includes('renewal')) return undefined;
  const [certificate, ...others] = evidence.ownersOf(node).owners.filter(({ source }) => source === 'renewal');
  if (certificate === undefined || others.length > 0) return undefined;
  const fault = faultOfNode(node, evidence, policy) ?? faultOfRequest(names, certificate);
  return fault === undefined ? { certificate } : { certificate, fault };
}

/**
 * What contradicts that the node, and no other, has the name now; undefined if nothing does. The Node has to show the
 * name, as kubelets ask for no others. The kubelet writes that, so it never outweighs a Machine or instance of the
 * node: if these should list the name, they must.
 */
export function deniedBy(kind: 'dns' | 'ip', canonical: string, node: string, evidence: Evidence): string | undefined {
  const { owners } = evidence.ownersOf(node);
  const { owners: holders, more } = evidence.holdersOf(kind, canonical);
  const own = owners.find(
    (owner) => isIndependent(owner) && isLive(owner) && tells(owner, kind, canonical) && !holders.includes(owner),
  );
  if (own !== undefined) return `${printable(own.object, 150)} does not`;
  if (!owners.some((owner) => owner.source === 'node' && isLive(owner) && holders.includes(owner)))
    return 'its Node does not show it';
  if (more.length > 0) return 'more objects have it than a name can belong to';
  // Of any source: live, not live, or a Node of this name.
  const others = kind === 'dns' ? [...holders, ...evidence.ownersOf(canonical).owners] : holders;
  const other = others.find(({ nodes }) => !nodes.includes(node));
  return other === undefined ? undefined : `${printable(other.object, 150)} has it too`;
}

/** Whether an object without the name shows that its node does not have it. */
function tells(
  { addresses, weakAddresses = [], listsNoDnsName }: Owner,
  kind: 'dns' | 'ip',
  canonical: string,
): boolean {
  if (kind === 'ip') return addresses.length + weakAddresses.length > 0;
  return listsNoDnsName !== true || spellsAddress(canonical);
}

function faultOfNode(node: string, evidence: Evidence, policy: ApprovalPolicy): RenewalFault | undefined {
  const { owners: all, more } = evidence.ownersOf(node);
  if (more.length > 0) return { reason: 'EvidenceAmbiguous', why: 'too many objects claim to be the node' };
  const independent = all.filter(isIndependent);
  const owners = independent.filter(isLive);
  for (const several of Map.groupBy(owners, ({ source }) => source).values())
    if (several.length > 1)
      return {
        reason: 'EvidenceAmbiguous',
        why: `${several.length} objects claim to be the node, ${several
          .slice(0, 3)
          .map(({ object }) => printable(object, 100))
          .join(', ')}`,
      };
  const notLive = independent.find((owner) => !isLive(owner));
  if (notLive !== undefined)
    return {
      reason: 'SanNotOwned',
      why: `${printable(notLive.object, 150)}, which is the node, ${printable(notLive.notLive ?? '', 150)}`,
    };
  if (owners.length > 0) return undefined;
  const strangers = evidence.readings.find(
    (reading) =>
      reading.ok &&
      isIndependent(reading) &&
      reading.owners.some(isLive) &&
      policy.evidence.includes(reading.source) &&
      !(reading.source === 'ec2' && nodeWithoutInstance(node) !== undefined),
  );
  if (strangers === undefined) return undefined;
  const kinds = strangers.source === 'machine' ? 'Machines' : 'EC2 instances';
  return {
    reason: 'EvidenceMissing',
    why: `there are ${kinds} of other nodes but none of this one, so its request is no renewal`,
  };
}

/** The request must have exactly the names of the certificate, and no other kind. */
function faultOfRequest(
  names: readonly GeneralName[],
  { object, dnsNames, addresses }: Owner,
): RenewalFault | undefined {
  const asked = names.map((name) => {
    if (name.kind === 'dNSName') return `dns ${canonicalDnsName(name.value)}`;
    return name.kind === 'iPAddress' ? `ip ${canonicalAddress(name.value)}` : 'other';
  });
  const served = new Set([...dnsNames.map((name) => `dns ${name}`), ...addresses.map((address) => `ip ${address}`)]);
  if (asked.every((name) => served.has(name)) && new Set(asked).size === served.size) return undefined;
  return { reason: 'SanNotOwned', why: `the request is not for exactly the names of the ${printable(object, 150)}` };
}
