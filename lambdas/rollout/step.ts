import type { HoldMark, RolloutMark } from '../contracts/rollout-mark.ts';
import type { HoldReason } from '../contracts/rollout-summary.ts';
import type { ObjectVersion } from '../resources/values.ts';
import type { RolloutState } from '../tables/rollout-states.ts';
import type { CheckId } from './checks.ts';
import type { RolloutProgress } from './progress.ts';

/** What a sweep does next about the rollout of one cluster: one thing. */
export type RolloutStep = RolloutNothing | RolloutHold | RolloutAsk | RolloutAct;

interface Planned {
  /** Where the cluster is. */
  readonly state: RolloutState;
  /** The whole story in one sentence, without a full stop. */
  readonly message: string;
  /** Every check that was made, in order; empty once it rolls. */
  readonly checks: readonly RolloutCheck[];
  /** When machines end that a rollout would renew; absent where no handshake showed one. Milliseconds since the epoch. */
  readonly soonestEnd?: number;
  /** The span in which the schedule may begin. */
  readonly span?: { readonly from: number; readonly until: number };
  /** When a maintenance window opens next, where there are any and none is open. */
  readonly nextWindow?: number;
  /** Of the rollout that is going on, or was the last. */
  readonly progress?: RolloutProgress;
  /** Of certmarshal, that is going on or was the last. */
  readonly mark?: RolloutMark;
}

export interface RolloutNothing extends Planned {
  readonly kind: 'nothing';
}

export interface RolloutHold extends Planned {
  readonly kind: 'hold';
  /** All of them. Never empty. */
  readonly reasons: readonly HoldReason[];
  /** To be put on the control plane, where a rollout goes on and it is not there yet. */
  readonly write?: RolloutWrite;
}

export interface RolloutAsk extends Planned {
  readonly kind: 'ask';
  /** For a person. */
  readonly command: string;
  readonly reasons: readonly HoldReason[];
}

export interface RolloutAct extends Planned {
  readonly kind: 'act';
  readonly write: RolloutWrite;
}

/** One write, as it stands. Every one is a merge patch that names uid and resourceVersion, and is tried with `dryRun=All` first. */
export type RolloutWrite =
  | { readonly kind: 'roll-control-plane'; readonly object: ControlPlaneVersion; readonly mark: RolloutMark }
  | { readonly kind: 'pause-control-plane'; readonly object: ControlPlaneVersion; readonly mark: RolloutMark }
  | {
      readonly kind: 'roll-etcd';
      readonly object: ObjectVersion;
      readonly mark: RolloutMark;
      /** The whole list, with the line that makes it another one. */
      readonly postEtcdadmCommands: readonly string[];
    }
  | { readonly kind: 'unpause-control-plane'; readonly object: ControlPlaneVersion; readonly mark: RolloutMark }
  | { readonly kind: 'hold'; readonly object: ControlPlaneVersion; readonly hold: HoldMark }
  | { readonly kind: 'resume'; readonly object: ControlPlaneVersion }
  /** Clears `rollout.after` where it is ours, a pause of ours, and a hold. */
  | {
      readonly kind: 'abort';
      readonly object: ControlPlaneVersion;
      readonly mark: RolloutMark;
      readonly clearAfter: boolean;
      readonly unpause: boolean;
      readonly unhold: boolean;
    };

export interface ControlPlaneVersion extends ObjectVersion {
  readonly apiVersion: 'v1beta2' | 'v1beta1';
}

/** One check of what has to hold before something is written. */
export interface RolloutCheck {
  readonly id: CheckId;
  readonly passed: boolean;
  /** A person at the keyboard answers for it: it does not stop `certmarshal rollout start`. */
  readonly waived?: true;
  /** It passes by itself, in time. */
  readonly passing?: true;
  /** `MachineHealthCheck eksa-system/berlin-kcp-unhealthy`; absent where it is about the cluster as a whole. */
  readonly object?: string;
  /** What was found, without a full stop: `2 of 3 machines healthy`. */
  readonly found: string;
  /** What to do about it; absent when it passed. */
  readonly remedy?: string;
}
