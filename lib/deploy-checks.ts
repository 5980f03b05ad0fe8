import { isFor, matchesGlob } from '../lambdas/approval/selection.ts';
import { formatDuration } from '../lambdas/config/duration.ts';
import { DEFAULT_LANE, type Fleet, type RecoveryEntry, SELF } from '../lambdas/config/fleet.ts';
import { REGIONS } from '../lambdas/config/regions.ts';
import { type RuleProblem, repeats } from '../lambdas/config/written.ts';
import type { Path } from '../lambdas/config/yaml-values.ts';
import { longestOf } from '../lambdas/fleet/recovery.ts';
import type { MaintenanceWindow } from '../lambdas/health/maintenance.ts';
import { matchesId } from '../lambdas/rollout/policy-of.ts';
import { ALARM_IDS, ALARMS, type AlarmEntry, alarmSetting } from '../lambdas/tables/alarms.ts';
import { DAY_MS } from '../lambdas/time.ts';
import { firstOf } from '../lambdas/words.ts';

/**
 * Warnings about settings that are probably unintended, with their places in the file.
 *
 * @param now milliseconds since the epoch
 */
export function deployWarnings(fleet: Fleet, now: number): readonly RuleProblem[] {
  return [
    ...empty(fleet),
    ...unselected(fleet),
    ...unusedPolicies(fleet),
    ...unusedLanes(fleet),
    ...outsideEveryVpc(fleet),
    ...rareAudits(fleet),
    ...sharedSecrets(fleet),
    ...unknownRegions(fleet),
    ...entriesElsewhere(fleet),
    ...unwatched(fleet),
    ...unheard(fleet),
    ...oddMaintenance(fleet, now),
    ...lockedForGood(fleet),
    ...fleet.rollouts.clusters.flatMap(({ clusters }, index) =>
      clusters.flatMap((glob, at) => missedGlob(fleet, ['rollouts', 'clusters', index, 'clusters', at], glob)),
    ),
    ...oddRecovery(fleet, now),
    ...oddAcceptances(fleet, now),
  ];
}

/**
 * Problems that prevent a deployment, and depend on the time.
 *
 * @param now milliseconds since the epoch
 */
export function deployProblems({ recovery }: Fleet, now: number): readonly RuleProblem[] {
  return recovery.flatMap((entry, index) =>
    entry.nodes !== undefined && Date.parse(entry.until) - now > longestOf(entry)
      ? [
          {
            path: ['recovery', index, 'until'],
            message: `${entry.until} is more than 24 hours from now; with nodes write an earlier time`,
          },
        ]
      : [],
  );
}

interface Selected {
  readonly id: string;
  readonly name: string;
  readonly provider: 'eks' | 'eks-anywhere';
  readonly kubeconfigSecret: string;
  readonly path: Path;
  /** Of `kubeconfigSecret`. */
  readonly secretPath: Path;
}

export function namedClusters({ clusters, managementClusters }: Fleet): readonly Selected[] {
  const provider = 'eks-anywhere';
  return [
    ...clusters.map((entry, index): Selected => ({ ...entry, ...placed('clusters', index) })),
    ...managementClusters.flatMap(({ name, kubeconfigSecret, workloadClusters }, index): Selected[] => {
      const own = placed('managementClusters', index);
      return [
        { id: name, name, provider, kubeconfigSecret, ...own },
        ...Object.entries(workloadClusters.kubeconfigSecrets).map(([workload, secret]): Selected => {
          const path = [...own.path, 'workloadClusters', 'kubeconfigSecrets', workload];
          return { id: workload, name: workload, provider, kubeconfigSecret: secret, path, secretPath: path };
        }),
      ];
    }),
  ];
}

function placed(section: string, index: number): Pick<Selected, 'path' | 'secretPath'> {
  return { path: [section, index], secretPath: [section, index, 'kubeconfigSecret'] };
}

function empty(fleet: Fleet): readonly RuleProblem[] {
  return namedClusters(fleet).length + fleet.discovery.length === 0
    ? [{ path: [], message: 'it lists no clusters and discovers none: nothing will be swept' }]
    : [];
}

function unselected(fleet: Fleet): readonly RuleProblem[] {
  return namedClusters(fleet)
    .filter((cluster) => !fleet.policies.some((policy) => isFor(policy, cluster)))
    .map(({ id, path }) => ({ path, message: `no policy is for cluster ${id}: nothing is judged there` }));
}

/** Names of discovered clusters are unknown here, and any glob may match one. */
function unusedPolicies(fleet: Fleet): readonly RuleProblem[] {
  const found = {
    eks: fleet.discovery.length > 0,
    'eks-anywhere': fleet.managementClusters.length > 0,
  };
  return fleet.policies.flatMap((policy, index) => {
    const { name, providers } = policy;
    return providers.some((provider) => found[provider]) ||
      namedClusters(fleet).some((cluster) => isFor(policy, cluster))
      ? []
      : [{ path: ['policies', index], message: `policy ${name} is for no cluster of the fleet` }];
  });
}

/** Synthesis without credentials cannot know that a named Region is the hub's own. */
function entriesElsewhere({ discovery, hub }: Fleet): readonly RuleProblem[] {
  if (hub.region !== undefined) return [];
  return firstOfEach(
    discovery.flatMap(({ accounts, regions, accessEntries }, index) =>
      accounts.includes(SELF) && accessEntries.length > 0 ? placedRegions(regions, index) : [],
    ),
  ).map(({ path, region }) => ({
    path,
    message: `the access entries in ${region} are in the stack CertMarshalSpoke-self-${region}: deploy it too, or, if the hub is in that Region, write self for it`,
  }));
}

interface PlacedRegion {
  readonly region: string;
  readonly path: Path;
}

/** Without `self`. @param index of the entry of discovery */
function placedRegions(regions: readonly string[], index: number): readonly PlacedRegion[] {
  return regions.flatMap((region, at) =>
    region === SELF ? [] : { region, path: ['discovery', index, 'regions', at] },
  );
}

function firstOfEach(regions: readonly PlacedRegion[]): readonly PlacedRegion[] {
  return [...Map.groupBy(regions, ({ region }) => region).values()].flatMap((same) => same[0] ?? []);
}

function unusedLanes({ lanes, clusters, managementClusters, discovery }: Fleet): readonly RuleProblem[] {
  const listed = [...clusters, ...managementClusters];
  const used = new Set<string>([...listed, ...discovery].flatMap(({ lane }) => lane ?? []));
  // EKS clusters in the VPC of a lane use it without naming it.
  if (discovery.length > 0 && !listed.some(({ lane }) => lane === DEFAULT_LANE)) return [];
  const others = (vpc: string) =>
    discovery.length === 0 ? '' : `; only EKS clusters in ${vpc} with a restricted endpoint are swept from it`;
  return lanes.flatMap(({ name, vpcId }, index) =>
    used.has(name) ? [] : [{ path: ['lanes', index], message: `no cluster names lane ${name}${others(vpcId)}` }],
  );
}

/** One warning for all of them, at the first. */
function outsideEveryVpc({ managementClusters, clusters }: Fleet): readonly RuleProblem[] {
  const [first, ...others] = [
    ...managementClusters.map((entry, index) => ({ ...entry, path: ['managementClusters', index] })),
    ...clusters.flatMap((entry, index) =>
      entry.provider === 'eks-anywhere' ? { ...entry, path: ['clusters', index] } : [],
    ),
  ].filter(({ lane }) => lane === DEFAULT_LANE);
  if (first === undefined) return [];
  const names = firstOf([first, ...others].map(({ name }) => name));
  return [
    {
      path: first.path,
      message: `without a lane, audits of ${names} do not connect to the machines: when certificates of etcd and kubelets expire is known only from other sources; name a lane whose VPC reaches the machines`,
    },
  ];
}

function rareAudits({ audit: { everyMinutes }, monitoring: { alarms } }: Fleet): readonly RuleProblem[] {
  const { threshold, severity } = alarmSetting('AuditStale', alarms);
  return severity !== 'off' && everyMinutes * 60 >= threshold
    ? [
        {
          path: ['audit', 'every'],
          message: `the alarm AuditStale fires ${formatDuration(threshold)} after an audit, not later than the next one; write a longer threshold for it under monitoring.alarms`,
        },
      ]
    : [];
}

/** A kubeconfig is for one cluster. Clusters may share that of their management cluster. */
function sharedSecrets(fleet: Fleet): readonly RuleProblem[] {
  return repeats(namedClusters(fleet), ({ kubeconfigSecret }) => kubeconfigSecret).map(([again, first]) => ({
    path: again.secretPath,
    message: `${again.id} has the kubeconfig secret of ${first.id}, and a kubeconfig is for one cluster; write its own`,
  }));
}

function unknownRegions({ discovery }: Fleet): readonly RuleProblem[] {
  return firstOfEach(discovery.flatMap(({ regions }, index) => placedRegions(regions, index)))
    .filter(({ region }) => !REGIONS.has(region))
    .map(({ path, region }) => ({
      path,
      message: `Region ${region} is not among those that this version of certmarshal knows; is it misspelled?`,
    }));
}

function alarmPath(id: string): Path {
  return ['monitoring', 'alarms', id];
}

/** Everything else needs the heartbeats: without measurements no other alarm fires. */
function unwatched({ monitoring: { alarms } }: Fleet): readonly RuleProblem[] {
  return ALARM_IDS.filter((id) => {
    const { watches }: AlarmEntry = ALARMS[id];
    return 'hub' in watches && watches.hub === 'heartbeat' && alarms[id]?.severity === 'off';
  }).map((id) => ({ path: alarmPath(id), message: 'off, so no one notices if certmarshal itself has stopped' }));
}

/** This many times the default: even a broken fleet never reaches it. */
const ABSURD = 100;

/** Paging alarms that can never fire. */
function unheard({ monitoring: { alarms } }: Fleet): readonly RuleProblem[] {
  return ALARM_IDS.flatMap((id) => {
    const entry: AlarmEntry = ALARMS[id];
    const { threshold, severity } = alarmSetting(id, alarms);
    if ('hub' in entry.watches && entry.watches.hub === 'heartbeat') return [];
    const path = alarmPath(id);
    if (severity === 'off')
      return entry.severity === 'critical' ? [{ path, message: `off, so no one is told: ${entry.meaning}` }] : [];
    return threshold > entry.threshold * ABSURD
      ? [
          {
            path: [...path, 'threshold'],
            message: `${threshold} is hardly ever reached, so no one is told: ${entry.meaning}`,
          },
        ]
      : [];
  });
}

/** Longer windows get forgotten. */
const MAX_MAINTENANCE_MS = 31 * DAY_MS;

function oddMaintenance(fleet: Fleet, now: number): readonly RuleProblem[] {
  return fleet.monitoring.maintenance.flatMap(({ clusters, when }, index) => {
    const path = ['monitoring', 'maintenance', index];
    return [
      ...oddTimes([...path, 'until'], clusters, when, now),
      ...unusedGlobs(fleet, [...path, 'clusters'], clusters),
    ];
  });
}

function oddTimes(
  path: Path,
  clusters: readonly string[],
  when: MaintenanceWindow['when'],
  now: number,
): readonly RuleProblem[] {
  const silence = `what it explains of ${clusters.join(', ')} fires no alarm`;
  if ('days' in when) return [];
  const until = Date.parse(when.until);
  if (until <= now)
    return [{ path, message: `${when.until} is past: this entry does nothing any more, and can be removed` }];
  const days = Math.round((until - Math.max(now, Date.parse(when.from))) / DAY_MS);
  return days * DAY_MS > MAX_MAINTENANCE_MS
    ? [{ path, message: `open for ${days} days, until ${when.until}: ${silence} in that time` }]
    : [];
}

/** With discovery, any glob may match a cluster. */
function unusedGlobs(fleet: Fleet, path: Path, globs: readonly string[]): readonly RuleProblem[] {
  if (fleet.discovery.length > 0 || fleet.managementClusters.length > 0) return [];
  return globs.flatMap((glob, at) =>
    namedClusters(fleet).some(({ id, name }) => matchesGlob(glob, id) || matchesGlob(glob, name))
      ? []
      : [{ path: [...path, at], message: `${glob} is the id or name of no cluster of the fleet; is it misspelled?` }],
  );
}

/**
 * Rollouts are selected by id. Ids of discovered clusters have three parts: a one-part pattern matches none of them.
 */
function missedGlob(fleet: Fleet, path: Path, glob: string): readonly RuleProblem[] {
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
      {
        path,
        message: `${glob} matches no cluster that discovery finds: those have ids like MANAGEMENT/NAMESPACE/NAME and ACCOUNT/REGION/NAME. Write such an id, for example */*/${glob}; a cluster that fleet.yaml lists needs its id without "*"`,
      },
    ];
  if (isListed || isFound || (rest.length === 2 && discovery.length > 0)) return [];
  return [{ path, message: `${glob} is the id of no cluster of the fleet; is it misspelled?` }];
}

function oddRecovery(fleet: Fleet, now: number): readonly RuleProblem[] {
  return fleet.recovery.flatMap((entry, index) => {
    const path = ['recovery', index];
    return [
      { path: [...path, 'until'], message: oddEnd(entry, now) },
      ...unknownId(fleet, [...path, 'cluster'], entry.cluster),
    ];
  });
}

function oddEnd(entry: RecoveryEntry, now: number): string {
  const { cluster, until, server, nodes } = entry;
  const [end, longest] = [Date.parse(until), longestOf(entry)];
  if (end <= now) return `${until} is past: the entry of ${cluster} does nothing any more, and can be removed`;
  if (end - now > longest)
    return `${until} is more than ${longest / DAY_MS} days from now: the entry is not used before ${new Date(end - longest).toISOString()}, and until then an expired certificate of ${cluster} is refused; write an earlier time`;
  const allowed = [
    ...(server === undefined ? [] : [`an expired certificate of the API server of ${cluster} is tolerated`]),
    ...(nodes === undefined
      ? []
      : [`client certificates of ${nodes.join(', ')} in ${cluster} may be approved, also where policies observe`]),
  ];
  return `until ${until} ${allowed.join(', and ')}`;
}

function oddAcceptances(fleet: Fleet, now: number): readonly RuleProblem[] {
  return fleet.audit.accept.flatMap(({ cluster, until }, index) => {
    const path = ['audit', 'accept', index];
    const message = `${until} is past: this entry does nothing any more, and can be removed`;
    const past = Date.parse(until) <= now ? [{ path: [...path, 'until'], message }] : [];
    return [...past, ...unknownId(fleet, [...path, 'cluster'], cluster)];
  });
}

/** Ids of discovered clusters have slashes. */
function unknownId(fleet: Fleet, path: Path, cluster: string): readonly RuleProblem[] {
  const mayBeFound = cluster.includes('/') && (fleet.discovery.length > 0 || fleet.managementClusters.length > 0);
  const ids = [...fleet.clusters.map(({ id }) => id), ...fleet.managementClusters.map(({ name }) => name)];
  return mayBeFound || ids.includes(cluster)
    ? []
    : [{ path, message: `${cluster} is the id of no cluster of the fleet; is it misspelled?` }];
}

function lockedForGood({ journal: { objectLock } }: Fleet): readonly RuleProblem[] {
  return objectLock !== 'off' && objectLock.mode === 'compliance'
    ? [
        {
          path: ['journal', 'objectLock'],
          message: `in mode compliance no one, not even AWS, can remove what is written for ${objectLock.days} days, and the bucket stays and costs money as long`,
        },
      ]
    : [];
}
