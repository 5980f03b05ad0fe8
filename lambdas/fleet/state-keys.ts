/** What outlives an invocation, each in one object of the state bucket. */
export type StateObject = 'registry' | 'index' | 'page' | 'told' | 'rollouts' | 'recovery';

/** Keys in the state bucket. Permissions name them one by one. A format that an older certmarshal cannot read gets a key of its own: a rollback goes on with its object. */
export const STATE_KEYS: Readonly<Record<StateObject, string>> = {
  registry: 'registry.v2.json.gz',
  index: 'fleet-index.v2.json.gz',
  /** The report page. */
  page: 'report.html',
  /** What notify told people last. */
  told: 'told.json',
  /** What sweeps remember of the rollouts of the fleet. */
  rollouts: 'rollouts.json',
  /** Recovery windows that somebody opened. */
  recovery: 'recovery.json',
};

/** By key the one of the format before. It is read as long as there is none of this format, and never written. */
export const KEYS_BEFORE: Readonly<Record<string, string>> = {
  [STATE_KEYS.registry]: 'registry.json',
  [STATE_KEYS.index]: 'fleet-index.json',
};

/** What is stored under a key, or, where there is nothing, under the one of the format before. */
export async function readOrBefore<T>(
  key: string,
  read: (key: string) => Promise<T | undefined>,
): Promise<T | undefined> {
  const before = KEYS_BEFORE[key];
  return (await read(key)) ?? (before === undefined ? undefined : read(before));
}
