/**
 * - `off`: not opted in, or there is nothing that a rollout renews.
 * - `idle`: nothing is due.
 * - `waiting`: due, and a temporary obstacle: a window, a turn, a cool-down.
 * - `refused`: due, and a check fails that needs a person.
 * - `assist`: due, and a person must do it.
 * - `ready`: due, without obstacles.
 * - `rolling`, `verifying`, `held`, `done`, `aborted`: states of our rollout.
 * - `foreign`: someone else rolls it.
 * - `expired`: certificates expired; nothing is automatic any more.
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
