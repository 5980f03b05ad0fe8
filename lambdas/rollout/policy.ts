import type { OnceWindow, WeeklyWindow } from '../window/window.ts';

/** An entry of `rollouts.clusters` of fleet.yaml after defaults: what the owner of the fleet agrees to for the clusters that it names. */
export interface RolloutPolicy {
  /** Globs over ids. The first entry that matches is that of a cluster. */
  readonly clusters: readonly string[];
  /** How long before the end a rollout may begin, and until when. */
  readonly begin: Lead;
  readonly stop: Lead;
  /** Where there are any, nothing begins outside of them. */
  readonly windows: readonly (OnceWindow | WeeklyWindow)[];
  /** External etcd: tell a person the command, or do it. */
  readonly etcd: 'assist' | 'auto-experimental';
  /** What a person vouches for, because no API tells. */
  readonly accepted: readonly Acceptance[];
  /** EKS: update managed node groups that predate a successor of the authority. */
  readonly nodeGroups: boolean;
}

/** Before the end of a certificate: days, or a share of its whole life where that is less. */
export interface Lead {
  readonly days: number;
  /** Above 0, below 1. */
  readonly share: number;
}

/**
 * - `single-replica`: the API server is away while its one machine is replaced.
 * - `no-surge`: maxSurge 0, a machine goes before its successor comes.
 * - `spare-capacity`: there is room for one machine more.
 * - `etcd-backup`: etcd is backed up, and that was tried.
 */
export const ACCEPTANCES = ['single-replica', 'no-surge', 'spare-capacity', 'etcd-backup'] as const;
export type Acceptance = (typeof ACCEPTANCES)[number];

/** Checks that a person at the keyboard answers for by name only: no entry of fleet.yaml does. */
export const WAIVERS = ['one-of-its-management-cluster', 'management-cluster-last'] as const;
export type Waiver = (typeof WAIVERS)[number];

/** The least that `stop` can be: later there is no time left to mend what goes wrong. */
export const FLOOR_DAYS = 7;

export const DEFAULT_ROLLOUT_POLICY: Omit<RolloutPolicy, 'clusters'> = {
  begin: { days: 45, share: 0.3 },
  stop: { days: 10, share: 0.1 },
  windows: [],
  etcd: 'assist',
  accepted: [],
  nodeGroups: false,
};

/** Of the whole fleet. */
export interface RolloutLimits {
  /** Clusters that roll at a time. */
  readonly atOnce: number;
  /** Milliseconds between two starts. */
  readonly pauseMs: number;
}

export const DEFAULT_ROLLOUT_LIMITS: RolloutLimits = { atOnce: 1, pauseMs: 60 * 60_000 };

/** Between two rollouts of one cluster that the schedule wants. */
export const LOOP_GUARD_DAYS = 90;
/** Between two rollouts of one cluster, whoever wants them. */
export const COOL_DOWN_DAYS = 7;
