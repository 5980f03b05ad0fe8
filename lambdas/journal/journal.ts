import type { EvidenceSource } from '../tables/evidence-sources.ts';
import type { Reason, VerdictKind } from '../tables/reasons.ts';

/**
 * One line of a journal object. Flat and stable: fields are added, never changed, and one that several kinds have means the same in each. Nothing secret is in it: no key,
 * no token, of a request only its hash.
 */
export type JournalEntry = DecisionEntry | RolloutEntry | RecoveryEntry | PersonEntry;

/** One decision on a request that wrote something or refused something. */
export interface DecisionEntry {
  readonly version: 1;
  readonly kind: 'decision';
  /** RFC 3339: when the sweep began that decided. */
  readonly at: string;
  /** Id in the fleet. */
  readonly cluster: string;
  readonly csr: string;
  readonly uid: string;
  /** As the API server set it: `system:node:worker-3`. */
  readonly requester: string;
  /** The names that were asked for, the first ones of `nameCount`; those of a request that cannot be decoded excepted. */
  readonly names: readonly string[];
  readonly nameCount: number;
  readonly verdict: 'approve' | 'deny' | 'leave';
  readonly reason: Reason;
  readonly message: string;
  readonly hostile: boolean;
  /** `written`, `observed` (a policy in mode observe), `none` (left), `failed`, `unknown` (sent, and no answer says whether it was done), … */
  readonly outcome: string;
  readonly policy?: string;
  /** SHA-256 of the policies that judged, as canonical JSON, in hexadecimal digits. */
  readonly policyHash: string;
  /** What proved a name, or contradicted it. */
  readonly evidence: readonly JournalEvidence[];
  /** SHA-256 of the bytes of `spec.request`; absent when it was missing. */
  readonly requestHash?: string;
  /** Version of certmarshal. */
  readonly program: string;
}

/** One write of a rollout, or what became of it instead. */
export interface RolloutEntry {
  readonly version: 1;
  readonly kind: 'rollout';
  /** RFC 3339: when the look was that planned it. */
  readonly at: string;
  /** Id in the fleet. */
  readonly cluster: string;
  /** `KubeadmControlPlane eksa-system/berlin`, `EtcdadmCluster eksa-system/berlin-etcd`, `node group blue`. */
  readonly object: string;
  /** Of the object; absent for a node group. */
  readonly uid?: string;
  /** `roll-control-plane`, `pause-control-plane`, `roll-etcd`, `unpause-control-plane`, `hold`, `resume`, `abort`, `update-node-group`. */
  readonly write: string;
  /** Id of the rollout; absent where none goes on. */
  readonly rollout?: string;
  /** RFC 3339: when the rollout began. */
  readonly start?: string;
  /** `schedule`, `person`. */
  readonly trigger?: string;
  /** Why it rolls; of a hold the id of its reason. */
  readonly reason: string;
  /** Of a hold its words, else those of the API server, of a webhook or of AWS where it was refused or failed. */
  readonly message?: string;
  /** `written`, `overtaken`, `refused`, `locked`, `failed`, `unknown` (sent, and no answer says whether it was done). */
  readonly outcome: string;
  /** Version of certmarshal. */
  readonly program: string;
}

/** One decision of a recovery window that approved a request, or left it. */
export interface RecoveryEntry {
  readonly version: 1;
  readonly kind: 'recovery';
  /** RFC 3339: when the sweep of the window began. */
  readonly at: string;
  /** Id in the fleet. */
  readonly cluster: string;
  readonly csr: string;
  readonly uid: string;
  /** As the API server set it: `system:node:cp-1`, `system:bootstrap:abcdef`. */
  readonly requester: string;
  /** That the certificate would be for; absent when the request names none. */
  readonly node?: string;
  /** Never `deny`. */
  readonly verdict: 'approve' | 'deny' | 'leave';
  readonly reason: Reason;
  /** What proved it, or what was looked at and not found. */
  readonly message: string;
  readonly hostile: boolean;
  readonly outcome: string;
  /** Id of the window. */
  readonly window: string;
  /** Who opened it. */
  readonly by: string;
  /** When it closes. RFC 3339. */
  readonly until: string;
  /** SHA-256 of the bytes of `spec.request`; absent when it was missing. */
  readonly requestHash?: string;
  /** Version of certmarshal. */
  readonly program: string;
}

/** What a person decided on a request at the keyboard. `reason`, `message`, `hostile`, `policy` and `evidence` are those of the judgement, whatever the person made of it. */
export interface PersonEntry extends Omit<DecisionEntry, 'kind' | 'verdict'> {
  readonly kind: 'person';
  /** That of the person. */
  readonly verdict: 'approve' | 'deny';
  /** That of the judgement. */
  readonly judged: VerdictKind;
  /** Ids of the rules that the request failed; empty also where it was not judged. */
  readonly failed: readonly string[];
  /** Who, as the API server said. */
  readonly by: string;
  /** Why, in the words of the person. */
  readonly because: string;
}

export interface JournalEvidence {
  readonly source: EvidenceSource;
  readonly object: string;
  /** RFC 3339: when the sweep that read it began. */
  readonly readAt: string;
}

/**
 * Where the decisions of the fleet are kept: append-only objects, `journal/<day>/<id of the cluster>/<first seq>.ndjson`, each with the lines of one sweep.
 *
 * A sweep that is repeated, or that judges the same request again with the same result, adds nothing. Two sweeps at once make one chain, no fork.
 */
export interface Journal {
  /**
   * Appends what is new of these entries, all of one cluster. Costs nothing where there are none, and none wait from before.
   *
   * @returns how many were new
   * @throws AwsError when they could not all be kept; appended again, those that were add nothing
   */
  append(cluster: string, entries: readonly JournalEntry[], signal: AbortSignal): Promise<number>;
}
