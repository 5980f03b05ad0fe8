import type { EvidenceSource } from '../tables/evidence-sources.ts';
import type { Reason, VerdictKind } from '../tables/reasons.ts';

/**
 * One line of a journal object. Flat and stable: fields are added, never changed, and a field means the same in every
 * kind of line. It contains no secret: no key, no token, and of a request only its hash.
 */
export type JournalEntry = DecisionEntry | RolloutEntry | PersonEntry;

/** One decision on a request: an approval, or the reason why it is not approved. */
export interface DecisionEntry {
  readonly version: 1;
  readonly kind: 'decision';
  /** When the deciding sweep began. RFC 3339. */
  readonly at: string;
  /** Id in the fleet. */
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
  /** Version of certmarshal. */
  readonly program: string;
}

/** One write of a rollout, or why it did not happen. */
export interface RolloutEntry {
  readonly version: 1;
  readonly kind: 'rollout';
  /** When it was planned. RFC 3339. */
  readonly at: string;
  /** Id in the fleet. */
  readonly cluster: string;
  /** `KubeadmControlPlane eksa-system/berlin`, `EtcdadmCluster eksa-system/berlin-etcd`. */
  readonly object: string;
  readonly uid: string;
  /** `roll-control-plane`, `pause-control-plane`, `roll-etcd`, `unpause-control-plane`, `hold`, `resume`, `abort`. */
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
  /** Version of certmarshal. */
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

/**
 * The record of decisions of the fleet: append-only objects, `journal/<day>/<id of the cluster>/<first seq>.ndjson`,
 * each with the lines of one sweep.
 *
 * Appending is idempotent: a repeated sweep, or the same judgement of the same request, adds nothing. Concurrent sweeps
 * make one chain without a fork.
 */
export interface Journal {
  /**
   * Appends the new ones of these entries of one cluster. Calls nothing if there are none and none is waiting.
   *
   * @returns the number of new entries
   * @throws AwsError when some could not be written; appending them again is safe
   */
  append(cluster: string, entries: readonly JournalEntry[], signal: AbortSignal): Promise<number>;
}
