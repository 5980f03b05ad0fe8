import * as z from 'zod/mini';
import { type Contract, list, text } from './contract.ts';
import { Trigger } from './rollout-mark.ts';
import { Instant } from './values.ts';

export const MAX_ROLLOUTS = 20_000;
export const MAX_UNDONE = 2_000;

const PastRollout = z.object({
  id: text(64),
  /** Id of the cluster in the fleet. */
  cluster: text(512),
  trigger: Trigger,
  /** Milliseconds since the epoch. */
  startedAt: Instant,
  /** When it was done, aborted, or found not begun; absent while in progress. */
  endedAt: z.optional(Instant),
});
export type PastRollout = Contract<typeof PastRollout>;

const UndoneClaim = z.object({
  cluster: text(512),
  /** When it was claimed. Milliseconds since the epoch. */
  claimedAt: Instant,
});
export type UndoneClaim = Contract<typeof UndoneClaim>;

/** The rollouts of the fleet, in `rollouts.json` of the state bucket. */
export const RolloutLedger = z.object({
  version: z.literal(1),
  rollouts: list(PastRollout, MAX_ROLLOUTS),
  undone: z.optional(list(UndoneClaim, MAX_UNDONE)),
});
