import { canonicalAddress, canonicalDnsName, isDnsName } from '../../names.ts';
import { finished, type Steps } from '../../steps.ts';
import type { EvidenceSource } from '../../tables/evidence-sources.ts';

/** The sources that are read from somewhere; `patterns` are part of the policy. */
export type ReadableSource = Exclude<EvidenceSource, 'patterns'>;

/** An address of an object that the node could have given itself: it proves nothing, and contests nothing of another node. */
export interface WeakAddress {
  readonly address: string;
  /** For people, after the address: `is a secondary address of EC2 instance i-0abc, which …`. */
  readonly why: string;
}

/** One object of the cluster and the names that it has. All names and addresses are canonical. */
export interface Owner {
  readonly source: ReadableSource;
  /** For people: `Machine eksa-system/md-0-x7k2`, `EC2 instance i-0abc`, `Node worker-1`, `certificate that worker-1 serves at 10.0.1.23:10250`. */
  readonly object: string;
  /** The node names it stands for; several only for EC2, which knows an instance by more than one. None while a Machine has no nodeRef. */
  readonly nodes: readonly string[];
  readonly dnsNames: readonly string[];
  readonly addresses: readonly string[];
  /** Only to say why a request for one of them is left, and that a certificate does not prove it. */
  readonly weakAddresses?: readonly WeakAddress[];
  /** It lists no DNS name: those above are only what its node is called. */
  readonly listsNoDnsName?: true;
  /** A Machine or instance of the control plane. */
  readonly controlPlane?: true;
  /**
   * Only of an object that is not live: why, for people, after the object: `is being deleted`. It proves nothing. It still has its names, so it contests
   * them for every other node.
   */
  readonly notLive?: string;
}

/** Whether an object can prove anything. */
export function isLive({ notLive }: Owner): boolean {
  return notLive === undefined;
}

/** What one sweep read from one source. A source that could not be read proves nothing and says why. */
export type SourceReading =
  | {
      readonly source: ReadableSource;
      readonly ok: true;
      readonly lookedAt: number;
      /** Those that are not live too. */
      readonly owners: readonly Owner[];
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

/** The objects under one key of the index. */
export interface Owners {
  /** Of each source at most {@link MAX_OWNERS_OF_ONE_KEY}. */
  readonly owners: readonly Owner[];
  /** Sources that have more of them. No name under such a key can be proven. */
  readonly more: readonly ReadableSource[];
}

/** No honest cluster has as many, and a cluster must not decide how long one judgement takes. */
const MAX_OWNERS_OF_ONE_KEY = 8;

/** All evidence of one sweep, indexed once: the cost of one name does not grow with the fleet, nor with the objects that have it. */
export interface Evidence {
  readonly readings: readonly SourceReading[];
  /** The objects that stand for a node. */
  ownersOf(node: string): Owners;
  /** The objects that have a name. */
  holdersOf(kind: 'dns' | 'ip', canonicalName: string): Owners;
}

/**
 * Builds the index. An object that was listed twice counts once; one that changed in between counts as two, so that the order of a list decides nothing
 * and a request of its node waits for the next sweep.
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
