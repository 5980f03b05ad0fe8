/**
 * - `off`: not opted in, or there is nothing that a rollout renews.
 * - `idle`: nothing is due.
 * - `waiting`: due, and something that passes with time is in the way: a window, a turn, a cool-down.
 * - `refused`: due, and a check fails that a person has to look at.
 * - `assist`: due, and a person has to do it.
 * - `ready`: due, and nothing is in the way.
 * - `rolling`, `verifying`, `held`, `done`, `aborted`: of a rollout of ours.
 * - `foreign`: someone else rolls it.
 * - `expired`: certificates expired; nothing is done automatically any more.
 */
export const ROLLOUT_STATES = [
  'off',
  'idle',
  'waiting',
  'refused',
  'assist',
  'ready',
  'rolling',
  'verifying',
  'held',
  'done',
  'aborted',
  'foreign',
  'expired',
] as const;
export type RolloutState = (typeof ROLLOUT_STATES)[number];
