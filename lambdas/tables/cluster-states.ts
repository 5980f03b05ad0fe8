/** From the worst on. `well` has no signal that an alarm would ring at; of `new` neither, but no sweep could read it yet. */
export const CLUSTER_STATES = ['critical', 'warning', 'new', 'maintenance', 'well', 'gone'] as const;
export type ClusterState = (typeof CLUSTER_STATES)[number];
