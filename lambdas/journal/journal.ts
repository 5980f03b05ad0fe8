import type { EvidenceSource } from '../tables/evidence-sources.ts';
import type { Reason, VerdictKind } from '../tables/reasons.ts';

/**
 * One line of the journal. Flat and stable: fields are added, never changed, and a field means the same in every kind of
 * line. It contains no secret: no key, no token, and of a CSR only its hash.
 */
export type JournalEntry = DecisionEntry | RolloutEntry | PersonEntry;

/** One decision on a request: an approval, or the reason why it is not approved. */
export interface DecisionEntry {
  readonly version: 1;
  readonly kind: 'decision';
  /** When the deciding sweep began. RFC 3339. */
  readonly at: string;
  readonly cluster: string;
  readonly csr: string;
  readonly uid: string;
  /** As the API server set it: `system:node:worker-3`. */
  readonly requester: string;
  /** The requested names, the first ones of `nameCount`; absent if the request cannot be decoded. */
  readonly names: readonly string[];
  readonly nameCount: number;
  readonly verdict: 'approve' | 'deny' | 'leave';
  readonly reason: Reason;
  readonly message: string;
  readonly hostile: boolean;
  /**
   * `written`, `observed` (a policy in mode observe), `none` (not approved), `failed`, `unknown` (sent without an
   * answer), …
   */
  readonly outcome: string;
  readonly policy?: string;
  /** SHA-256 of the policies as canonical JSON, in hexadecimal digits. */
  readonly policyHash: string;
  /** What proved or contradicted a name. */
  readonly evidence: readonly JournalEvidence[];
  /** SHA-256 of the bytes of `spec.request`; absent when it was missing. */
  readonly requestHash?: string;
  /** Refusals of this sweep beyond its limit, which have no line; only in the last one that has. */
  readonly leftOut?: number;
  readonly program: string;
}

/** One write of a rollout, or why it did not happen. */
export interface RolloutEntry {
  readonly version: 1;
  readonly kind: 'rollout';
  /** When it was planned. RFC 3339. */
  readonly at: string;
  readonly cluster: string;
  /** `KubeadmControlPlane eksa-system/berlin`, `EtcdadmCluster eksa-system/berlin-etcd`. */
  readonly object: string;
  readonly uid: string;
  /** `roll-control-plane`, `pause-control-plane`, `roll-etcd`, `unpause-control-plane`, `hold`, `abort`. */
  readonly write: string;
  /** Id of the rollout; absent if none is in progress. */
  readonly rollout?: string;
  /** RFC 3339: when the rollout began. */
  readonly start?: string;
  /** `schedule`, `person`. */
  readonly trigger?: string;
  /** Why it rolls; for a hold the id of its reason. */
  readonly reason: string;
  /** For a hold its text; otherwise the error of the API server, of a webhook or of AWS. */
  readonly message?: string;
  /** `written`, `overtaken`, `refused`, `locked`, `failed`, `unknown` (sent without an answer). */
  readonly outcome: string;
  readonly program: string;
}

/**
 * A decision of a person at the keyboard. `reason`, `message`, `hostile`, `policy` and `evidence` are those of
 * certmarshal's judgement, even if the person decided otherwise.
 */
export interface PersonEntry extends Omit<DecisionEntry, 'kind' | 'verdict'> {
  readonly kind: 'person';
  /** The decision of the person. */
  readonly verdict: 'approve' | 'deny';
  /** The verdict of certmarshal. */
  readonly judged: VerdictKind;
  /** Ids of the rules that the request failed; empty also if it was not judged. */
  readonly failed: readonly string[];
  /** The user, as the API server names it. */
  readonly by: string;
  /** The reason that the person gave. */
  readonly because: string;
}

export interface JournalEvidence {
  readonly source: EvidenceSource;
  readonly object: string;
  /** RFC 3339: when the sweep that read it began. */
  readonly readAt: string;
}

/** The record of decisions of the fleet. */
export interface Journal {
  /**
   * Writes the decisions of one sweep of a cluster.
   *
   * @throws AwsError when they could not be written
   */
  append(cluster: string, entries: readonly JournalEntry[], signal: AbortSignal): Promise<void>;
}

/** NDJSON. */
export function linesOf(entries: readonly JournalEntry[]): string {
  return entries.map((entry) => `${JSON.stringify(entry)}\n`).join('');
}
