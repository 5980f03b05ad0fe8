import type { ApprovalPolicy } from '../approval/policy.ts';
import type { FleetCluster } from '../fleet/target.ts';

/** A valid `fleet.yaml` after defaults: plain data, safe to serialize as JSON. */
export interface Fleet {
  readonly clusters: readonly FleetCluster[];
  /** Never empty: without a policy of its own a file gets the built-in one. */
  readonly policies: readonly ApprovalPolicy[];
}
