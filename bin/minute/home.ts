import { Logger } from '@aws-lambda-powertools/logger';
import type { ApprovalPolicy } from '../../lambdas/approval/policy.ts';
import { everywhere } from '../../lambdas/approval/policy.ts';
import type { EksReader } from '../../lambdas/aws/eks-clusters.ts';
import type { OpenTarget } from '../../lambdas/cluster/connect/connect.ts';
import { createIdleTargets } from '../../lambdas/cluster/connect/idle-targets.ts';
import { createHomeMinute } from '../../lambdas/cluster/deployed.ts';
import type { SweptOrder } from '../../lambdas/cluster/minute.ts';
import { createSweep } from '../../lambdas/cluster/sweep.ts';
import type { Fleet, RecoveryEntry } from '../../lambdas/config/fleet.ts';
import { parseFleetIndex } from '../../lambdas/contracts/fleet-index.ts';
import type { Target } from '../../lambdas/contracts/target.ts';
import { discoverEks } from '../../lambdas/fleet/discover.ts';
import { createCompleteOrder, createTargetsOf } from '../../lambdas/fleet/fits-fleet.ts';
import { createPlan } from '../../lambdas/fleet/plan.ts';
import { createReport } from '../../lambdas/fleet/report.ts';
import { eksSources, type HubIdentity, LISTED, sourcesOf } from '../../lambdas/fleet/sources.ts';
import { STATE_KEYS } from '../../lambdas/fleet/state-keys.ts';
import { tickAt } from '../../lambdas/fleet/tick.ts';
import type { FleetHealth } from '../../lambdas/health/fleet-health.ts';
import type { Journal } from '../../lambdas/journal/journal.ts';
import { recoverNodes } from '../../lambdas/recovery/recover-nodes.ts';
import type { State } from '../../lambdas/state.ts';
import { createMetrics, type Telemetry } from '../../lambdas/telemetry/telemetry.ts';
import { MINUTE_MS } from '../../lambdas/time.ts';
import { LANE } from './contexts.ts';

const KEPT_TARGETS = 1_000;
const SWEEP_MS = 50_000;
const DISCOVERY_MS = 30_000;
/** An order from further ahead is refused. Milliseconds. */
const AHEAD_MS = 5 * MINUTE_MS;

/** Whose clusters: contexts of a kubeconfig, or those that fleet.yaml finds with the AWS credentials of the user. */
export type Clusters =
  | {
      readonly targets: readonly Target[];
      readonly openContext: (context: string, signal: AbortSignal) => Promise<OpenTarget>;
    }
  | { readonly hub: HubIdentity; readonly principalArn: string; readonly reader: EksReader };

export interface HomeOptions {
  readonly fleet: Fleet;
  readonly clusters: Clusters;
  readonly state: State;
  /** Whether policies and rollouts may write. */
  readonly writes: boolean;
  /** @default every `audit.everyMinutes` of the fleet, and each new cluster at once */
  readonly auditsAll?: boolean;
  /** @default true */
  readonly handshakes?: boolean | undefined;
  readonly recovery?: readonly RecoveryEntry[] | undefined;
  readonly journal?: Journal | undefined;
  readonly clock: () => number;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  /** A bug of certmarshal. */
  readonly onBug: (error: unknown) => void;
  readonly onSwept?: (id: string, clusters: number) => void;
}

export interface Home {
  /**
   * Plan, sweep, report: one minute.
   *
   * @param signal ends the sweeps; what was read by then is reported
   * @returns the view of the fleet
   * @throws AwsError when the state cannot be read or written
   */
  tick(signal: AbortSignal): Promise<FleetHealth>;
  close(): void;
}

/** The minute of the hub, in this process. */
export function createHome(options: HomeOptions): Home {
  const { clusters, state, clock, onSwept = () => {} } = options;
  const telemetry = silent();
  const fleet = inOneLane(options);
  const idle = createIdleTargets(KEPT_TARGETS);
  const ofContexts = 'targets' in clusters ? clusters : undefined;
  const hub = 'hub' in clusters ? clusters.hub : undefined;
  const byId = new Map(ofContexts?.targets.map((target) => [target.id, target]));
  const targetsOf =
    hub === undefined
      ? (id: string) => [byId.get(id)].filter((target) => target !== undefined)
      : createTargetsOf(fleet, hub);
  const minute = createHomeMinute({
    addresses: 'local',
    sessionName: 'certmarshal',
    clock,
    idle,
    policies: fleet.policies,
    auditRules: fleet.audit,
    rollouts: options.writes ? fleet.rollouts : undefined,
    recovery: fleet.recovery,
    recoverNodes: (target, some, given) => recoverNodes(target, some, { ...given, dryRun: !options.writes }),
    state: async () => state,
    snapshots: async () => state,
    journal: options.journal,
    openContext: ofContexts?.openContext,
    principalArn: 'principalArn' in clusters ? clusters.principalArn : undefined,
  });
  const completed = createCompleteOrder(fleet, targetsOf, LANE);
  const sweep = createSweep({
    lane: LANE,
    complete: (order, now) => {
      const complete = completed(order, now);
      const handshakes = options.handshakes === false ? undefined : (true as const);
      return complete.ok ? { ok: true, value: { ...complete.value, handshakes } } : complete;
    },
    sweepOne: async (order, signal): Promise<SweptOrder> => {
      const swept = await minute(order, signal);
      for (const { error } of swept.failures) options.onBug(error);
      onSwept(swept.outcome.id, byId.size);
      return swept;
    },
    state,
    clock,
    ...telemetry,
  });
  const plan = createPlan({
    fleet,
    targetsOf,
    state,
    functions: new Map([[LANE, 'keyboard']]),
    auditNew: true,
    clock,
    ...telemetry,
  });
  let latest: FleetHealth | undefined;
  const report = createReport({
    fleet,
    targetsOf,
    lanes: [LANE],
    monitoring: fleet.monitoring,
    state,
    ...(ofContexts && {
      listed: { source: LISTED, ok: true, clusters: ofContexts.targets.map((target) => ({ id: target.id, target })) },
    }),
    sources: hub === undefined ? [LISTED] : sourcesOf(fleet, hub),
    askedSources: hub === undefined ? [] : eksSources(fleet.discovery, hub).map(({ name }) => name),
    async *discover(only, previous, signal) {
      if ('hub' in clusters)
        yield* discoverEks(fleet.discovery, clusters.hub, fleet.lanes, clusters.reader, signal, { only, previous });
    },
    publish: async (health) => void (latest = health),
    pageEveryMs: MINUTE_MS,
    record: () => {},
    clock,
    ...telemetry,
  });
  let isFirst = true;

  return {
    async tick(signal) {
      const last = new AbortController().signal;
      const stored = await state.get(STATE_KEYS.index, last);
      const { reported = 0 } = parseFleetIndex(stored?.value, clock()) ?? {};
      const tick = Math.max(tickAt(clock(), clock()), reported + MINUTE_MS);
      // It ran many times within a few minutes.
      if (tick - clock() > AHEAD_MS) await options.sleep(tick - clock() - AHEAD_MS, signal);
      const signals = () => ({ discovery: AbortSignal.any([signal, AbortSignal.timeout(DISCOVERY_MS)]), all: last });
      // The clusters of the command line are those of this minute.
      if (isFirst) await report({ tick: tick - MINUTE_MS, shards: [], outcomes: [] }, signals());
      isFirst = false;
      const shards = await plan(tick, last);
      const until = AbortSignal.any([signal, AbortSignal.timeout(SWEEP_MS)]);
      const ended = await Promise.allSettled(shards.map(async (item) => sweep.shard(item, until, last)));
      // Here it is the state that failed, and no cluster.
      const failed = ended.find((one) => one.status === 'rejected');
      if (failed !== undefined) throw failed.reason;
      latest = undefined;
      await report({ tick, shards, outcomes: shards.map(() => ({})) }, signals());
      if (latest === undefined) throw new Error('the report of a tick published nothing');
      return latest;
    },
    close: () => idle.close(),
  };
}

/** What one process reaches, and may write. */
function inOneLane({ fleet, writes, auditsAll, recovery }: HomeOptions): Fleet {
  const policies = writes ? fleet.policies : fleet.policies.map(observing);
  const everyMinutes = auditsAll === true ? 1 : fleet.audit.everyMinutes;
  return {
    ...fleet,
    lanes: [],
    discovery: fleet.discovery.map((entry) => ({ ...entry, lane: LANE })),
    managementClusters: fleet.managementClusters.map((cluster) => ({ ...cluster, lane: LANE })),
    clusters: fleet.clusters.map((cluster) => ({ ...cluster, lane: LANE })),
    audit: { ...fleet.audit, everyMinutes },
    rollouts: writes ? fleet.rollouts : { ...fleet.rollouts, clusters: [] },
    recovery: recovery ?? fleet.recovery,
    policies,
  };
}

function observing(policy: ApprovalPolicy): ApprovalPolicy {
  return { ...policy, mode: everywhere('observe') };
}

function silent(): Telemetry {
  const metrics = createMetrics('report');
  metrics.publishStoredMetrics = () => {
    metrics.clearMetrics();
    return metrics;
  };
  const logLevel = process.env['POWERTOOLS_LOG_LEVEL'] === undefined ? ('SILENT' as const) : undefined;
  return {
    logger: new Logger({ serviceName: 'report', ...(logLevel && { logLevel }) }),
    metrics,
  };
}
