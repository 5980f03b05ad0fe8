import { canonicalAddress, canonicalDnsName, spellsAddress } from '../../names.ts';
import { printable } from '../../printable.ts';
import { isIndependent } from '../../tables/evidence-sources.ts';
import type { Reason } from '../../tables/reasons.ts';
import type { GeneralName } from '../../x509/certificate-request.ts';
import { type Evidence, isLive, type Owner } from '../evidence/evidence.ts';
import { nodeWithoutInstance } from '../evidence/node-kinds.ts';
import type { ApprovalPolicy } from '../policy.ts';

/** The certificate that a node serves now, and whether it may prove anything of a request. */
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
 * The certificate of the node that asks, where the policy trusts renewals. A certificate says who had its names when it was issued, so it only repeats: it
 * counts for a request of exactly its names, and for no node of which a Machine or an instance that was read says that it is going, or that is several.
 * Where the policy trusts Machines or instances and these know nodes, one that none of them knows renews nothing: its own may be gone for good.
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
 * Who denies that the node, and no other, has the name now, for people; undefined if nobody does. The Node has to show it, as kubelets ask for no other names; and
 * since the kubelet writes that, its word never stands against a Machine or an instance of the node: what these list must include the name.
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
  // By any source: a live object, one that is not live, or a Node that is called so.
  const others = kind === 'dns' ? [...holders, ...evidence.ownersOf(canonical).owners] : holders;
  const other = others.find(({ nodes }) => !nodes.includes(node));
  return other === undefined ? undefined : `${printable(other.object, 150)} has it too`;
}

/** Whether an object that does not list the name thereby says that its node does not have it. */
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

/** The names of a request must be those of the certificate: none more, none fewer, and of no other kind. */
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
