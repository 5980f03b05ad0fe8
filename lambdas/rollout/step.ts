import type { HoldMark, RolloutMark } from '../contracts/rollout-mark.ts';
import type { HoldReason } from '../contracts/rollout-summary.ts';
import type { ObjectVersion } from '../resources/values.ts';
import type { RolloutState } from '../tables/rollout-states.ts';
import type { CheckId } from './checks.ts';
import type { RolloutProgress } from './progress.ts';

/** The next action for the rollout of one cluster. */
export type RolloutStep = RolloutNothing | RolloutHold | RolloutAsk | RolloutAct;

interface Planned {
  readonly state: RolloutState;
  /** The whole story in one sentence, without a full stop. */
  readonly message: string;
  /** Every check, in order; empty once it rolls. */
  readonly checks: readonly RolloutCheck[];
  /**
   * Expiry of certificates that a rollout would renew; absent if no handshake showed one. Milliseconds since the epoch.
   */
  readonly soonestEnd?: number;
  /** The span in which the schedule may begin. */
  readonly span?: { readonly from: number; readonly until: number };
  /** When a maintenance window opens next, if there are any and none is open. */
  readonly nextWindow?: number;
  /** Of the current or last rollout. */
  readonly progress?: RolloutProgress;
  /** certmarshal's current or last rollout. */
  readonly mark?: RolloutMark;
}

export interface RolloutNothing extends Planned {
  readonly kind: 'nothing';
}

export interface RolloutHold extends Planned {
  readonly kind: 'hold';
  /** All of them. Never empty. */
  readonly reasons: readonly HoldReason[];
  /** To write to the control plane, if a rollout is in progress and it is missing. */
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

/** One exact write: a merge patch that names uid and resourceVersion, tried with `dryRun=All` first. */
export type RolloutWrite =
  | { readonly kind: 'roll-control-plane'; readonly object: ControlPlaneVersion; readonly mark: RolloutMark }
  | { readonly kind: 'pause-control-plane'; readonly object: ControlPlaneVersion; readonly mark: RolloutMark }
  | {
      readonly kind: 'roll-etcd';
      readonly object: ObjectVersion;
      readonly mark: RolloutMark;
      /** The whole list, with the line that changes it. */
      readonly postEtcdadmCommands: readonly string[];
    }
  | { readonly kind: 'unpause-control-plane'; readonly object: ControlPlaneVersion; readonly mark: RolloutMark }
  | { readonly kind: 'hold'; readonly object: ControlPlaneVersion; readonly hold: HoldMark }
  /** Clears `rollout.after` if it is ours, our pause, and a hold. */
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

export interface RolloutCheck {
  readonly id: CheckId;
  readonly passed: boolean;
  /** A person at the keyboard may waive it: it does not stop `certmarshal rollout start`. */
  readonly waived?: true;
  /** It passes with time. */
  readonly passing?: true;
  /** It passed, with something that a person should know. */
  readonly warning?: true;
  /** `MachineHealthCheck eksa-system/berlin-kcp-unhealthy`; absent if it is about the whole cluster. */
  readonly object?: string;
  /** What was found, without a full stop: `2 of 3 machines healthy`. */
  readonly found: string;
  /** The remedy; absent if it passed without a warning. */
  readonly remedy?: string;
}
