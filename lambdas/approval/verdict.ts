import type { VerdictFacts } from '../contracts/verdict-facts.ts';
import type { EvidenceSource } from '../tables/evidence-sources.ts';
import type { Reason, VerdictKind } from '../tables/reasons.ts';
import type { Mode } from './policy.ts';

/** The result of one rule. All rules are evaluated, even after a failure, so that an engineer sees every reason. */
export interface Check {
  readonly rule: string;
  readonly passed: boolean;
  readonly expected: string;
  readonly found: string;
  /** The reason of the verdict if this check decides it. */
  readonly reason?: Reason;
  /** True if the failure has no innocent cause; a policy may opt in to denying such requests. */
  readonly hostile?: boolean;
  /** More than the rule and what it found. */
  readonly facts?: VerdictFacts;
}

/** One requested name and its owner. */
export interface NameProof {
  readonly kind: 'dns' | 'ip';
  readonly name: string;
  readonly proven: boolean;
  /** The object that proves it, for example `Machine eksa-system/md-0-x7k2`. */
  readonly provenBy?: { readonly source: EvidenceSource; readonly object: string };
  /** Its owner according to the evidence, if that is another node. */
  readonly ownedBy?: { readonly node: string; readonly source: EvidenceSource; readonly object: string };
}

/** The decision on one request: plain data, safe to print, to log and to serialize. */
export interface Verdict {
  readonly verdict: VerdictKind;
  readonly reason: Reason;
  readonly facts: VerdictFacts;
  /** The policy that decided; absent if no policy judged it. */
  readonly policy?: string;
  readonly mode?: Mode;
  /** True if a failed check has no innocent cause, whatever the policy does about it. */
  readonly hostile: boolean;
  readonly checks: readonly Check[];
  readonly names: readonly NameProof[];
}
