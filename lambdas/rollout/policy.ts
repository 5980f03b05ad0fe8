import type { OnceWindow, WeeklyWindow } from '../window/window.ts';

/**
 * An entry of `rollouts.clusters` of fleet.yaml after defaults: what the owner of the fleet allows for the selected
 * clusters.
 */
export interface RolloutPolicy {
  /** Globs over ids. The first matching entry counts. */
  readonly clusters: readonly string[];
  /** How long before expiry a rollout may begin, and until when. */
  readonly begin: Lead;
  readonly stop: Lead;
  /** If there are any, nothing begins outside of them. */
  readonly windows: readonly (OnceWindow | WeeklyWindow)[];
  /** External etcd: print the command for a person, or do it. */
  readonly etcd: 'assist' | 'auto-experimental';
  /** Facts that a person confirms, because no API has them. */
  readonly accepted: readonly Acceptance[];
}

/** Time before expiry: days, or a share of the lifetime if that is less. */
export interface Lead {
  readonly days: number;
  /** Above 0, below 1. */
  readonly share: number;
}

/**
 * - `single-replica`: the API server is down while its only machine is replaced.
 * - `no-surge`: maxSurge 0, a machine is deleted before its replacement exists.
 * - `spare-capacity`: there is room for one more machine.
 * - `etcd-backup`: etcd is backed up, and a restore was tried.
 */
export const ACCEPTANCES = ['single-replica', 'no-surge', 'spare-capacity', 'etcd-backup'] as const;
export type Acceptance = (typeof ACCEPTANCES)[number];

/** Checks that only a person at the keyboard can waive, by name; never fleet.yaml. */
export const WAIVERS = ['one-of-its-management-cluster', 'management-cluster-last'] as const;
export type Waiver = (typeof WAIVERS)[number];

/** The minimum of `stop`: later there is no time left to fix failures. */
export const FLOOR_DAYS = 7;

export const DEFAULT_ROLLOUT_POLICY: Omit<RolloutPolicy, 'clusters'> = {
  begin: { days: 45, share: 0.3 },
  stop: { days: 10, share: 0.1 },
  windows: [],
  etcd: 'assist',
  accepted: [],
};

/** Limits of the whole fleet. */
export interface RolloutLimits {
  /** Concurrent rollouts. */
  readonly atOnce: number;
  /** Milliseconds between two starts. */
  readonly pauseMs: number;
}

export const DEFAULT_ROLLOUT_LIMITS: RolloutLimits = { atOnce: 1, pauseMs: 60 * 60_000 };

/** Between two scheduled rollouts of one cluster. */
export const LOOP_GUARD_DAYS = 90;
/** Between any two rollouts of one cluster. */
export const COOL_DOWN_DAYS = 7;
