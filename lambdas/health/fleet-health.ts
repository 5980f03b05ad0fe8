import type { Provider } from '../approval/policy.ts';
import type { AuditSummary } from '../audit/summary.ts';
import type { Finding, FleetIndex } from '../fleet/fleet-index.ts';
import type { VerdictLine } from '../fleet/outcome.ts';
import type { Registry } from '../fleet/registry.ts';
import type { SloState } from '../slo/objective.ts';
import type { AlarmSettings } from './alarms.ts';
import type { MaintenanceWindow } from './maintenance.ts';
import type { Signal, SignalId } from './signals.ts';

/** How a fleet is watched; plain data that travels beside the bundles. */
export interface Monitoring {
  readonly alarms: AlarmSettings;
  readonly maintenance: readonly MaintenanceWindow[];
  /** The share of the requests of nodes that is to be accepted. */
  readonly objective: number;
}

/**
 * The whole fleet at one moment: what metrics, report page, notifications and the command line tell, all from this one view.
 *
 * A cluster is `gone` when its source was read to its end without it: somebody removed it on purpose, and it rings no alarm any more. A source that could not be
 * read removes nothing.
 */
export interface FleetHealth {
  /** RFC 3339. */
  readonly at: string;
  /** What needs somebody first comes first. */
  readonly clusters: readonly ClusterHealth[];
  /** Of every signal, also of those that are 0; without clusters that are gone, and without what maintenance explains. */
  readonly totals: Readonly<Record<SignalId, number>>;
  readonly counts: Readonly<Record<ClusterState, number>>;
  readonly slo: SloState;
  /** What dispatch says of the discovery and of the registry. */
  readonly problems: readonly Finding[];
}

/** From the worst on. `well` has no signal that an alarm would ring at; `new` was not swept yet. */
export const CLUSTER_STATES = ['critical', 'warning', 'new', 'maintenance', 'well', 'gone'] as const;
export type ClusterState = (typeof CLUSTER_STATES)[number];

export interface ClusterHealth {
  readonly id: string;
  readonly name: string;
  readonly provider?: Provider;
  /** Of the registry: `fleet.yaml`, `eks 111122223333/eu-central-1`. */
  readonly source: string;
  readonly state: ClusterState;
  /** Only those above 0, the worst first. Not those that maintenance explains. */
  readonly signals: readonly Signal[];
  readonly maintenance?: { readonly until: string; readonly reason?: string };
  readonly goneSince?: string;
  readonly sweptAt?: string;
  readonly readableAt?: string;
  readonly readable: boolean;
  readonly complete: boolean;
  /** Of its sweeps. */
  readonly findings: readonly Finding[];
  readonly audit?: AuditSummary;
  readonly verdicts: readonly VerdictLine[];
  readonly slo: SloState;
}

/**
 * Pure. Every cluster of the registry is in it, also one of which nothing is known yet; one that is only in the index is not.
 *
 * @param now milliseconds since the epoch
 */
export function fleetHealth(
  _registry: Registry,
  _index: FleetIndex | undefined,
  _monitoring: Monitoring,
  _now: number,
): FleetHealth {
  throw new Error('not built');
}
