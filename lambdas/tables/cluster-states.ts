/** The worst first. No alarm fires for `well`, nor for `new`, which no sweep could read yet. */
export const CLUSTER_STATES = ['critical', 'warning', 'new', 'maintenance', 'well', 'gone'] as const;
export type ClusterState = (typeof CLUSTER_STATES)[number];
