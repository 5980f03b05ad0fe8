import type { RegisteredCluster, Registry } from '../contracts/registry.ts';

// A hint says that something happened in a cluster. Only the cluster is used, and only if the registry knows it: a
// forged hint can only sweep a cluster a little early.

/** Hints of one cluster due in the same interval are one hint. Milliseconds. */
const BUCKET_MS = 3_000;

/** Source: EKS User Guide, "Send control plane logs to CloudWatch Logs". */
const AUDIT_LOG_GROUP = /^\/aws\/eks\/([A-Za-z0-9][A-Za-z0-9_-]{0,99})\/cluster$/;

export interface EksClusterName {
  readonly account: string;
  readonly name: string;
  /** @default any, if there is only one cluster of that name in the account */
  readonly region?: string;
}

/** The sweepable EKS cluster of that name; undefined if none or several are known. */
export function eksClusterNamed(
  { account, name, region }: EksClusterName,
  registry: Registry,
): RegisteredCluster | undefined {
  const [cluster, another] = Object.values(registry.clusters).filter(({ target }) => {
    if (target?.access.kind !== 'eks' || target.cluster.name !== name) return false;
    const { scope } = target.access;
    return scope.account === account && (region === undefined || scope.region === region);
  });
  return another === undefined ? cluster : undefined;
}

/**
 * The cluster whose audit log a subscription filter delivered.
 *
 * @param auditLogs `owner` and `logGroup` of the message of CloudWatch Logs
 * @param region of this function: a subscription filter delivers within its Region
 */
export function hintedCluster(
  { owner, logGroup }: { readonly owner: string; readonly logGroup: string },
  registry: Registry,
  region?: string,
): RegisteredCluster | undefined {
  const name = AUDIT_LOG_GROUP.exec(logGroup)?.[1];
  if (name === undefined) return undefined;
  return eksClusterNamed({ account: owner, name, region }, registry);
}

/**
 * When a new request may be judged, at the end of an interval of three seconds: all hints until then ask for one sweep.
 *
 * @param now milliseconds since the epoch
 * @param minAgeSeconds the youngest age at which a request is judged
 * @returns milliseconds since the epoch
 */
export function hintDue(now: number, minAgeSeconds: number): number {
  return Math.ceil((now + minAgeSeconds * 1_000) / BUCKET_MS) * BUCKET_MS;
}
