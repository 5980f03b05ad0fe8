/** State that outlives an invocation, each in one object of the state bucket. */
export type StateObject = 'registry' | 'index' | 'page' | 'rollouts';

/** Keys in the state bucket; permissions name them one by one. */
export const STATE_KEYS: Readonly<Record<StateObject, string>> = {
  registry: 'registry.json.gz',
  index: 'fleet-index.json.gz',
  page: 'report.html',
  rollouts: 'rollouts.json',
};

/** Orders of some shards of a lane. */
export function ordersKey(lane: string, tick: number, object: number): string {
  return `${ordersOf(lane, tick)}${object}.json.gz`;
}

/** Prefix of the orders of a lane in a tick. */
export function ordersOf(lane: string, tick: number): string {
  return `orders/${lane}/${minuteOf(tick)}/`;
}

/** @param sweep number of the shard, or the name of a sweep by webhook */
export function outcomesKey(lane: string, tick: number, sweep: number | string): string {
  return `${outcomesOf(lane)}${minuteOf(tick)}/${sweep}.json.gz`;
}

/** Prefix of the outcomes of a lane; keys of later ticks sort later. */
export function outcomesOf(lane: string): string {
  return `outcomes/${lane}/`;
}

/** `2026-11-28T0815`, as people look for it in a bucket. */
function minuteOf(tick: number): string {
  return new Date(tick).toISOString().slice(0, 16).replace(':', '');
}
