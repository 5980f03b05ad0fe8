import type { EvidenceSource } from '../approval/policy.ts';
import type { Reason } from '../approval/reasons.ts';

/**
 * One decision that wrote something or refused something: one line of a journal object. A rollout step will be another `kind`. Flat and stable: fields are added,
 * never changed. Nothing secret is in it: no key, no token, of the request only its hash.
 */
export interface JournalEntry {
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

export interface JournalEvidence {
  readonly source: EvidenceSource;
  readonly object: string;
  /** RFC 3339: when the sweep that read it began. */
  readonly readAt: string;
}

/** An entry in its chain. What is hashed is the line without `hash`, as it stands in the object. */
export interface JournalLine extends JournalEntry {
  /** From 1 on, one for each line of the cluster, without a gap. */
  readonly seq: number;
  /** `hash` of the line before it; 64 zeros for the first one. */
  readonly previous: string;
  /** SHA-256 in hexadecimal digits. */
  readonly hash: string;
}
