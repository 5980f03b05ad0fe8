import { printable } from '../printable.ts';
import { canonicalAddress, canonicalDnsName, isDnsName } from './names.ts';
import type { EvidenceSource } from './policy.ts';

/** The sources that are read from somewhere; `patterns` are part of the policy. */
export type ReadableSource = Exclude<EvidenceSource, 'patterns'>;

/** An address of an object that the node could have given itself: it proves nothing, and contests nothing of another node. */
export interface WeakAddress {
  readonly address: string;
  /** For people, after the address: `is a secondary address of EC2 instance i-0abc, which …`. */
  readonly why: string;
}

/** One object that says which names a node owns. All names and addresses are canonical. */
export interface Owner {
  readonly source: ReadableSource;
  /** For people: `Machine eksa-system/md-0-x7k2`, `EC2 instance i-0abc`, `Node worker-1`, `certificate that worker-1 serves at 10.0.1.23:10250`. */
  readonly object: string;
  /** Namespace of a Machine. All Machines of a Cluster are in its namespace. */
  readonly namespace?: string;
  /** The node names it stands for; several only for EC2, which knows an instance by more than one. */
  readonly nodes: readonly string[];
  readonly dnsNames: readonly string[];
  readonly addresses: readonly string[];
  /** Only to say why a request for one of them is left, and that a certificate does not prove it. */
  readonly weakAddresses?: readonly WeakAddress[];
  /** It lists no DNS name: those above are only what its node is called. */
  readonly listsNoDnsName?: true;
}

/**
 * An object that is no live owner, and so proves nothing: it is going, or it has no node yet. Against a certificate of before it speaks all the same: its
 * nodes renew nothing, and its names are renewed by no other node.
 */
export interface Veto extends Owner {
  /** For people, after the object: `is being deleted`. */
  readonly why: string;
}

/** What one sweep read from one source. A source that could not be read proves nothing and says why. */
export type SourceReading =
  | {
      readonly source: ReadableSource;
      readonly ok: true;
      readonly lookedAt: number;
      readonly owners: readonly Owner[];
      /** Read only where a policy trusts renewals. */
      readonly vetoes?: readonly Veto[];
      /** By name of a node that was looked at and has no owner: why, for people. */
      readonly without?: ReadonlyMap<string, string>;
    }
  | {
      readonly source: ReadableSource;
      readonly ok: false;
      /** Of the error, where one was thrown. */
      readonly kind?: string;
      readonly problem: string;
      readonly remedy: string;
    };

/** All evidence of one sweep, indexed once so that the cost of a decision does not grow with the fleet. */
export interface Evidence {
  readonly readings: readonly SourceReading[];
  ownersOf(node: string): readonly Owner[];
  holdersOf(kind: 'dns' | 'ip', canonicalName: string): readonly Owner[];
  vetoesOf(node: string): readonly Veto[];
  vetoesOn(kind: 'dns' | 'ip', canonicalName: string): readonly Veto[];
}

/** Builds the index. An object that was listed twice counts once. */
export function indexEvidence(given: readonly SourceReading[]): Evidence {
  const readings = given.map(ofOneCluster);
  const owners = indexObjects(readings.map((reading) => (reading.ok ? reading.owners : [])));
  const vetoes = indexObjects(readings.map((reading) => (reading.ok ? (reading.vetoes ?? []) : [])));
  return {
    readings,
    ownersOf: owners.of,
    holdersOf: owners.having,
    vetoesOf: vetoes.of,
    vetoesOn: vetoes.having,
  };
}

interface Index<T> {
  readonly of: (node: string) => readonly T[];
  readonly having: (kind: 'dns' | 'ip', canonicalName: string) => readonly T[];
}

function indexObjects<T extends Owner>(lists: readonly (readonly T[])[]): Index<T> {
  const byNode = new Map<string, T[]>();
  const byDnsName = new Map<string, T[]>();
  const byAddress = new Map<string, T[]>();
  for (const list of lists) {
    const seen = new Set<string>();
    for (const owner of list) {
      if (seen.has(owner.object)) continue;
      seen.add(owner.object);
      for (const node of owner.nodes) add(byNode, node, owner);
      for (const name of owner.dnsNames) add(byDnsName, name, owner);
      for (const address of owner.addresses) add(byAddress, address, owner);
    }
  }
  return {
    of: (node) => byNode.get(node) ?? [],
    having: (kind, name) => (kind === 'dns' ? byDnsName : byAddress).get(name) ?? [],
  };
}

/** Clusters are told apart by name; two of one name in a management cluster would vouch for each other's nodes. */
function ofOneCluster(reading: SourceReading): SourceReading {
  if (!reading.ok) return reading;
  const namespaces = new Set(reading.owners.flatMap(({ namespace }) => namespace ?? []));
  if (namespaces.size < 2) return reading;
  const names = [...namespaces].slice(0, 3).map((namespace) => printable(namespace, 63));
  return {
    source: reading.source,
    ok: false,
    problem: `Machines of the cluster are in several namespaces (${names.join(', ')}): two Clusters have its name`,
    remedy: 'Rename one of them.',
  };
}

function add<T>(index: Map<string, T[]>, key: string, owner: T): void {
  const owners = index.get(key);
  if (owners === undefined) index.set(key, [owner]);
  else if (!owners.includes(owner)) owners.push(owner);
}

/** An EC2 instance has at most 15 interfaces with 50 addresses each. */
const MAX_NAMES = 1_024;

/** Collects names in canonical form; what is no name or address of the right kind is dropped, and so is what no object can need. */
export function ownedNames(
  dnsNames: Iterable<string>,
  addresses: Iterable<string>,
): Pick<Owner, 'dnsNames' | 'addresses'> {
  const dns = new Set<string>();
  for (const name of dnsNames) {
    const canonical = canonicalDnsName(name);
    // An address under a DNS type proves no DNS name.
    if (isDnsName(canonical) && dns.size < MAX_NAMES) dns.add(canonical);
  }
  const ips = new Set<string>();
  for (const text of addresses) {
    const canonical = canonicalAddress(text);
    if (canonical !== undefined && ips.size < MAX_NAMES) ips.add(canonical);
  }
  return { dnsNames: [...dns], addresses: [...ips] };
}
