import { entryOf, keysOf } from './keys.ts';

interface EvidenceSourceEntry {
  /**
   * 2: it cannot be written from the node. 1: the node writes it about itself. 0: it says what was so before, or what may be. An object contests a name of
   * another node only where it is at least as independent as the proof, so that a lying Node cannot contest a Machine.
   */
  readonly independence: 0 | 1 | 2;
  /** Nodes have to be read for it, and the service CIDRs be known: what a Node shows may be the address of a Service. */
  readonly needsNodes: boolean;
  /** Its objects, for people. */
  readonly plural: string;
  /** The words that the name of one begins with; undefined where there is no object. */
  readonly object: string | undefined;
  /** Estimated MiB of owners that are read of it; undefined where they are not listed. 5,000 nodes with ten names each take 7. */
  readonly maxMib: number | undefined;
}

/** Who may prove that a node owns a name. */
export const EVIDENCE_SOURCES = {
  /** Cluster API Machine of the management cluster. */
  machine: { independence: 2, needsNodes: false, plural: 'Machines', object: 'Machine ', maxMib: 16 },
  /** The EC2 instance that carries this cluster's tag. What EC2 says is not in the hand of a cluster. */
  ec2: { independence: 2, needsNodes: false, plural: 'EC2 instances', object: 'EC2 instance ', maxMib: 64 },
  /** `Node.status.addresses`, which the kubelet writes about itself; opt-in. */
  node: { independence: 1, needsNodes: true, plural: 'Nodes', object: 'Node ', maxMib: 16 },
  /** The remote node networks that EKS names, for a node that is no EC2 instance; opt-in. */
  hybrid: { independence: 0, needsNodes: true, plural: 'hybrid nodes', object: 'hybrid node ', maxMib: undefined },
  /** The certificate that the node serves now, for a request with exactly its names; opt-in. Any object that has one of the names now contests it; it contests none. */
  renewal: {
    independence: 0,
    needsNodes: true,
    plural: 'serving certificates',
    object: 'certificate ',
    maxMib: undefined,
  },
  /** CIDR and DNS patterns of the policy; opt-in. */
  patterns: { independence: 0, needsNodes: true, plural: 'patterns', object: undefined, maxMib: undefined },
} as const satisfies Record<string, EvidenceSourceEntry>;

export type EvidenceSource = keyof typeof EVIDENCE_SOURCES;
export const EVIDENCE_SOURCE_IDS = keysOf(EVIDENCE_SOURCES);

/** Whether a source of evidence needs Nodes and the service CIDRs of the cluster. */
export function needsNodes(source: string): boolean {
  return entryOf<EvidenceSourceEntry>(EVIDENCE_SOURCES, source)?.needsNodes === true;
}

/** It cannot be written from the node. */
export function isIndependent({ source }: { readonly source: EvidenceSource }): boolean {
  return EVIDENCE_SOURCES[source].independence === 2;
}
