import { isFor, matchesGlob } from '../lambdas/approval/selection.ts';
import { DEFAULT_LANE, type Fleet, SELF } from '../lambdas/config/fleet.ts';
import { REGIONS } from '../lambdas/config/regions.ts';
import { MAX_EXPIRED_SERVER_MS } from '../lambdas/fleet/expired-server.ts';
import type { MaintenanceWindow } from '../lambdas/health/maintenance.ts';
import { matchesId } from '../lambdas/rollout/policy-of.ts';
import { ALARM_IDS, ALARMS, type AlarmEntry, alarmSetting } from '../lambdas/tables/alarms.ts';
import { DAY_MS } from '../lambdas/time.ts';

/**
 * Warnings about settings that are probably unintended.
 *
 * @param now milliseconds since the epoch
 */
export function deployWarnings(fleet: Fleet, now: number): readonly string[] {
  return [
    ...empty(fleet),
    ...unselected(fleet),
    ...unusedPolicies(fleet),
    ...unusedLanes(fleet),
    ...unknownRegions(fleet),
    ...entriesElsewhere(fleet),
    ...unwatched(fleet),
    ...unheard(fleet),
    ...oddMaintenance(fleet, now),
    ...lockedForGood(fleet),
    ...fleet.rollouts.clusters.flatMap(({ clusters }, index) =>
      clusters.flatMap((glob) => missedGlob(fleet, `rollouts.clusters[${index}]: ${glob}`, glob)),
    ),
    ...oddRecovery(fleet, now),
  ];
}

interface Selected {
  readonly id: string;
  readonly name: string;
  readonly provider: 'eks' | 'eks-anywhere';
}

function listed({ clusters, managementClusters }: Fleet): readonly Selected[] {
  const names = managementClusters.flatMap(({ name, workloadClusters }) => [
    name,
    ...Object.keys(workloadClusters.kubeconfigSecrets),
  ]);
  return [...clusters, ...names.map((name): Selected => ({ id: name, name, provider: 'eks-anywhere' }))];
}

function empty(fleet: Fleet): readonly string[] {
  return listed(fleet).length + fleet.discovery.length === 0
    ? ['it lists no clusters and discovers none: nothing will be swept']
    : [];
}

function unselected(fleet: Fleet): readonly string[] {
  return listed(fleet)
    .filter((cluster) => !fleet.policies.some((policy) => isFor(policy, cluster)))
    .map(({ id }) => `no policy is for cluster ${id}: nothing is judged there`);
}

/** Names of discovered clusters are unknown here, and any glob may match one. */
function unusedPolicies(fleet: Fleet): readonly string[] {
  const found = {
    eks: fleet.discovery.length > 0,
    'eks-anywhere': fleet.managementClusters.length > 0,
  };
  return fleet.policies
    .filter(({ providers }) => !providers.some((provider) => found[provider]))
    .filter((policy) => !listed(fleet).some((cluster) => isFor(policy, cluster)))
    .map(({ name }) => `policy ${name} is for no cluster of the fleet`);
}

/** Synthesis without credentials cannot know that a named Region is the hub's own. */
function entriesElsewhere({ discovery, hub }: Fleet): readonly string[] {
  if (hub.region !== undefined) return [];
  const regions = discovery
    .filter(({ accounts, accessEntries }) => accounts.includes(SELF) && accessEntries.length > 0)
    .flatMap((entry) => entry.regions.filter((region) => region !== SELF));
  return [...new Set(regions)].map(
    (region) =>
      `the access entries in ${region} are in the stack CertMarshalSpoke-self-${region}: deploy it too, or, if the hub is in that Region, write self for it`,
  );
}

function unusedLanes({ lanes, clusters, managementClusters, discovery }: Fleet): readonly string[] {
  const used = new Set([
    DEFAULT_LANE,
    ...[...clusters, ...managementClusters].map(({ lane }) => lane),
    ...discovery.flatMap(({ lane }) => lane ?? []),
  ]);
  // A cluster with a private endpoint in the VPC of a lane uses it without naming it.
  return discovery.length > 0
    ? []
    : lanes.filter(({ name }) => !used.has(name)).map(({ name }) => `lane ${name} is used by no cluster`);
}

function unknownRegions({ discovery }: Fleet): readonly string[] {
  const regions = new Set(discovery.flatMap((entry) => entry.regions).filter((region) => region !== SELF));
  return [...regions]
    .filter((region) => !REGIONS.has(region))
    .map((region) => `Region ${region} is not among those that this version of certmarshal knows; is it misspelled?`);
}

/** Everything else needs the heartbeats: without measurements no other alarm fires. */
function unwatched({ monitoring: { alarms } }: Fleet): readonly string[] {
  return ALARM_IDS.filter((id) => {
    const { watches }: AlarmEntry = ALARMS[id];
    return 'hub' in watches && watches.hub === 'heartbeat' && alarms[id]?.severity === 'off';
  }).map((id) => `monitoring.alarms.${id} is off: no one notices if certmarshal itself has stopped`);
}

/** This many times the default: even a broken fleet never reaches it. */
const ABSURD = 100;

/** Paging alarms that can never fire. */
function unheard({ monitoring: { alarms } }: Fleet): readonly string[] {
  return ALARM_IDS.flatMap((id) => {
    const entry: AlarmEntry = ALARMS[id];
    const { threshold, severity } = alarmSetting(id, alarms);
    if ('hub' in entry.watches && entry.watches.hub === 'heartbeat') return [];
    const field = `monitoring.alarms.${id}`;
    if (severity === 'off')
      return entry.severity === 'critical' ? [`${field} is off, so no one is told: ${entry.meaning}`] : [];
    return threshold > entry.threshold * ABSURD
      ? [`${field}.threshold ${threshold} is hardly ever reached, so no one is told: ${entry.meaning}`]
      : [];
  });
}

/** Longer windows get forgotten. */
const MAX_MAINTENANCE_MS = 31 * DAY_MS;

function oddMaintenance(fleet: Fleet, now: number): readonly string[] {
  return fleet.monitoring.maintenance.flatMap(({ clusters, when }, index) => {
    const field = `monitoring.maintenance[${index}]`;
    return [...oddTimes(field, clusters, when, now), ...unusedGlobs(fleet, field, clusters)];
  });
}

function oddTimes(
  field: string,
  clusters: readonly string[],
  when: MaintenanceWindow['when'],
  now: number,
): readonly string[] {
  const silence = `what it explains of ${clusters.join(', ')} fires no alarm`;
  if ('days' in when) return [];
  const until = Date.parse(when.until);
  if (until <= now) return [`${field} ended at ${when.until}: it does nothing any more, and can be removed`];
  const days = Math.round((until - Math.max(now, Date.parse(when.from))) / DAY_MS);
  return days * DAY_MS > MAX_MAINTENANCE_MS
    ? [`${field} is open for ${days} days, until ${when.until}: ${silence} in that time`]
    : [];
}

/** With discovery, any glob may match a cluster. */
function unusedGlobs(fleet: Fleet, field: string, globs: readonly string[]): readonly string[] {
  if (fleet.discovery.length > 0 || fleet.managementClusters.length > 0) return [];
  return globs
    .filter((glob) => !listed(fleet).some(({ id, name }) => matchesGlob(glob, id) || matchesGlob(glob, name)))
    .map((glob) => `${field}: ${glob} is the id or name of no cluster of the fleet; is it misspelled?`);
}

/**
 * Rollouts are selected by id. Ids of discovered clusters have three parts: a one-part pattern matches none of them.
 */
function missedGlob(fleet: Fleet, what: string, glob: string): readonly string[] {
  if (glob === '*') return [];
  const { clusters, managementClusters, discovery } = fleet;
  const [first = '', ...rest] = glob.split('/');
  const isListed = [...clusters.map(({ id }) => id), ...managementClusters.map(({ name }) => name)].some((id) =>
    matchesId(glob, id),
  );
  const isFound = rest.length === 2 && managementClusters.some(({ name }) => matchesGlob(first, name));
  const areFound = managementClusters.length > 0 || discovery.length > 0;
  if (areFound && rest.length === 0 && (glob.includes('*') || !isListed))
    return [
      `${what} matches no cluster that discovery finds: those have ids like MANAGEMENT/NAMESPACE/NAME and ACCOUNT/REGION/NAME. Write such an id, for example */*/${glob}; a cluster that fleet.yaml lists needs its id without "*"`,
    ];
  if (isListed || isFound || (rest.length === 2 && discovery.length > 0)) return [];
  return [`${what} is the id of no cluster of the fleet; is it misspelled?`];
}

function oddRecovery(fleet: Fleet, now: number): readonly string[] {
  return fleet.recovery.flatMap(({ cluster, until }, index) => {
    const field = `recovery[${index}]`;
    return [...oddEnd(field, cluster, until, now), ...unknownId(fleet, field, cluster)];
  });
}

function oddEnd(field: string, cluster: string, until: string, now: number): readonly string[] {
  const end = Date.parse(until);
  if (end <= now)
    return [`${field}.until: ${until} is past: the entry of ${cluster} does nothing any more, and can be removed`];
  if (end - now <= MAX_EXPIRED_SERVER_MS)
    return [`${field}.until: until ${until} an expired certificate of the API server of ${cluster} is tolerated`];
  const days = MAX_EXPIRED_SERVER_MS / DAY_MS;
  return [
    `${field}.until: ${until} is more than ${days} days from now: the entry is not used before ${new Date(end - MAX_EXPIRED_SERVER_MS).toISOString()}, and until then an expired certificate of ${cluster} is refused; write an earlier time`,
  ];
}

/** Ids of discovered clusters have slashes. */
function unknownId(fleet: Fleet, field: string, cluster: string): readonly string[] {
  const mayBeFound = cluster.includes('/') && (fleet.discovery.length > 0 || fleet.managementClusters.length > 0);
  const ids = [...fleet.clusters.map(({ id }) => id), ...fleet.managementClusters.map(({ name }) => name)];
  return mayBeFound || ids.includes(cluster)
    ? []
    : [`${field}: ${cluster} is the id of no cluster of the fleet; is it misspelled?`];
}

function lockedForGood({ journal: { objectLock } }: Fleet): readonly string[] {
  return objectLock?.mode === 'compliance'
    ? [
        `journal.objectLock: in mode compliance no one, not even AWS, can remove what is written for ${objectLock.days} days, and the bucket stays and costs money as long`,
      ]
    : [];
}
