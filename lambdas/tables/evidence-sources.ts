import { entryOf, keysOf } from './keys.ts';

interface EvidenceSourceEntry {
  /**
   * 2: the node cannot write it. 1: the node writes it about itself. 0: it describes what is allowed. An object contests a name of another node only if it is at least as independent as the proof, so that a lying Node
   * cannot contest a Machine.
   */
  readonly independence: 0 | 1 | 2;
  /** It needs Nodes and the service CIDRs: an address shown by a Node may be that of a Service. */
  readonly needsNodes: boolean;
  /** Name of its objects, for people. */
  readonly plural: string;
  /** Prefix of the names of its objects; undefined without objects. */
  readonly object: string | undefined;
  /** Estimated MiB of its owners; undefined if they are not listed. 5,000 nodes with ten names each take 7. */
  readonly maxMib: number | undefined;
}

/** Sources that may prove that a node owns a name. */
export const EVIDENCE_SOURCES = {
  /** Cluster API Machine of the management cluster. */
  machine: { independence: 2, needsNodes: false, plural: 'Machines', object: 'Machine ', maxMib: 16 },
  /** The EC2 instance with this cluster's tag. A cluster cannot change what EC2 says. */
  ec2: { independence: 2, needsNodes: false, plural: 'EC2 instances', object: 'EC2 instance ', maxMib: 64 },
  /** `Node.status.addresses`, which the kubelet writes about itself; opt-in. */
  node: { independence: 1, needsNodes: true, plural: 'Nodes', object: 'Node ', maxMib: 16 },
  /** The remote node networks from EKS, for a node without an EC2 instance; opt-in. */
  hybrid: { independence: 0, needsNodes: true, plural: 'hybrid nodes', object: 'hybrid node ', maxMib: undefined },
  /** CIDR and DNS patterns of the policy; opt-in. */
  patterns: { independence: 0, needsNodes: true, plural: 'patterns', object: undefined, maxMib: undefined },
} as const satisfies Record<string, EvidenceSourceEntry>;

export type EvidenceSource = keyof typeof EVIDENCE_SOURCES;
export const EVIDENCE_SOURCE_IDS = keysOf(EVIDENCE_SOURCES);

/** Whether a source of evidence needs Nodes and the service CIDRs of the cluster. */
export function needsNodes(source: string): boolean {
  return entryOf<EvidenceSourceEntry>(EVIDENCE_SOURCES, source)?.needsNodes === true;
}

/** The node cannot write it. */
export function isIndependent({ source }: { readonly source: EvidenceSource }): boolean {
  return EVIDENCE_SOURCES[source].independence === 2;
}
