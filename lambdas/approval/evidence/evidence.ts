import { canonicalAddress, canonicalDnsName, isDnsName } from '../../names.ts';
import { finished, type Steps } from '../../steps.ts';
import type { EvidenceSource } from '../../tables/evidence-sources.ts';

/** Sources that are read; `patterns` is part of the policy. */
export type ReadableSource = Exclude<EvidenceSource, 'patterns'>;

/** An address that the node could have assigned to itself: it proves nothing, and contests nothing but if `addresses` has it too. */
export interface WeakAddress {
  readonly address: string;
  /** Printed after the address: `is a secondary address of EC2 instance i-0abc, which …`. */
  readonly why: string;
}

/** One object of the cluster and its names. All names and addresses are canonical. */
export interface Owner {
  readonly source: ReadableSource;
  /** For people: `Machine eksa-system/md-0-x7k2`, `EC2 instance i-0abc`, `Node worker-1`. */
  readonly object: string;
  /**
   * Names of its node; several only for EC2, where an instance has more than one. Empty while a Machine has no nodeRef.
   */
  readonly nodes: readonly string[];
  readonly dnsNames: readonly string[];
  readonly addresses: readonly string[];
  /** They explain why a request for one is not approved. */
  readonly weakAddresses?: readonly WeakAddress[];
  /** It lists no DNS name: `dnsNames` has at most the name of its node. */
  readonly listsNoDnsName?: true;
  /** A Machine or instance of the control plane. */
  readonly controlPlane?: true;
  /**
   * Why the object is not live, printed after it: `is being deleted`. Absent for a live one. An object that is not live
   * proves nothing, but contests its names for every other node.
   */
  readonly notLive?: string;
}

export function isLive({ notLive }: Owner): boolean {
  return notLive === undefined;
}

/** What one sweep read from one source. A source that could not be read proves nothing and says why. */
export type SourceReading =
  | {
      readonly source: ReadableSource;
      readonly ok: true;
      readonly lookedAt: number;
      /** Including those that are not live. */
      readonly owners: readonly Owner[];
      /** Why a checked node has no owner, by node name. */
      readonly without?: ReadonlyMap<string, string>;
      /**
       * Objects that were too large to read, so that they contest nothing: only a user that may write one can make it
       * so large.
       */
      readonly problem?: string;
      readonly remedy?: string;
    }
  | {
      readonly source: ReadableSource;
      readonly ok: false;
      /** Kind of the error, if one was thrown. */
      readonly kind?: string;
      readonly problem: string;
      readonly remedy: string;
    };

/** The objects under one key of the index. */
export interface Owners {
  /** At most {@link MAX_OWNERS_OF_ONE_KEY} of each source. */
  readonly owners: readonly Owner[];
  /** Sources with more. No name under such a key can be proven. */
  readonly more: readonly ReadableSource[];
}

/** No honest cluster has as many. The limit bounds the time of one judgement. */
const MAX_OWNERS_OF_ONE_KEY = 8;

/** All evidence of one sweep, indexed once: the cost of one name grows neither with the cluster nor with its owners. */
export interface Evidence {
  readonly readings: readonly SourceReading[];
  /** The objects that represent a node. */
  ownersOf(node: string): Owners;
  /** The objects that have a name. */
  holdersOf(kind: 'dns' | 'ip', canonicalName: string): Owners;
}

/**
 * Builds the index. An object listed twice counts once. One that changed in between counts as two: then the order of a
 * list decides nothing, and a request of its node waits for the next sweep.
 */
export function indexEvidence(readings: readonly SourceReading[]): Evidence {
  return finished(indexInSteps(readings));
}

/** The same index, with one step for each object. */
export function* indexInSteps(readings: readonly SourceReading[]): Steps<Evidence> {
  const byNode = new Map<string, Key>();
  const byDnsName = new Map<string, Key>();
  const byAddress = new Map<string, Key>();
  for (const reading of readings) {
    if (!reading.ok) continue;
    const seen = new Set<string>();
    for (const owner of reading.owners) {
      const whole = JSON.stringify(owner);
      if (seen.has(whole)) continue;
      seen.add(whole);
      for (const node of owner.nodes) add(byNode, node, owner);
      for (const name of owner.dnsNames) add(byDnsName, name, owner);
      for (const address of owner.addresses) add(byAddress, address, owner);
      yield;
    }
  }
  return {
    readings,
    ownersOf: (node) => byNode.get(node) ?? NO_OWNERS,
    holdersOf: (kind, name) => (kind === 'dns' ? byDnsName : byAddress).get(name) ?? NO_OWNERS,
  };
}

interface Key {
  readonly owners: Owner[];
  readonly more: ReadableSource[];
}

const NO_OWNERS: Owners = { owners: [], more: [] };

function add(index: Map<string, Key>, name: string, owner: Owner): void {
  const key = index.get(name);
  if (key === undefined) index.set(name, { owners: [owner], more: [] });
  else if (key.owners.at(-1) !== owner) addTo(key, owner);
}

function addTo({ owners, more }: Key, owner: Owner): void {
  const { source } = owner;
  let count = 0;
  for (const other of owners) if (other.source === source) count += 1;
  if (count < MAX_OWNERS_OF_ONE_KEY) owners.push(owner);
  else if (!more.includes(source)) more.push(source);
}

/** An EC2 instance has at most 15 interfaces with 50 addresses each. */
const MAX_NAMES = 1_024;

/**
 * Collects canonical names. Drops whatever is not a name or address of the right kind, and all above {@link MAX_NAMES}.
 */
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
