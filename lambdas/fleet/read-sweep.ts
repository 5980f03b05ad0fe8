import type { SweepOutcome, WorkloadCluster } from './outcome.ts';
import { cidrs, count, fields, matching, optional, present, type Read } from './shape.ts';
import { CLUSTER_NAME, MAX_SERVICE_CIDRS, NAMESPACE } from './target.ts';

// What an outcome and the fleet index have in common.

/** Host and port, IPv6 in brackets, and where there is one a path. */
export const SERVER = /^[A-Za-z0-9.:[\]_-]{1,300}(?:\/[A-Za-z0-9._~!$&'()*+,;=:@%/-]{0,300})?$/;

/** @throws ShapeError */
export const readServer = matching(SERVER, 'the host, port and path of a server');

/** More than one management cluster has. */
export const MAX_WORKLOAD_CLUSTERS = 1_000;

/** @throws ShapeError */
export const readCounts: Read<NonNullable<SweepOutcome['counts']>> = (value, path) => {
  const counts = fields(value, path);
  const one = (name: string) => count(counts[name], `${path}.${name}`);
  return {
    approved: one('approved'),
    denied: one('denied'),
    wouldWrite: one('wouldWrite'),
    left: one('left'),
    ignored: one('ignored'),
    failed: one('failed'),
  };
};

/** @throws ShapeError */
export const readWorkloadCluster: Read<WorkloadCluster> = (value, path) => {
  const cluster = fields(value, path);
  return present({
    namespace: matching(NAMESPACE, 'the name of a namespace')(cluster['namespace'], `${path}.namespace`),
    name: matching(CLUSTER_NAME, 'a cluster name')(cluster['name'], `${path}.name`),
    serviceCidrs: optional(cidrs(MAX_SERVICE_CIDRS))(cluster['serviceCidrs'], `${path}.serviceCidrs`),
  });
};

/** Whether its name is one for {@link readWorkloadCluster}: a management cluster can name its clusters as no path, log or metric can take it. */
export function isNameable({ namespace, name }: WorkloadCluster): boolean {
  return NAMESPACE.test(namespace) && CLUSTER_NAME.test(name);
}
