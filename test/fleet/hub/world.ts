import type { Fleet } from '../../../lambdas/config/fleet.ts';
import { FleetConfigError, parseFleet } from '../../../lambdas/config/load-fleet.ts';
import { type SimulatedAws, startSimulatedAws } from '../aws/simulated-aws.ts';
import { type SteppedClock, steppedClock } from '../clock.ts';
import {
  addWorkloadCluster,
  type Ground,
  type HubCluster,
  type HubEksCluster,
  type HubKubeconfigCluster,
  startEksCluster,
  startKubeconfigCluster,
} from './clusters.ts';
import { type Hub, type HubOptions, startHub } from './hub.ts';
import { DISPATCH_ROLE, DUBLIN, EXTERNAL_ID, FRANKFURT, HUB, SPOKE, SPOKE_ROLE, SWEEP_ROLE } from './places.ts';

export const MINUTE = 60_000;
/**
 * A whole ten minutes near now, the same for all worlds of this process: what happens on a cadence happens in the same ticks.
 */
export const START = Math.floor((Date.now() + 2 * MINUTE) / (10 * MINUTE)) * 10 * MINUTE;

/** Clusters by every way there is: found in EKS of three places, listed, a management cluster and what is found through it. */
export interface WorldClusters {
  /** EKS, in the account and Region of the hub. */
  readonly zurich: HubEksCluster;
  /** EKS, in another account. */
  readonly oslo: HubEksCluster;
  /** EKS, in another account and Region. */
  readonly lisbon: HubEksCluster;
  /** EKS Anywhere, listed. */
  readonly berlin: HubKubeconfigCluster;
  /** EKS Anywhere, listed. */
  readonly paris: HubKubeconfigCluster;
  /** Management cluster. */
  readonly rome: HubKubeconfigCluster;
  /** Workload cluster of rome. */
  readonly venice: HubKubeconfigCluster;
}

export type WorldClusterName = keyof WorldClusters;

/** Where each cluster is in the registry and in the index. */
export const IDS: Readonly<Record<WorldClusterName, string>> = {
  zurich: `${HUB.account}/${HUB.region}/zurich`,
  oslo: `${FRANKFURT.account}/${FRANKFURT.region}/oslo`,
  lisbon: `${DUBLIN.account}/${DUBLIN.region}/lisbon`,
  berlin: 'berlin',
  paris: 'paris',
  rome: 'rome',
  venice: 'rome/eksa-system/venice',
};

export interface World extends AsyncDisposable {
  readonly clock: SteppedClock;
  readonly aws: SimulatedAws;
  readonly clusters: WorldClusters;
  readonly hub: Hub;
  /** One tick, and all that comes of it within a minute. */
  minute(): Promise<void>;
}

export interface WorldOptions
  extends Pick<
    HubOptions,
    'around' | 'aroundCall' | 'aroundState' | 'aheadMs' | 'home' | 'onToken' | 'duringSweep' | 'aroundSnapshots'
  > {
  /** @default see {@link fleetFile} */
  readonly fleetFile?: (clusters: WorldClusters) => string;
  /** Audits take the time of whoever is not about them. @default false */
  readonly audits?: boolean;
  /** @default a new one */
  readonly clock?: SteppedClock;
}

/** A whole company in this process. Every cluster has a node that asks and can be proven, and one that asks and cannot. */
export async function startWorld(options: WorldOptions = {}): Promise<World> {
  const { fleetFile: file = fleetFile, clock = steppedClock(START), audits = false, ...hubOptions } = options;
  const aws = await startSimulatedAws({ clock });
  aws.identity.putRole({ arn: SPOKE_ROLE, trusts: [DISPATCH_ROLE, SWEEP_ROLE], externalId: EXTERNAL_ID });
  const clusters = await startClusters({ aws, clock });
  for (const cluster of Object.values<HubCluster>({ ...clusters })) {
    cluster.addNode(1);
    cluster.ask(1);
    cluster.ask(9);
  }
  const hub = startHub({ ...hubOptions, audits, aws, clock, fleet: fleetOf(file(clusters)) });
  return {
    clock,
    aws,
    clusters,
    hub,
    async minute() {
      await hub.minute();
      await clock.advance(MINUTE);
    },
    async [Symbol.asyncDispose]() {
      await hub[Symbol.asyncDispose]();
      await Promise.all(Object.values<HubCluster>({ ...clusters }).map(async ({ server }) => server.stop()));
      await aws[Symbol.asyncDispose]();
    },
  };
}

export function fleetFile({ berlin, paris, rome, venice }: WorldClusters): string {
  return `
version: 1
# What START is a multiple of, so that every run has the same turns.
audit: { every: 10m }
hub: { account: '${HUB.account}', region: ${HUB.region} }
discovery:
  - accounts: [self]
  - accounts: ['${SPOKE}']
    regions: [${FRANKFURT.region}, ${DUBLIN.region}]
    externalId: ${EXTERNAL_ID}
managementClusters:
  - name: rome
    kubeconfigSecret: ${rome.secret}
    workloadClusters:
      kubeconfigSecrets: { venice: '${venice.secret}' }
clusters:
  - { name: berlin, provider: eks-anywhere, kubeconfigSecret: '${berlin.secret}' }
  - { name: paris, provider: eks-anywhere, kubeconfigSecret: '${paris.secret}' }
policies: [{ mode: enforce }]
`;
}

/** @throws FleetConfigError */
export function fleetOf(text: string): Fleet {
  const parsed = parseFleet(text, 'fleet.yaml');
  if (!parsed.ok) throw new FleetConfigError(parsed.problems);
  return parsed.fleet;
}

async function startClusters(ground: Ground): Promise<WorldClusters> {
  const rome = await startKubeconfigCluster(ground, 'rome');
  addWorkloadCluster(rome, 'venice');
  const [zurich, oslo, lisbon, berlin, paris, venice] = await Promise.all([
    startEksCluster(ground, HUB, 'zurich'),
    startEksCluster(ground, FRANKFURT, 'oslo'),
    startEksCluster(ground, DUBLIN, 'lisbon'),
    startKubeconfigCluster(ground, 'berlin'),
    startKubeconfigCluster(ground, 'paris'),
    startKubeconfigCluster(ground, 'venice', rome),
  ]);
  return { zurich, oslo, lisbon, berlin, paris, rome, venice };
}
