import type { EvidenceSource } from '../tables/evidence-sources.ts';
import type { Reason, VerdictKind } from '../tables/reasons.ts';
import type { Mode } from './policy.ts';

/** One rule, evaluated. All rules are evaluated, also after the first that failed, so that a person sees the whole picture. */
export interface Check {
  /** Its id. */
  readonly rule: string;
  readonly passed: boolean;
  readonly expected: string;
  readonly found: string;
  /** The reason that the verdict takes when this check is the first that failed. */
  readonly reason?: Reason;
  /** True when the failure can have no innocent cause; a policy may then opt in to denial. */
  readonly hostile?: boolean;
}

/** One name the request asks for, with who owns it. */
export interface NameProof {
  readonly kind: 'dns' | 'ip';
  readonly name: string;
  readonly proven: boolean;
  /** The object that proves it, for example `Machine eksa-system/md-0-x7k2`. */
  readonly provenBy?: { readonly source: EvidenceSource; readonly object: string };
  /** Who owns it instead, as far as the evidence tells. */
  readonly ownedBy?: { readonly node: string; readonly object: string };
}

/** The decision on one request: plain data, safe to print, to log and to serialize. */
export interface Verdict {
  readonly verdict: VerdictKind;
  readonly reason: Reason;
  /** One sentence: what was proven and by what, or what was looked at and not found. */
  readonly message: string;
  /** The policy that decided; absent when none was asked. */
  readonly policy?: string;
  readonly mode?: Mode;
  /** True when a check failed in a way that has no innocent cause, whatever the policy makes of it. */
  readonly hostile: boolean;
  readonly checks: readonly Check[];
  readonly names: readonly NameProof[];
}
