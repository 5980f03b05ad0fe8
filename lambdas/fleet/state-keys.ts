/** State that outlives an invocation, each in one object of the state bucket. */
export type StateObject = 'registry' | 'index' | 'page' | 'told' | 'rollouts';

/** Keys in the state bucket; permissions name them one by one. */
export const STATE_KEYS: Readonly<Record<StateObject, string>> = {
  registry: 'registry.json.gz',
  index: 'fleet-index.json.gz',
  page: 'report.html',
  /** Incidents that notify sent. */
  told: 'told.json',
  rollouts: 'rollouts.json',
};
