/**
 * The worst first. Alarms fire for `critical` and `warning` alone. The audit of a `noted` cluster has a warning that fires none; before its first audit, a request is not
 * approved. A `new` cluster was not read completely yet.
 */
export const CLUSTER_STATES = ['critical', 'warning', 'noted', 'new', 'maintenance', 'well', 'gone'] as const;
export type ClusterState = (typeof CLUSTER_STATES)[number];
