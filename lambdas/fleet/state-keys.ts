/** State that outlives an invocation, each in one object of the state bucket. */
export type StateObject = 'registry' | 'index' | 'page' | 'told' | 'rollouts';

/**
 * Keys in the state bucket; permissions name them one by one. A format that an older certmarshal cannot read gets a new
 * key, so that a rollback continues with its own object.
 */
export const STATE_KEYS: Readonly<Record<StateObject, string>> = {
  registry: 'registry.v2.json.gz',
  index: 'fleet-index.v2.json.gz',
  /** The report page. */
  page: 'report.html',
  /** Incidents that notify sent. */
  told: 'told.json',
  /** The ledger of rollouts of the fleet. */
  rollouts: 'rollouts.json',
};

/** The key of the previous format, by key. It is read until an object of this format exists, and never written. */
export const KEYS_BEFORE: Readonly<Record<string, string>> = {
  [STATE_KEYS.registry]: 'registry.json',
  [STATE_KEYS.index]: 'fleet-index.json',
};

/** Reads the object of a key, or that of the previous format. */
export async function readOrBefore<T>(
  key: string,
  read: (key: string) => Promise<T | undefined>,
): Promise<T | undefined> {
  const before = KEYS_BEFORE[key];
  return (await read(key)) ?? (before === undefined ? undefined : read(before));
}
