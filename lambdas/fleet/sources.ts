import type { EksDiscovery, Fleet, SELF as Self } from '../config/fleet.ts';
import type { Problem } from '../contracts/problem.ts';
import type { AwsScope } from '../contracts/target.ts';

// Functions import no values from config; the type keeps this in sync.
const SELF: typeof Self = 'self';

export interface HubIdentity {
  readonly account: string;
  readonly region: string;
  /** `aws`, `aws-cn`, `aws-us-gov`. */
  readonly partition: string;
}

/** One Region of one account in which EKS clusters are discovered. */
export interface EksSource {
  readonly name: string;
  readonly scope: AwsScope;
  /** The entries that name it. A cluster belongs to the first one that selects it. */
  readonly entries: readonly EksDiscovery[];
  /** It is named more than once, which `fleet.yaml` alone cannot always show: `self` is resolved only here. */
  readonly problem?: Problem;
}

/** The source of the clusters that `fleet.yaml` lists. */
export const LISTED = 'fleet.yaml';

export function eksClusterId({ account, region }: AwsScope, name: string): string {
  return `${account}/${region}/${name}`;
}

export function clusterApiSource(managementCluster: string): string {
  return `cluster-api ${managementCluster}`;
}

export function sourcesOf(fleet: Pick<Fleet, 'discovery' | 'managementClusters'>, hub: HubIdentity): readonly string[] {
  return [
    LISTED,
    ...eksSources(fleet.discovery, hub).map(({ name }) => name),
    ...fleet.managementClusters.map(({ name }) => clusterApiSource(name)),
  ];
}

/** Accounts × Regions of every entry, once each. No role is assumed in the hub's own account. */
export function eksSources(discovery: readonly EksDiscovery[], hub: HubIdentity): readonly EksSource[] {
  const sources = new Map<string, EksSource>();
  for (const entry of discovery)
    for (const account of entry.accounts.map((asked) => (asked === SELF ? hub.account : asked)))
      for (const region of entry.regions.map((asked) => (asked === SELF ? hub.region : asked))) {
        const name = `eks ${account}/${region}`;
        const earlier = sources.get(name);
        sources.set(
          name,
          earlier === undefined
            ? { name, scope: scopeOf(entry, account, region, hub), entries: [entry] }
            : { ...earlier, entries: [...new Set([...earlier.entries, entry])], problem: askedTwice(name, hub) },
        );
      }
  return [...sources.values()];
}

function scopeOf(entry: EksDiscovery, account: string, region: string, hub: HubIdentity): AwsScope {
  if (account === hub.account) return { account, region };
  const sessionTags = Object.keys(entry.sessionTags).length === 0 ? undefined : entry.sessionTags;
  const arn = `arn:${hub.partition}:iam::${account}:role/${entry.role}`;
  return { account, region, role: { arn, externalId: entry.externalId, sessionTags } };
}

function askedTwice(name: string, hub: HubIdentity): Problem {
  return {
    kind: 'repeated',
    object: name,
    message: 'discovery in fleet.yaml asks for it more than once; it is read once, as the first entry says',
    remedy: `Name each account and Region once; self is account ${hub.account} and Region ${hub.region}.`,
  };
}
