import { DEFAULT_POLICY } from '../approval/policy.ts';
import { DEFAULT_THRESHOLDS } from '../audit/rules/thresholds.ts';
import type { ReadOnly } from '../contracts/contract.ts';
import { DEFAULT_ROLLOUT_LIMITS } from '../rollout/policy.ts';
import type { ReadFleet } from './fleet-file.ts';

export type { AuditOptIns, FleetCluster } from './sections/clusters.ts';
export type { ClusterSelection, EksDiscovery } from './sections/discovery.ts';
export type { HubOptions } from './sections/hub.ts';
export type { FleetJournal } from './sections/journal.ts';
export type { Lane } from './sections/lanes.ts';
export type { ManagementCluster } from './sections/management-clusters.ts';
export type { FleetMonitoring } from './sections/monitoring.ts';
export type { RecoveryEntry } from './sections/recovery.ts';
export type { FleetRollouts } from './sections/rollouts.ts';

// Without zod, so that users without a file do not load it.

/** A valid `fleet.yaml` after defaults: plain data, safe to serialize as JSON. */
export type Fleet = ReadOnly<ReadFleet>;

/** The account, or the Region, that certmarshal is deployed to. */
export const SELF = 'self';
/** The implicit lane: functions outside a VPC. */
export const DEFAULT_LANE = 'default';

/** Of a file that says nothing about it. */
export const DEFAULT_AUDIT = { everyMinutes: 15, thresholds: DEFAULT_THRESHOLDS, accept: [] };

/** Of a file that says nothing about it. */
export const DEFAULT_MONITORING = {
  alarms: {},
  maintenance: [],
  objective: 0.999,
  daily: { at: '07:00', timeZone: 'UTC' },
  subscribe: {},
  reportLinks: true,
  dashboard: true,
  auditEveryMinutes: DEFAULT_AUDIT.everyMinutes,
};

/** Of a file that says nothing about it. */
export const DEFAULT_JOURNAL = { objectLock: { mode: 'governance', days: 90 } } as const;

/** Of a file that says nothing about it. */
export const DEFAULT_ROLLOUTS = { ...DEFAULT_ROLLOUT_LIMITS, clusters: [] };

/** Of a file that says nothing but its version. */
export const DEFAULT_FLEET: Fleet = {
  discovery: [],
  managementClusters: [],
  clusters: [],
  lanes: [],
  hub: { architecture: 'arm64', webhook: false },
  audit: DEFAULT_AUDIT,
  monitoring: DEFAULT_MONITORING,
  journal: DEFAULT_JOURNAL,
  rollouts: DEFAULT_ROLLOUTS,
  recovery: [],
  policies: [DEFAULT_POLICY],
};
