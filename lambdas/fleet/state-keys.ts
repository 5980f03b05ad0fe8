/** What outlives an invocation, each in one object of the state bucket. */
export type StateObject = 'registry' | 'index' | 'page' | 'told' | 'rollouts' | 'recovery';

/** Keys in the state bucket. Permissions name them one by one. */
export const STATE_KEYS: Readonly<Record<StateObject, string>> = {
  registry: 'registry.json',
  index: 'fleet-index.json',
  /** The report page. */
  page: 'report.html',
  /** What notify told people last. */
  told: 'told.json',
  /** What sweeps remember of the rollouts of the fleet. */
  rollouts: 'rollouts.json',
  /** Recovery windows that somebody opened. */
  recovery: 'recovery.json',
};
